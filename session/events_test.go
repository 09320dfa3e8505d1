package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/muster-gg/muster/session"
)

// Subscribers hear all events, in the same order, also while one of them is busy.
func TestSubscribersHearEverythingInOrder(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	var second heard
	second.changed = make(chan struct{})
	busy, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.Subscribe(func(e session.Event) {
		once.Do(func() { close(busy); <-free })
		second.hear(e)
	})
	const calls = 50
	op := w.Async(ctx, func(ctx context.Context) error {
		_, err := w.SearchSessions(ctx, session.SearchSessionsRequest{FleetID: "fleet-1"})
		return err
	})
	waitFor(t, busy)
	var ids []session.OpID
	for range calls { // a subscriber that is busy does not hold up calls
		op := w.Async(ctx, func(ctx context.Context) error {
			_, err := w.SearchSessions(ctx, session.SearchSessionsRequest{})
			return err
		})
		waitFor(t, op.Done())
		ids = append(ids, op.ID())
	}
	close(free)
	if err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	events, _ := second.all()
	var order []session.OpID
	for _, e := range completions(events, "SearchSessions") {
		order = append(order, e.Op)
	}
	if !slices.Equal(order, append([]session.OpID{op.ID()}, ids...)) {
		t.Errorf("events of calls %v came as %v", ids, order)
	}
	if first, _ := w.heard.all(); len(first) != len(events) {
		t.Errorf("one has heard %d events, another %d", len(first), len(events))
	}
}

// A subscriber may make calls, leave, subscribe others, and panic.
func TestSubscriberMayDoAnything(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	id := w.active(t)
	times := 0
	var unsubscribe func()
	subscribed := make(chan struct{})
	unsubscribe = w.Subscribe(func(e session.Event) {
		<-subscribed
		times++
		if e, ok := e.(session.Complete); ok && e.Call == "SearchSessions" && e.Err == nil {
			if err := w.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: "ada"}); err != nil {
				t.Error(err)
			}
			w.Async(ctx, w.LeaveSession)
		}
		unsubscribe()
		panic("at the end of a subscriber")
	})
	close(subscribed)
	w.Async(ctx, func(ctx context.Context) error {
		_, err := w.SearchSessions(ctx, session.SearchSessionsRequest{FleetID: "fleet-1"})
		return err
	})
	if e := completed(t, w.heard, "LeaveSession", 1); e.Err != nil {
		t.Error(e.Err)
	}
	if err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if times != 1 {
		t.Errorf("who has unsubscribed was called %d times", times)
	}
}

// A panic of a subscriber is logged, without Config.Log by slog.Default.
func TestSubscriberPanicIsLogged(t *testing.T) {
	for name, given := range map[string]bool{"with a log": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			log := slog.New(slog.NewTextHandler(&text, nil))
			before := slog.Default()
			slog.SetDefault(log)
			defer slog.SetDefault(before)
			w := newWorld(t, func(c *session.Config) {
				if given {
					c.Log = log
				}
			})
			w.Subscribe(func(session.Event) { panic("at the end of a subscriber") })
			w.Async(t.Context(), w.LeaveSession)
			must(t, w.Close(context.Background()))
			if !strings.Contains(text.String(), "at the end of a subscriber") {
				t.Errorf("the log is %q", text.String())
			}
		})
	}
}

func TestSubscribeNil(t *testing.T) {
	w := newWorld(t)
	defer func() {
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "Subscribe") {
			t.Errorf("Subscribe(nil) panics with %v", v)
		}
	}()
	w.Subscribe(nil)
}

func TestClose(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	id := w.active(t)
	if err := w.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: "ada"}); err != nil {
		t.Fatal(err)
	}
	must(t, w.Named().Create(ctx, "one", onLAN()))
	must(t, w.Named().Create(ctx, "two", small))
	must(t, w.Named().Start(ctx, "two"))
	reached, _ := w.service.Hold("SearchSessions")
	search := w.Async(ctx, func(ctx context.Context) error {
		_, err := w.SearchSessions(ctx, session.SearchSessionsRequest{FleetID: "fleet-1"})
		return err
	})
	waitFor(t, reached)
	waiting := make(chan error)
	go func() {
		_, err := w.SearchSessions(ctx, session.SearchSessionsRequest{FleetID: "fleet-1"})
		waiting <- err
	}()
	w.end(t)
	if err := <-waiting; !errors.Is(err, session.ErrClosed) {
		t.Error("a call that waits gets", err)
	}
	if err := settled(t, search); !errors.Is(err, session.ErrClosed) {
		t.Error("a call that nobody waits for gets", err)
	}
	late := w.Async(ctx, func(ctx context.Context) error {
		_, err := w.CreateSession(ctx, session.CreateSessionRequest{FleetID: "fleet-1"})
		return err
	})
	if err := settled(t, late); !errors.Is(err, session.ErrClosed) {
		t.Error("a call after Close gets", err)
	}
	if err := w.StartTracking("t", "ada"); !errors.Is(err, session.ErrClosed) {
		t.Error("StartTracking after Close gets", err)
	}
	events, _ := w.heard.all()
	if n := len(completions(events, "SearchSessions")); n != 1 {
		t.Errorf("the search has %d completions", n)
	}
	if len(w.Named().All()) != 0 {
		t.Error("named sessions are left")
	}
}

// A Close that has no time says so, and another one waits for the rest.
func TestCloseWithoutTime(t *testing.T) {
	w := newWorld(t)
	busy, free := make(chan struct{}), make(chan struct{})
	w.Subscribe(func(session.Event) { close(busy); <-free })
	w.Async(t.Context(), func(ctx context.Context) error {
		_, err := w.SearchSessions(ctx, session.SearchSessionsRequest{})
		return err
	})
	waitFor(t, busy)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Close(over); !errors.Is(err, session.ErrTimeout) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(free)
	must(t, w.Close(t.Context()))
}

func TestOpWait(t *testing.T) {
	w := newWorld(t)
	reached, release := w.service.Hold("CreateSession")
	var id string
	op := w.Async(t.Context(), func(ctx context.Context) (err error) {
		id, err = w.CreateSession(ctx, session.CreateSessionRequest{FleetID: "fleet-1"})
		return err
	})
	waitFor(t, reached)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := op.Wait(over); !errors.Is(err, context.Canceled) || op.Err() != nil {
		t.Error("an Op in progress has a result:", err, op.Err())
	}
	release()
	if err := op.Wait(t.Context()); err != nil || id == "" {
		t.Error(id, err)
	}
	if done := completed(t, w.heard, "CreateSession", 1); done.Result != id || done.Op != op.ID() {
		t.Errorf("the completion is %+v", done)
	}
}
