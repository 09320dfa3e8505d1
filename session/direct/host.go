package direct

import (
	"context"
	"maps"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/uuid"

	"github.com/muster-gg/muster/session"
)

// Host implements session.Provider: it creates a session on the target, waits until it is ACTIVE, and reserves a slot
// for the owner. A build id other than 0 becomes the game property "build_id". If Host fails or ctx ends, it ends the
// session that it has created, unless another player has joined; that may take a few seconds more.
func (p *provider) Host(ctx context.Context, r session.HostRequest) (session.Reservation, error) {
	const op = "Host"
	api, err := p.configured(op)
	if err != nil {
		return session.Reservation{}, err
	}
	if err := p.cfg.Target.check(op); err != nil {
		return session.Reservation{}, err
	}
	props, err := hostProperties(op, r)
	if err != nil {
		return session.Reservation{}, err
	}
	id, err := p.begin(ctx, api, op, r, props)
	if err != nil {
		return session.Reservation{}, err
	}
	place, err := p.enter(ctx, api, op, session.JoinSessionRequest{SessionID: id, PlayerID: r.OwnerID})
	if err != nil {
		p.discard(ctx, api, id, r.OwnerID)
		return session.Reservation{}, err
	}
	return place, nil
}

// Release implements session.Releaser for sessions of Host. The API cannot release other reservations: they expire
// after about a minute.
func (p *provider) Release(ctx context.Context, r session.Reservation, hosted bool) error {
	api, err := p.configured("Release")
	if err == nil && hosted {
		p.discard(ctx, api, r.SessionID, r.PlayerID)
	}
	return err
}

// hostProperties returns the session's properties with the build id.
func hostProperties(op string, r session.HostRequest) (map[string]string, error) {
	if r.BuildID == 0 {
		return r.Properties, nil
	}
	props := maps.Clone(r.Properties)
	if props == nil {
		props = map[string]string{}
	}
	props[buildProperty] = strconv.Itoa(int(r.BuildID))
	if len(props) > maxProperties {
		return nil, session.Errorf(op, session.ErrInvalid,
			"Properties: at most %d beside the build id, which is one as well; there are %d",
			maxProperties-1, len(r.Properties))
	}
	return props, nil
}

// begin creates the session, which need not be ACTIVE yet. After a failure nothing is left of it.
func (p *provider) begin(ctx context.Context, api *api, op string, r session.HostRequest,
	props map[string]string) (id string, err error) {
	t := p.cfg.Target
	if t.QueueName != "" {
		return p.beginOnQueue(ctx, api, op, r, props)
	}
	id, err = p.create(ctx, api, op, &gamelift.CreateGameSessionInput{
		FleetId: text(t.FleetID), AliasId: text(t.AliasID), Location: text(t.Location),
		CreatorId: text(r.OwnerID), Name: text(r.SessionName), GameProperties: properties(props),
		MaximumPlayerSessionCount: aws.Int32(int32(r.Connections)), IdempotencyToken: aws.String(newToken()),
	})
	return id, err
}

func (p *provider) beginOnQueue(
	ctx context.Context, api *api, op string, r session.HostRequest, props map[string]string,
) (id string, err error) {
	placement, err := p.place(ctx, api, op, &gamelift.StartGameSessionPlacementInput{
		GameSessionQueueName: &p.cfg.Target.QueueName, PlacementId: aws.String(uuid.NewString()),
		GameSessionName:           text(r.SessionName),
		MaximumPlayerSessionCount: aws.Int32(int32(r.Connections)), GameProperties: properties(props),
	})
	if err != nil {
		return "", err
	}
	id, err = p.awaitPlacement(ctx, api, op, placement)
	if err != nil {
		p.abandon(ctx, api, placement)
	}
	return id, err
}

// enter reserves a slot in a session as soon as it is ACTIVE.
func (p *provider) enter(ctx context.Context, api *api, op string,
	r session.JoinSessionRequest) (session.Reservation, error) {
	err := p.poll(ctx, op, func() (bool, error) { return isActive(ctx, api, op, r.SessionID) })
	if err != nil {
		return session.Reservation{}, failure(ctx, op, err)
	}
	return reserve(ctx, api, op, r)
}

// isActive reports whether a session that was ACTIVATING has become ACTIVE. It fails if the session cannot become
// ACTIVE.
func isActive(ctx context.Context, api *api, op, id string) (bool, error) {
	out, err := api.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: &id})
	if err != nil {
		return false, err
	}
	if len(out.GameSessions) == 0 {
		return false, session.Errorf(op, session.ErrNotFound, "the session %s does not exist any more", id)
	}
	switch s := out.GameSessions[0].Status; s {
	case types.GameSessionStatusActive:
		return true, nil
	case types.GameSessionStatusActivating:
		return false, nil
	default:
		return false, session.Errorf(op, session.ErrUnavailable,
			"the game server did not start the session: it is %s", s)
	}
}

// Reserve implements session.Provider with CreatePlayerSession. The API cannot release a reservation: one whose answer
// was lost expires after about a minute.
func (p *provider) Reserve(ctx context.Context, r session.JoinSessionRequest) (session.Reservation, error) {
	const op = "Reserve"
	api, err := p.configured(op)
	if err != nil {
		return session.Reservation{}, err
	}
	return reserve(ctx, api, op, r)
}

func reserve(ctx context.Context, api *api, op string, r session.JoinSessionRequest) (session.Reservation, error) {
	out, err := api.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{
		GameSessionId: &r.SessionID, PlayerId: &r.PlayerID, PlayerData: text(r.PlayerData),
	}, api.once)
	if err != nil {
		return session.Reservation{}, failure(ctx, op, err)
	}
	if out.PlayerSession == nil {
		return session.Reservation{}, incomplete(op, "the player session")
	}
	place := reservation(*out.PlayerSession)
	if place.PlayerSessionID == "" || place.Port == 0 || place.IPAddress == "" && place.DNSName == "" {
		return session.Reservation{}, incomplete(op, "a player session id, an address or a port")
	}
	return place, nil
}
