package session_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/sessiontest"
)

func TestOneGameAtATime(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	join := session.JoinSessionRequest{SessionID: w.active(t), PlayerID: "ada"}
	reached, release := w.connector.Hold("Connect")
	op := w.Async(ctx, func(ctx context.Context) error { return w.JoinSession(ctx, join) })
	waitFor(t, reached)
	inState(t, w.JoinSession(ctx, join), session.Starting)
	release()
	if err := settled(t, op); err != nil {
		t.Fatal(err)
	}
	inState(t, w.JoinSession(ctx, join), session.InProgress)

	reached, release = w.connector.Hold("Close")
	leave := w.Async(ctx, w.LeaveSession)
	waitFor(t, reached)
	inState(t, w.JoinSession(ctx, join), session.Destroying)
	also := w.Async(ctx, w.LeaveSession)
	release()
	for _, op := range []*session.Op{leave, also} {
		if err := settled(t, op); err != nil {
			t.Error(err)
		}
	}
	must(t, w.JoinSession(ctx, join))
}

func inState(t *testing.T, err error, want session.State) {
	t.Helper()
	if refusal, ok := errors.AsType[*session.StateError](err); !ok || refusal.State != want ||
		!errors.Is(err, session.ErrState) {
		t.Errorf("the error is %v; the state should be %s", err, want)
	}
}

// When the connection has ended by itself the next game may begin.
func TestJoinAfterTheConnectionIsLost(t *testing.T) {
	w := newWorld(t)
	join := session.JoinSessionRequest{SessionID: w.active(t), PlayerID: "ada"}
	must(t, w.JoinSession(t.Context(), join))
	lost := w.Connection()
	w.connector.Drop("ada")
	if err := lost.Err(); !errors.Is(err, sessiontest.ErrLost) {
		t.Error(err)
	}
	must(t, w.JoinSession(t.Context(), join))
	if w.connector.Calls("Close") != 1 {
		t.Error("the connection that was lost has not been closed")
	}
}

// Whoever leaves, cancels or closes while a join is under way takes nothing.
func TestLeaveWhileJoining(t *testing.T) {
	for where, hold := range map[string]func(*world) (reached <-chan struct{}, release func()){
		"reserving":  func(w *world) (<-chan struct{}, func()) { return w.service.Hold("Reserve") },
		"connecting": func(w *world) (<-chan struct{}, func()) { return w.connector.Hold("Connect") },
	} {
		for how, end := range map[string]func(*world, context.CancelFunc) error{
			"leave":  func(w *world, _ context.CancelFunc) error { return w.LeaveSession(context.Background()) },
			"cancel": func(_ *world, cancel context.CancelFunc) error { cancel(); return nil },
		} {
			t.Run(where+"/"+how, func(t *testing.T) {
				w := newWorld(t)
				join := session.JoinSessionRequest{SessionID: w.active(t), PlayerID: "ada"}
				reached, release := hold(w)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				op := w.Async(ctx, func(ctx context.Context) error { return w.JoinSession(ctx, join) })
				waitFor(t, reached)
				must(t, end(w, cancel))
				if err := settled(t, op); !errors.Is(err, session.ErrCanceled) {
					t.Error(err)
				}
				if len(w.service.Places()) != 0 || len(w.connector.Open()) != 0 {
					t.Error("a place is left")
				}
				release()
				must(t, w.JoinSession(t.Context(), join))
			})
		}
	}
}

// A slow answer is an answer: a context that ends between the steps does not
// leave the place taken.
func TestPlaceIsGivenBackAfterALateReserve(t *testing.T) {
	service := new(sessiontest.Service)
	late := &lateProvider{Provider: service.Remote(), reserved: make(chan struct{}), answer: make(chan struct{})}
	w := newWorld(t, func(c *session.Config) {
		c.Remote = late
		c.Connector = &sessiontest.Connector{Service: service}
	})
	id, err := w.CreateSession(t.Context(), session.CreateSessionRequest{FleetID: "fleet-1", MaxPlayer: 2})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	op := w.Async(ctx, func(ctx context.Context) error {
		return w.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: "ada"})
	})
	waitFor(t, late.reserved)
	cancel()
	close(late.answer)
	if err := settled(t, op); !errors.Is(err, session.ErrCanceled) {
		t.Error(err)
	}
	if places := service.Places(); len(places) != 0 {
		t.Errorf("places are left: %v", places)
	}
}

// A lateProvider answers Reserve whatever has become of its context.
type lateProvider struct {
	session.Provider
	reserved, answer chan struct{}
}

