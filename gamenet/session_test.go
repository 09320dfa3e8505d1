package gamenet

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
)

func TestSessionValue(t *testing.T) {
	s := new(Session)
	if s.Value() != nil {
		t.Errorf("a new session has the value %v", s.Value())
	}
	for _, v := range []any{"ada", 7, nil} { // of different types
		if s.SetValue(v); s.Value() != v {
			t.Errorf("value %v, want %v", s.Value(), v)
		}
	}
}

// TestSessionContext: the context is done when the session has ended, whatever ended it, with the cause that
// OnDisconnected receives, also if it is first called afterwards.
func TestSessionContext(t *testing.T) {
	for name, end := range map[string]func(*ServerService, *Session){
		"Disconnect": func(_ *ServerService, s *Session) { s.Disconnect(Reason{Text: "enough"}) },
		"cut":        func(_ *ServerService, s *Session) { s.cut(ErrSlowConsumer) },
		"Close":      func(v *ServerService, _ *Session) { closeWithin(t, v) },
	} {
		for side, early := range map[string]bool{"before": true, "after": false} {
			t.Run(name+"/"+side, func(t *testing.T) {
				here, there := newDiary(), newDiary()
				server := startServer(t, ServerConfig{Config: Config{NewHandler: always(here)}})
				startClient(t, server, ClientConfig{Config: Config{NewHandler: always(there)}})
				ours, theirs := await(t, "a session", here.onOpen), await(t, "the other side", there.onOpen)
				if early && (ours.Context().Err() != nil || theirs.Context().Err() != nil) {
					t.Error("the context of a session is done too early")
				}
				end(server, ours)
				checkContext(t, ours, await(t, "the end", here.onClose))
				checkContext(t, theirs, await(t, "the end of the other side", there.onClose))
			})
		}
	}
}

func checkContext(t *testing.T, s *Session, cause error) {
	t.Helper()
	await(t, "Done", s.Context().Done())
	if got := context.Cause(s.Context()); got != cause {
		t.Errorf("the cause is %v, want %v", got, cause)
	}
}

// TestContextInCallback: closing the service ends a call that a callback waits for.
func TestContextInCallback(t *testing.T) {
	causes := make(chan error, 1)
	entered := make(chan struct{})
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(&script{connected: func(s *Session) {
		close(entered)
		<-s.Context().Done()
		causes <- context.Cause(s.Context())
	}})}})
	dial(t, server)
	await(t, "the callback", entered)
	now, cancel := context.WithCancel(t.Context())
	cancel()
	if err := server.Close(now); !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
	wantCause(t, await(t, "the cause", causes), ErrServiceClosed)
}

// A wrapper is a handler that wraps another one.
type wrapper struct {
	script
	mu    sync.Mutex
	inner Handler
}

func (w *wrapper) Unwrap() Handler {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inner
}

// TestHandler: a session leads to the handler of the game, also through a handler that wraps it, from any goroutine.
func TestHandler(t *testing.T) {
	game := newDiary()
	outer := &wrapper{inner: &wrapper{}}
	var reading sync.WaitGroup
	early := make(chan Handler, 1)
	server := startServer(t, ServerConfig{Config: Config{NewHandler: func(s *Session) Handler {
		early <- s.Handler()
		reading.Go(func() {
			for s.Handler() == nil && s.Context().Err() == nil {
				runtime.Gosched()
			}
		})
		return outer
	}}})
	outer.connected = func(s *Session) {
		if s.Handler() != nil {
			t.Error("a handler before there is one")
		}
		outer.mu.Lock()
		outer.inner = game
		outer.mu.Unlock()
		game.OnConnected(s)
	}
	dial(t, server)
	if s := await(t, "the session", game.onOpen); s.Handler() != game {
		t.Errorf("the handler is %T", s.Handler())
	}
	if h := <-early; h != nil {
		t.Errorf("the handler is %T in the factory", h)
	}
	reading.Wait()
}
