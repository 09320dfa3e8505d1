package remote

import (
	"context"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// sessions implements the operations that GameLift Local has too.
type sessions struct {
	api    legacyAPI
	states poller[*wire.GameSession]
}

func newSessions(api legacyAPI, cfg Config) *sessions {
	s := &sessions{api: api}
	s.states = poller[*wire.GameSession]{
		noun: "game session", pace: sessionPace, batch: 1, fetch: s.fetch, clock: cfg.Clock, log: cfg.Log,
	}
	return s
}

// fetch describes the one game session of ids for the poller.
func (s *sessions) fetch(ctx context.Context, ids []string) (map[string]result[*wire.GameSession], error) {
	g, err := s.describe(ctx, ids[0], once)
	if err != nil {
		return nil, err
	}
	return map[string]result[*wire.GameSession]{ids[0]: {value: g}}, nil
}

func (s *sessions) describe(ctx context.Context, id string, options ...option) (*wire.GameSession, error) {
	out, err := call(ctx, "DescribeGameSessions", s.api.DescribeGameSessions,
		&gamelift.DescribeGameSessionsInput{GameSessionId: &id}, options...)
	if err != nil {
		return nil, err
	}
	if len(out.GameSessions) == 0 {
		return nil, fault.New(fault.NotFound, "game session %s does not exist", id)
	}
	return convert[wire.GameSession](&out.GameSessions[0]), nil
}

func (s *sessions) DescribeGameSession(ctx context.Context, gameSessionID string) (*wire.GameSession, error) {
	return s.describe(ctx, gameSessionID)
}

func (s *sessions) AwaitGameSession(ctx context.Context, gameSessionID string) (settled *wire.GameSession, err error) {
	err = s.states.follow(ctx, gameSessionID, func(g *wire.GameSession) (bool, error) {
		settled = copied(g)
		return g.Status != wire.GameSessionStatusActivating, nil
	})
	if err != nil {
		return nil, err
	}
	return settled, nil
}

func (s *sessions) WatchGameSession(
	ctx context.Context, gameSessionID string, changed func(*wire.GameSession) error,
) error {
	return watch(ctx, &s.states, gameSessionID, changed, func(g *wire.GameSession) bool {
		return g.Status == wire.GameSessionStatusTerminated || g.Status == wire.GameSessionStatusError
	})
}

// watch calls changed with each new state, until over reports the last one.
func watch[V any](ctx context.Context, p *poller[*V], id string, changed func(*V) error, over func(*V) bool) error {
	var last *V
	return p.follow(ctx, id, func(v *V) (bool, error) {
		if last != nil && reflect.DeepEqual(last, v) {
			return false, nil
		}
		last = v
		if err := changed(copied(v)); err != nil {
			return true, err
		}
		return over(v), nil
	})
}

// copied returns a copy of a shared answer for a caller that may change it.
func copied[V any](v *V) *V {
	c := *v
	return &c
}

// ConfirmGameSession implements gateway.Service. The API has no such call.
func (s *sessions) ConfirmGameSession(context.Context, string) error { return nil }

func (s *sessions) createGameSession(ctx context.Context,
	in *gamelift.CreateGameSessionInput) (*wire.GameSession, error) {
	out, err := call(ctx, "CreateGameSession", s.api.CreateGameSession, in)
	if err != nil {
		return nil, err
	}
	if out.GameSession == nil {
		return nil, fault.Internal(errNoAnswer)
	}
	return convert[wire.GameSession](out.GameSession), nil
}

func (s *sessions) CreatePlayerSessions(ctx context.Context,
	in *wire.CreatePlayerSessionsInput) (*wire.CreatePlayerSessionsOutput, error) {
	out, err := forward[wire.CreatePlayerSessionsOutput](ctx, "CreatePlayerSessions", s.api.CreatePlayerSessions, in)
	if err == nil {
		s.states.nudge(in.GameSessionId)
	}
	return out, err
}

func (s *sessions) DescribePlayerSessions(ctx context.Context,
	in *wire.DescribePlayerSessionsInput) (*wire.DescribePlayerSessionsOutput, error) {
	return forward[wire.DescribePlayerSessionsOutput](ctx, "DescribePlayerSessions", s.api.DescribePlayerSessions, in)
}