func (p *lateProvider) Release(ctx context.Context, r session.Reservation, hosted bool) error {
	return p.Provider.(session.Releaser).Release(ctx, r, hosted)
}

func (p *lateProvider) Reserve(ctx context.Context, r session.JoinSessionRequest) (session.Reservation, error) {
	place, err := p.Provider.Reserve(ctx, r)
	close(p.reserved)
	<-p.answer
	return place, err
}

// A lateConnector connects whatever has become of its context.
type lateConnector struct {
	*sessiontest.Connector
	reached, answer chan struct{}
}

func (c *lateConnector) Connect(ctx context.Context, r session.Reservation) (session.Connection, error) {
	close(c.reached)
	<-c.answer
	return c.Connector.Connect(context.WithoutCancel(ctx), r)
}

// A connection that comes too late is closed, and brings nothing back.
func TestLateConnectionIsClosed(t *testing.T) {
	for name, test := range map[string]struct {
		call func(context.Context, *world) *session.Op
		end  func(context.Context, *world) *session.Op
	}{
		"destroyed": {
			func(ctx context.Context, w *world) *session.Op {
				w.Async(ctx, func(ctx context.Context) error { return w.Named().Create(ctx, "game", small) })
				return w.Async(ctx, func(ctx context.Context) error { return w.Named().Start(ctx, "game") })
			},
			func(ctx context.Context, w *world) *session.Op {
				return w.Async(ctx, func(ctx context.Context) error { return w.Named().Destroy(ctx, "game") })
			},
		},
		"left": {
			func(ctx context.Context, w *world) *session.Op {
				return w.Async(ctx, func(ctx context.Context) error {
					return w.JoinSession(ctx, session.JoinSessionRequest{SessionID: "session-1", PlayerID: "ada"})
				})
			},
			func(ctx context.Context, w *world) *session.Op {
				return w.Async(ctx, w.LeaveSession)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			late := &lateConnector{reached: make(chan struct{}), answer: make(chan struct{})}
			w := newWorld(t, func(c *session.Config) {
				late.Connector = c.Connector.(*sessiontest.Connector)
				c.Connector = late
			})
			w.active(t)
			op := test.call(t.Context(), w)
			waitFor(t, late.reached)
			end := test.end(t.Context(), w)
			close(late.answer)
			if err := settled(t, op); !errors.Is(err, session.ErrCanceled) {
				t.Error("the call that was interrupted:", err)
			}
			if err := settled(t, end); err != nil {
				t.Error("the call that interrupts:", err)
			}
			if len(w.connector.Open()) != 0 || w.Connection() != nil || len(w.Named().All()) != 0 ||
				len(w.service.Places()) != 0 {
				t.Error("something is left")
			}
		})
	}
}

func TestJoinFails(t *testing.T) {
	w := newWorld(t)
	id := w.active(t)
	for range 2 { // fill the session
		_, err := w.service.Remote().Reserve(t.Context(), session.JoinSessionRequest{SessionID: id, PlayerID: "x"})
		must(t, err)
	}
	for request, want := range map[session.JoinSessionRequest]error{
		{SessionID: id, PlayerID: "ada"}:        session.ErrFull,
		{SessionID: "nowhere", PlayerID: "ada"}: session.ErrNotFound,
	} {
		if err := w.JoinSession(t.Context(), request); !errors.Is(err, want) {
			t.Errorf("%v: %v", request, err)
		}
	}
	for _, place := range w.service.Places() {
		must(t, w.service.Remote().(session.Releaser).Release(t.Context(), place, false))
	}
	w.connector.Fail("Connect", session.Errorf("Connect", session.ErrDenied, "banned"))
	err := w.JoinSession(t.Context(), session.JoinSessionRequest{SessionID: id, PlayerID: "ada"})
	if !errors.Is(err, session.ErrDenied) {
		t.Error(err)
	}
}

// A search at the service ends after Config.FindTimeout.
func TestFindTimeout(t *testing.T) {
	clock := clockwork.NewFakeClock()
	w := newWorld(t, func(c *session.Config) { *c = c.WithClock(clock) })
	reached, _ := w.service.Hold("Find")
	op := w.Async(t.Context(), func(ctx context.Context) error {
		_, err := w.Named().Find(ctx, session.FindRequest{})
		return err
	})
	waitFor(t, reached)
	clock.Advance(w.FindTimeout())
	if err := settled(t, op); !errors.Is(err, session.ErrTimeout) {
		t.Error(err)
	}
}
