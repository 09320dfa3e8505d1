package remote

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/search"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

var _ gateway.Service = (*Legacy)(nil)

// A Legacy is GameLift Local. All game sessions are in one fleet, whatever a request names, without a location. Its
// methods are safe for concurrent use.
type Legacy struct {
	*sessions

	fleet     string
	readiness *cache[error]
}

func newLegacyService(client legacyAPI, fleet string, cfg Config) *Legacy {
	return &Legacy{sessions: newSessions(client, cfg), fleet: fleet,
		readiness: newCache[error](readinessKept, cfg.Clock)}
}

// Fleet implements gateway.Service with the configured fleet.
func (l *Legacy) Fleet(context.Context) (string, error) { return l.fleet, nil }

// Locations implements gateway.Service. There are none.
func (l *Legacy) Locations(context.Context, gateway.Target) ([]gateway.Location, error) {
	return nil, nil
}

// CreateGameSession implements gateway.Service. The game session is created in the configured fleet, without a
// location.
func (l *Legacy) CreateGameSession(ctx context.Context, c gateway.Creation) (*wire.GameSession, error) {
	in := convert[gamelift.CreateGameSessionInput](c.Input)
	in.FleetId, in.AliasId, in.Location = &l.fleet, nil, nil
	return l.createGameSession(ctx, in)
}

// ClaimGameSession implements gateway.Service. It never finds one, because GameLift Local cannot change game sessions.
func (l *Legacy) ClaimGameSession(context.Context, gateway.Claim) (*wire.GameSession, *wire.PlayerSession, error) {
	return nil, nil, fault.New(fault.NotFound, "GameLift Local has no UpdateGameSession, so nothing can be claimed")
}

// SearchGameSessions implements gateway.Service with DescribeGameSessions: the ACTIVE game sessions that match the
// filter, in the service's order, up to Limit on one page.
func (l *Legacy) SearchGameSessions(ctx context.Context,
	in *wire.SearchGameSessionsInput) (*wire.SearchGameSessionsOutput, error) {
	filter, err := search.ParseFilter(in.FilterExpression)
	if err != nil {
		return nil, err
	}
	out := &wire.SearchGameSessionsOutput{GameSessions: []wire.GameSession{}}
	describe := &gamelift.DescribeGameSessionsInput{FleetId: &l.fleet}
	for range maxPages {
		page, err := call(ctx, "DescribeGameSessions", l.api.DescribeGameSessions, describe)
		if err != nil {
			return nil, err
		}
		for i := range page.GameSessions {
			g := convert[wire.GameSession](&page.GameSessions[i])
			if g.Status == wire.GameSessionStatusActive && filter.Match(document(g)) {
				out.GameSessions = append(out.GameSessions, *g)
			}
		}
		limit := int(in.Limit.Or(0))
		if limit > 0 && len(out.GameSessions) >= limit {
			out.GameSessions = out.GameSessions[:limit]
			break
		}
		if describe.NextToken = page.NextToken; aws.ToString(describe.NextToken) == "" {
			break
		}
	}
	return out, nil
}

// document returns a game session in the form of package search.
func document(g *wire.GameSession) *search.Doc {
	d := &search.Doc{
		ID: g.GameSessionId, Name: g.Name, Created: event.At(g.CreationTime),
		Maximum: g.MaximumPlayerSessionCount.Or(0), Players: g.CurrentPlayerSessionCount.Or(0),
	}
	for _, p := range g.GameProperties {
		d.Properties = append(d.Properties, search.Property{Key: p.Key, Value: p.Value})
	}
	return d
}

// TerminateGameSession implements gateway.Service. GameLift Local does not have it.
func (l *Legacy) TerminateGameSession(context.Context,
	*wire.TerminateGameSessionInput) (*wire.TerminateGameSessionOutput, error) {
	return nil, fault.New(fault.UnknownOperation, "GameLift Local has no TerminateGameSession")
}

// Ready implements gateway.Service: the endpoint answers.
func (l *Legacy) Ready(ctx context.Context) error {
	return ready(ctx, l.readiness, func(ctx context.Context) error {
		_, err := call(ctx, "DescribeGameSessions", l.api.DescribeGameSessions,
			&gamelift.DescribeGameSessionsInput{FleetId: &l.fleet, Limit: aws.Int32(1)})
		return err
	})
}
