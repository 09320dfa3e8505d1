package sessions

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/session"
)

// gameName is the name of the named session in these tests.
const gameName = "GameSession"

// wantState checks the state of a named session.
func (p *player) wantState(name string, want session.State) {
	p.t.Helper()
	if s, _ := p.Named().Get(name); s.State != want {
		p.t.Errorf("session %q is %s, want %s", name, s.State, want)
	}
}

// wantStateError checks that an error tells of a call that a state does not allow.
func wantStateError(t *testing.T, err error, name string, state session.State) {
	t.Helper()
	if e, ok := errors.AsType[*session.StateError](err); !ok || e.Name != name || e.State != state ||
		!errors.Is(err, session.ErrState) {
		t.Errorf("the error is %v, want one of session %q in state %s", err, name, state)
	}
}

func checkNamed(t *testing.T) {
	w := newWorld(t)
	address := w.arena()
	p := w.gatewayPlayer("ada")
	settings := session.Settings{NumPublicConnections: 3, NumPrivateConnections: 1, ShouldAdvertise: true,
		BuildUniqueID: 7}

	if done := p.complete(t.Context(), func(ctx context.Context) error {
		return p.Named().Create(ctx, gameName, settings)
	}); done.Err != nil || done.Name != gameName {
		t.Errorf("Create: %+v", done)
	}
	p.wantState(gameName, session.Pending)
	done := p.complete(t.Context(),
		func(ctx context.Context) error { return p.Named().Create(ctx, gameName, settings) })
	if !errors.Is(done.Err, session.ErrExists) {
		t.Errorf("Create again: %v", done.Err)
	}
	p.wantState(gameName, session.Pending)
	p.wire.want(t) // none

	arrived, goOn := make(chan struct{}), make(chan struct{})
	p.wire.holdUp(func() { close(arrived); <-goOn })
	op := p.Async(t.Context(), func(ctx context.Context) error { return p.Named().Start(ctx, gameName) })
	receive(t, "the request of Start", arrived)
	p.wantState(gameName, session.Starting)
	close(goOn)
	if done := p.wait(op); done.Err != nil || done.Name != gameName {
		t.Fatalf("Start: %+v", done)
	}
	p.wire.want(t, "POST /create_session")
	w.wantHosted(p, address)
	p.close()
	for _, id := range []session.OpID{op.ID(), done.Op} {
		if all := p.completions(id); len(all) != 1 {
			t.Errorf("call %d was completed %d times: %v", id, len(all), all)
		}
	}
}

// wantHosted checks the session that the player has started, whose game is at an
// address.
func (w *world) wantHosted(p *player, address string) {
	w.Helper()
	s, _ := p.Named().Get(gameName)
	if s.State != session.InProgress || s.Place.IPAddress == "" || s.Place.Port == 0 || s.Place.PlayerSessionID == "" {
		w.Errorf("after Start the session is %+v", s)
	}
	if at, err := p.Named().ConnectString(gameName); err != nil || at != address {
		w.Errorf("the connect string is %q, %v, want %s", at, err, address)
	}
	gs := w.session(s.Place.SessionID)
	if gs.Status != types.GameSessionStatusActive || *gs.MaximumPlayerSessionCount != 4 {
		w.Errorf("the game session is %s with %d places", gs.Status, *gs.MaximumPlayerSessionCount)
	}
	w.wantPlayer(s.Place.PlayerSessionID, types.PlayerSessionStatusActive)
}

func checkStates(t *testing.T) {
	w := newWorld(t)
	w.arena()
	p := w.gatewayPlayer("ada")
	settings := session.Settings{NumPublicConnections: 4}
	must(t, p.Named().Create(t.Context(), gameName, settings))
	must(t, p.Named().Start(t.Context(), gameName))
	must(t, p.Named().Create(t.Context(), "Later", settings))

	for _, c := range []struct {
		name  string
		state session.State
		call  func(ctx context.Context, name string) error
		kind  error
	}{
		{gameName, session.InProgress, p.Named().Start, session.ErrState},
		{"Later", session.Pending, p.Named().End, session.ErrState},
		{"Nobody", session.NoSession, p.Named().Destroy, session.ErrNotFound},
	} {
		op := p.Async(t.Context(), func(ctx context.Context) error { return c.call(ctx, c.name) })
		err := op.Wait(t.Context())
		wantStateError(t, err, c.name, c.state)
		if !errors.Is(err, c.kind) {
			t.Errorf("%v is not %v", err, c.kind)
		}
		p.wantState(c.name, c.state)
		eventually(t, "the completion", func() bool { return len(p.completions(op.ID())) > 0 })
	}
	if n := len(p.Named().All()); n != 2 {
		t.Errorf("there are %d sessions", n)
	}
	if conn := p.Named().Connection(gameName); conn == nil || conn.Err() != nil {
		t.Error("the player is not in the game any more")
	}
	p.close()
	if n := count[session.Complete](p); n != 3 {
		t.Errorf("three calls have %d completions", n)
	}
}
