package remote

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/wire"
)

var (
	_ gateway.Service     = (*Service)(nil)
	_ gateway.Queues      = (*Service)(nil)
	_ gateway.Matchmaking = (*Service)(nil)
)

// A Service is a remote one with everything. All methods may be called at the same
// time; Await… and Watch… block as long as their contexts let them.
type Service struct {
	*sessions

	api        api
	fleets     *cache[string]
	locations  *cache[[]gateway.Location]
	readiness  *cache[error]
	placements poller[*wire.GameSessionPlacement]
	tickets    poller[*wire.MatchmakingTicket]
}

// How long answers about the surroundings are kept.
const (
	fleetsKept    = 10 * time.Second // which fleet is the first, where an alias points
	locationsKept = 2 * time.Second  // how many processes are idle
	readinessKept = time.Second
)

func newService(client api, cfg Config) *Service {
	s := &Service{
		sessions: newSessions(client, cfg), api: client,
		fleets:    newCache[string](fleetsKept, cfg.Clock),
		locations: newCache[[]gateway.Location](locationsKept, cfg.Clock),
		readiness: newCache[error](readinessKept, cfg.Clock),
	}
	s.placements = poller[*wire.GameSessionPlacement]{
		noun: "placement", pace: sessionPace, batch: 1, fetch: s.fetchPlacement, clock: cfg.Clock, log: cfg.Log,
	}
	s.tickets = poller[*wire.MatchmakingTicket]{
		noun: "matchmaking ticket", pace: ticketPace, batch: maxTickets, fetch: s.fetchTickets, clock: cfg.Clock, log: cfg.Log,
	}
	return s
}

// CreateGameSession implements gateway.Service. Creation.HandOverBy is of no
// effect: the API has nothing like it.
func (s *Service) CreateGameSession(ctx context.Context, c gateway.Creation) (*wire.GameSession, error) {
	return s.createGameSession(ctx, createGameSessionInput(c.Input))
}

// SearchGameSessions implements gateway.Service.
func (s *Service) SearchGameSessions(ctx context.Context, in *wire.SearchGameSessionsInput) (*wire.SearchGameSessionsOutput, error) {
	out, err := call(ctx, "SearchGameSessions", s.api.SearchGameSessions, searchGameSessionsInput(in))
	if err != nil {
		return nil, err
	}
	return &wire.SearchGameSessionsOutput{GameSessions: each(out.GameSessions, fromGameSession), NextToken: aws.ToString(out.NextToken)}, nil
}

// TerminateGameSession implements gateway.Service.
func (s *Service) TerminateGameSession(ctx context.Context, in *wire.TerminateGameSessionInput) (*wire.TerminateGameSessionOutput, error) {
	out, err := call(ctx, "TerminateGameSession", s.api.TerminateGameSession, terminateGameSessionInput(in))
	if err != nil {
		return nil, err
	}
	s.states.nudge(in.GameSessionId)
	return &wire.TerminateGameSessionOutput{GameSession: maybe(out.GameSession, fromGameSession)}, nil
}

// Ready implements gateway.Service: the service answers, and knows the caller. That
// the caller may not list fleets does not matter. What was found counts for a second.
func (s *Service) Ready(ctx context.Context) error {
	return ready(ctx, s.readiness, func(ctx context.Context) error {
		_, err := call(ctx, "ListFleets", s.api.ListFleets, &gamelift.ListFleetsInput{Limit: aws.Int32(1)}, once)
		return err
	})
}

// readyLimit is how long the call may take that finds out whether calls work.
const readyLimit = 2 * time.Second

func ready(ctx context.Context, kept *cache[error], probe func(context.Context) error) error {
	found, err := kept.get(ctx, "", func(ctx context.Context) (error, error) {
		limited, cancel := context.WithTimeout(ctx, readyLimit)
		defer cancel()
		err := probe(limited)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx) // the caller gave up, which says nothing of the service
		}
		if fault.Is(err, fault.AccessDenied) || fault.Is(err, fault.Unauthorized) || fault.Is(err, fault.Throttling) {
			err = nil // it is there, and knows who asks
		}
		return err, nil
	})
	if err != nil {
		return err
	}
	return found
}
