package session_test

import (
	"context"
	"errors"
	"testing"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/sessiontest"
)

// A callbackConnector connects as gamenet does: Close waits for the callback of the game that is running, and returns
// at once when that callback calls it.
type callbackConnector struct {
	*sessiontest.Connector
	made chan *callbackConn
	late bool // Connect returns when its context is done, and then the connection nevertheless
}

type callbackConn struct {
	session.Connection
	closing  chan struct{} // receives when Close waits
	returned chan struct{} // closed when the callback has returned
}

type insideCallback struct{}

func (c *callbackConnector) Connect(ctx context.Context, r session.Reservation) (session.Connection, error) {
	conn, err := c.Connector.Connect(context.WithoutCancel(ctx), r)
	if err != nil {
		return nil, err
	}
	out := &callbackConn{conn, make(chan struct{}, 1), make(chan struct{})}
	c.made <- out
	if c.late {
		<-ctx.Done()
	}
	return out, nil
}

func (c *callbackConn) Close(ctx context.Context) error {
	if ctx.Value(insideCallback{}) != nil {
		go func() { <-c.returned; _ = c.Connection.Close(context.WithoutCancel(ctx)) }()
		return nil
	}
	c.closing <- struct{}{}
	<-c.returned
	return c.Connection.Close(ctx)
}

// inside returns the context of a callback.
func inside(t *testing.T) context.Context {
	return context.WithValue(t.Context(), insideCallback{}, true)
}

func newCallbackWorld(t *testing.T) (*world, *callbackConnector) {
	c := &callbackConnector{made: make(chan *callbackConn, 2)}
	w := newWorld(t, func(cfg *session.Config) {
		c.Connector = cfg.Connector.(*sessiontest.Connector)
		cfg.Connector = c
	})
	return w, c
}

// A game may leave from a callback of its connection.
func TestLeaveFromACallback(t *testing.T) {
	join := func(w *world) func(context.Context) error {
		return func(ctx context.Context) error {
			return w.JoinSession(ctx, session.JoinSessionRequest{SessionID: "session-1", PlayerID: "ada"})
		}
	}
	start := func(w *world) func(context.Context) error {
		must(t, w.Named().Create(t.Context(), "game", small))
		return func(ctx context.Context) error { return w.Named().Start(ctx, "game") }
	}
	leave := func(ctx context.Context, w *world) error { return w.LeaveSession(ctx) }
	destroy := func(ctx context.Context, w *world) error { return w.Named().Destroy(ctx, "game") }
	for name, test := range map[string]struct {
		play       func(*world) func(context.Context) error
		leave      func(context.Context, *world) error
		connecting bool // leave before Connect has returned
	}{
		"leave":                     {join, leave, false},
		"leave while joining":       {join, leave, true},
		"destroy":                   {start, destroy, false},
		"destroy while it is begun": {start, destroy, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, c := newCallbackWorld(t)
			w.active(t)
			c.late = test.connecting
			op := w.Async(t.Context(), test.play(w))
			conn := <-c.made
			if !test.connecting {
				must(t, settled(t, op))
			}
			left := make(chan error, 1)
			go func() { left <- test.leave(inside(t), w) }()
			must(t, received(t, left))
			if test.connecting {
				if err := settled(t, op); !errors.Is(err, session.ErrCanceled) {
					t.Error("the call that was interrupted:", err)
				}
			}
			if _, ok := w.Current(); ok || w.Connection() != nil || len(w.Named().All()) != 0 {
				t.Error("the player has not left")
			}
			close(conn.returned)
			waitFor(t, conn.Done())
		})
	}
}

func received(t *testing.T, c <-chan error) error {
	t.Helper()
	done := make(chan struct{})
	var err error
	go func() { defer close(done); err = <-c }()
	waitFor(t, done)
	return err
}

// A callback may leave while another goroutine leaves, and waits for the callback.
func TestLeaveFromACallbackWhileLeaving(t *testing.T) {
	w, c := newCallbackWorld(t)
	must(t, w.JoinSession(t.Context(), session.JoinSessionRequest{SessionID: w.active(t), PlayerID: "ada"}))
	conn := <-c.made
	first := w.Async(t.Context(), w.LeaveSession)
	waitFor(t, conn.closing)
	left := make(chan error, 1)
	go func() { left <- w.LeaveSession(inside(t)) }()
	must(t, received(t, left))
	close(conn.returned)
	must(t, settled(t, first))
	must(t, w.JoinSession(t.Context(), session.JoinSessionRequest{SessionID: "session-1", PlayerID: "ada"}))
	close((<-c.made).returned)
}

// A subscriber may leave, also while the player connects.
func TestLeaveFromASubscriber(t *testing.T) {
	w := newWorld(t)
	id := w.active(t)
	left := make(chan error, 2)
	w.Subscribe(func(e session.Event) {
		switch e := e.(type) {
		case session.Reserved:
			left <- w.LeaveSession(t.Context())
		case session.Complete:
			if e.Call == "JoinSession" {
				left <- w.LeaveSession(t.Context())
			}
		}
	})
	reached, _ := w.connector.Hold("Connect")
	op := w.Async(t.Context(), func(ctx context.Context) error {
		return w.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: "ada"})
	})
	waitFor(t, reached)
	for range 2 {
		must(t, received(t, left))
	}
	if err := settled(t, op); !errors.Is(err, session.ErrCanceled) {
		t.Error(err)
	}
}
