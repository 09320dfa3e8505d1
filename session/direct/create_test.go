package direct_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/direct"
)

// A creator is a CreateGameSession that needs a location, as AWS does for Anywhere
// fleets.
func creator(made chan<- *wire.CreateGameSessionInput) wire.Handler {
	return wire.OpCreateGameSession.Handle(func(
		_ context.Context, in *wire.CreateGameSessionInput,
	) (*wire.CreateGameSessionOutput, error) {
		if in.Location == "" {
			return nil, fault.New(fault.InvalidRequest, "Location is required")
		}
		made <- in
		return &wire.CreateGameSessionOutput{GameSession: &wire.GameSession{GameSessionId: gsess,
			Status: wire.GameSessionStatusActivating}}, nil
	})
}

func locations(names ...string) wire.Handler {
	out := new(wire.DescribeFleetLocationAttributesOutput)
	for _, name := range names {
		out.LocationAttributes = append(out.LocationAttributes,
			wire.LocationAttributes{LocationState: &wire.LocationState{Location: name}})
	}
	return answers(wire.OpDescribeFleetLocationAttributes, out)
}

func TestOnlyLocation(t *testing.T) {
	t.Parallel()
	made := make(chan *wire.CreateGameSessionInput, 1)
	s := newScript(t, creator(made), locations("custom-attic"),
		answers(wire.OpResolveAlias, &wire.ResolveAliasOutput{FleetId: fleet}))
	id, err := s.provider(direct.Target{}).CreateSession(t.Context(), session.CreateSessionRequest{
		AliasID: "alias-1", SessionName: "duel", MaxPlayer: 2, SessionProperties: map[string]string{"b": "2", "a": "1"},
	})
	if err != nil || id != gsess {
		t.Fatal(id, err)
	}
	in := <-made
	if in.Location != "custom-attic" || in.AliasId != "alias-1" || in.FleetId != "" || in.Name != "duel" ||
		in.CreatorId != "" ||
		in.MaximumPlayerSessionCount.Or(-1) != 2 || len(in.GameProperties) != 2 || in.GameProperties[0].Key != "a" ||
		!strings.HasPrefix(in.IdempotencyToken, "gsess-") {
		t.Errorf("asked for %+v", in)
	}
	if got := s.made(); got != "CreateGameSession ResolveAlias DescribeFleetLocationAttributes CreateGameSession" {
		t.Error(got)
	}
}

func TestSeveralLocations(t *testing.T) {
	t.Parallel()
	s := newScript(t, creator(nil), locations("custom-attic", "custom-cellar"))
	_, err := s.provider(direct.Target{}).CreateSession(t.Context(),
		session.CreateSessionRequest{FleetID: fleet, MaxPlayer: 2})
	wantError(t, err, session.ErrInvalid, "InvalidRequestException")
	if !strings.Contains(err.Error(), "the fleet has custom-attic, custom-cellar") {
		t.Errorf("%v does not say what to do", err)
	}
}

// TestLostAnswer loses the first answer: the SDK's repetition must carry the same
// token.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var tokens []string
	s := newScript(t, wire.OpCreateGameSession.Handle(func(
		_ context.Context, in *wire.CreateGameSessionInput,
	) (*wire.CreateGameSessionOutput, error) {
		mu.Lock()
		defer mu.Unlock()
		if tokens = append(tokens, in.IdempotencyToken); len(tokens) == 1 {
			lost()
		}
		return &wire.CreateGameSessionOutput{GameSession: &wire.GameSession{GameSessionId: gsess}}, nil
	}))
	id, err := s.provider(direct.Target{}).CreateSession(t.Context(),
		session.CreateSessionRequest{FleetID: fleet, MaxPlayer: 2})
	if err != nil || id != gsess || len(tokens) != 2 || tokens[0] != tokens[1] || tokens[0] == "" {
		t.Errorf("%q, %v with the tokens %q", id, err, tokens)
	}
}

// TestCreateCanceled cancels a creation while the service works on it.
func TestCreateCanceled(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		token string
		calls string
	}{
		"own token":      {"", "CreateGameSession DescribePlayerSessions TerminateGameSession"},
		"caller's token": {"token-1", "CreateGameSession"}, // may have been there before
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			s := newScript(t, wire.OpCreateGameSession.Handle(func(
				context.Context, *wire.CreateGameSessionInput,
			) (*wire.CreateGameSessionOutput, error) {
				cancel()
				return &wire.CreateGameSessionOutput{GameSession: &wire.GameSession{GameSessionId: gsess}}, nil
			}), answers(wire.OpDescribePlayerSessions, &wire.DescribePlayerSessionsOutput{}),
				answers(wire.OpTerminateGameSession, &wire.TerminateGameSessionOutput{}))
			_, err := s.provider(direct.Target{}).CreateSession(ctx,
				session.CreateSessionRequest{FleetID: fleet, MaxPlayer: 2, IdempotencyToken: test.token})
			wantError(t, err, session.ErrCanceled, "")
			if got := s.made(); got != test.calls {
				t.Error(got)
			}
		})
	}
}
