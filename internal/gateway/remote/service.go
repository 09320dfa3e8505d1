package remote

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

var (
	_ gateway.Service     = (*Service)(nil)
	_ gateway.Queues      = (*Service)(nil)
	_ gateway.Matchmaking = (*Service)(nil)
)

// A Service is a remote GameLift endpoint. Its methods are safe for concurrent use; Await… and Watch… block until their
// contexts are done.
type Service struct {
	*sessions

	api        api
	fleets     *cache[string]
	locations  *cache[[]gateway.Location]
	readiness  *cache[error]
	placements poller[*wire.GameSessionPlacement]
	tickets    poller[*wire.MatchmakingTicket]
}

// How long answers are cached.
const (
	fleetsKept    = 10 * time.Second // the first fleet, the fleets of aliases
	locationsKept = 2 * time.Second  // the numbers of idle processes
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
		noun: "matchmaking ticket", pace: ticketPace, batch: maxTickets,
		fetch: s.fetchTickets, clock: cfg.Clock, log: cfg.Log,
	}
	return s
}

// CreateGameSession implements gateway.Service. It ignores Creation.ConfirmBy, which the API does not have.
func (s *Service) CreateGameSession(ctx context.Context, c gateway.Creation) (*wire.GameSession, error) {
	return s.createGameSession(ctx, convert[gamelift.CreateGameSessionInput](c.Input))
}

// SearchGameSessions implements gateway.Service.
func (s *Service) SearchGameSessions(ctx context.Context,
	in *wire.SearchGameSessionsInput) (*wire.SearchGameSessionsOutput, error) {
	return forward[wire.SearchGameSessionsOutput](ctx, "SearchGameSessions", s.api.SearchGameSessions, in)
}

// TerminateGameSession implements gateway.Service.
func (s *Service) TerminateGameSession(ctx context.Context,
	in *wire.TerminateGameSessionInput) (*wire.TerminateGameSessionOutput, error) {
	out, err := forward[wire.TerminateGameSessionOutput](ctx, "TerminateGameSession", s.api.TerminateGameSession, in)
	if err == nil {
		s.states.nudge(in.GameSessionId)
	}
	return out, err
}

// Ready implements gateway.Service: the service answers and authenticates the caller, which need not be allowed to list
// fleets. The result is cached for one second.
func (s *Service) Ready(ctx context.Context) error {
	return ready(ctx, s.readiness, func(ctx context.Context) error {
		_, err := call(ctx, "ListFleets", s.api.ListFleets, &gamelift.ListFleetsInput{Limit: aws.Int32(1)}, once)
		return err
	})
}

// readyLimit is the timeout of the call of Ready.
const readyLimit = 2 * time.Second

func ready(ctx context.Context, kept *cache[error], probe func(context.Context) error) error {
	found, err := kept.get(ctx, "", func(ctx context.Context) (error, error) {
		limited, cancel := context.WithTimeout(ctx, readyLimit)
		defer cancel()
		err := probe(limited)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx) // the caller cancelled; the service may be fine
		}
		if fault.Is(err, fault.AccessDenied) || fault.Is(err, fault.Unauthorized) || fault.Is(err, fault.Throttling) {
			err = nil // the service answers
		}
		return err, nil
	})
	if err != nil {
		return err
	}
	return found
}
