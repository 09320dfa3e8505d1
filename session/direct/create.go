package direct

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/uuid"

	"github.com/muster-gg/muster/session"
)

// CreateSession implements session.Provider with CreateGameSession. Without an idempotency token it uses one of its
// own, so that a retried request never creates two sessions. If the context ends meanwhile, it ends the session, unless
// the caller has set a token, for which the session may have existed before.
func (p *provider) CreateSession(ctx context.Context, r session.CreateSessionRequest) (string, error) {
	const op = "CreateSession"
	api, err := p.configured(op)
	if err == nil {
		err = needFleet(op, r.FleetID, r.AliasID)
	}
	if err != nil {
		return "", err
	}
	in := &gamelift.CreateGameSessionInput{
		CreatorId: text(r.CreatorID), Name: text(r.SessionName), GameProperties: properties(r.SessionProperties),
		FleetId: text(r.FleetID), AliasId: text(r.AliasID), Location: text(r.Location),
		MaximumPlayerSessionCount: aws.Int32(int32(r.MaxPlayer)), IdempotencyToken: text(r.IdempotencyToken),
	}
	ours := in.IdempotencyToken == nil
	if ours {
		in.IdempotencyToken = aws.String(newToken())
	}
	id, err := p.create(ctx, api, op, in)
	if err == nil && ctx.Err() != nil {
		if ours {
			p.discard(ctx, api, id, "")
		}
		return "", failure(ctx, op, ctx.Err())
	}
	return id, err
}

// needFleet rejects a request without a fleet: the API has no default.
func needFleet(op, fleetID, aliasID string) error {
	if fleetID == "" && aliasID == "" {
		return session.Errorf(op, session.ErrInvalid, "no fleet: give FleetID or AliasID")
	}
	return nil
}

// newToken makes an idempotency token. A session's id ends in it, and so looks like one that the service has chosen.
func newToken() string { return "gsess-" + uuid.NewString() }

// create creates a session. It may outlast ctx a little, so that no session stays behind because its id was lost: after
// a success the caller must check ctx.
func (p *provider) create(ctx context.Context, api *api, op string,
	in *gamelift.CreateGameSessionInput) (id string, err error) {
	if ctx.Err() != nil {
		return "", failure(ctx, op, ctx.Err())
	}
	longer, cancel := p.outlast(ctx)
	defer cancel()
	out, err := api.CreateGameSession(longer, in)
	if refusal, ok := errors.AsType[*types.InvalidRequestException](err); ok && in.Location == nil && ctx.Err() == nil {
		out, err = p.createInOnlyLocation(longer, api, in, refusal)
	}
	if err != nil {
		return "", failure(ctx, op, err)
	}
	if out.GameSession == nil || aws.ToString(out.GameSession.GameSessionId) == "" {
		return "", incomplete(op, "a game session id")
	}
	return *out.GameSession.GameSessionId, nil
}

// createInOnlyLocation repeats a request without a location for a fleet that needs one, as an Anywhere fleet does at
// AWS, if the fleet has only one location. Otherwise it returns the refusal.
func (p *provider) createInOnlyLocation(
	ctx context.Context, api *api, in *gamelift.CreateGameSessionInput, refusal *types.InvalidRequestException,
) (*gamelift.CreateGameSessionOutput, error) {
	locations, err := fleetLocations(ctx, api, in)
	switch {
	case err != nil || len(locations) == 0:
		return nil, refusal // a missing location was only a guess
	case len(locations) > 1:
		advice := fmt.Sprintf("%s (no Location was given; the fleet has %s)", refusal.ErrorMessage(),
			strings.Join(locations, ", "))
		return nil, &types.InvalidRequestException{Message: &advice}
	}
	again := *in
	again.Location = &locations[0]
	return api.CreateGameSession(ctx, &again)
}

// fleetLocations returns the names of the locations, besides the home region, of the fleet in a request.
func fleetLocations(ctx context.Context, api *api, in *gamelift.CreateGameSessionInput) (names []string, err error) {
	fleet := in.FleetId
	if fleet == nil {
		alias, err := api.ResolveAlias(ctx, &gamelift.ResolveAliasInput{AliasId: in.AliasId})
		if err != nil {
			return nil, err
		}
		fleet = alias.FleetId
	}
	pages := gamelift.NewDescribeFleetLocationAttributesPaginator(api,
		&gamelift.DescribeFleetLocationAttributesInput{FleetId: fleet})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, l := range page.LocationAttributes {
			if l.LocationState != nil {
				names = append(names, aws.ToString(l.LocationState.Location))
			}
		}
	}
	return names, nil
}

// incomplete returns the error for an answer that lacks a required part.
func incomplete(op, what string) error {
	return session.Errorf(op, session.ErrTransport, "the service's answer lacks %s", what)
}

// discard ends an unneeded session, unless a player other than its owner has joined. It logs failures.
func (p *provider) discard(ctx context.Context, api *api, id, owner string) {
	ctx, cancel := p.cleanup(ctx)
	defer cancel()
	log := p.log.With("game_session", id)
	used, err := inUse(ctx, api, id, owner)
	if err != nil {
		log.Warn("game session left behind: listing its players failed", "error", err)
		return
	}
	if used {
		log.Info("game session kept: players have joined")
		return
	}
	_, err = api.TerminateGameSession(ctx, &gamelift.TerminateGameSessionInput{
		GameSessionId: &id, TerminationMode: types.TerminationModeTriggerOnProcessTerminate,
	})
	if _, over := errors.AsType[*types.InvalidGameSessionStatusException](err); err != nil && !over {
		log.Warn("game session left behind: ending it failed", "error", err)
	}
}

// inUse reports whether a player other than owner has a slot in a session.
func inUse(ctx context.Context, api *api, id, owner string) (bool, error) {
	pages := gamelift.NewDescribePlayerSessionsPaginator(api, &gamelift.DescribePlayerSessionsInput{GameSessionId: &id})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return false, err
		}
		for _, ps := range page.PlayerSessions {
			here := ps.Status == types.PlayerSessionStatusActive || ps.Status == types.PlayerSessionStatusReserved
			if here && aws.ToString(ps.PlayerId) != owner {
				return true, nil
			}
		}
	}
	return false, nil
}
