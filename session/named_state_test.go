package session_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/muster-gg/muster/session"
)

// small are settings with one place of each kind.
var small = session.Settings{NumPublicConnections: 1, NumPrivateConnections: 1}

// onLAN are settings of a session on the local network.
func onLAN() session.Settings {
	s := small
	s.IsLANMatch = true
	return s
}

// found creates a session of another player at the service.
func (w *world) found(t *testing.T) session.SearchResult {
	t.Helper()
	w.active(t)
	results, err := w.Named().Find(t.Context(), session.FindRequest{})
	if err != nil || len(results) == 0 {
		t.Fatal(results, err)
	}
	return results[0]
}

// ways lead a session called "game" to each state. Those of passage are held
// there until release.
var ways = map[session.State]func(t *testing.T, w *world) (release func()){
	session.NoSession: func(*testing.T, *world) func() { return func() {} },
	session.Creating: func(t *testing.T, w *world) func() {
		reached, release := w.lan.Hold("Announce")
		op := w.Async(t.Context(), func(ctx context.Context) error { return w.Named().Create(ctx, "game", onLAN()) })
		waitFor(t, reached)
		return func() { release(); waitFor(t, op.Done()) }
	},
	session.Pending: func(t *testing.T, w *world) func() {
		must(t, w.Named().Create(t.Context(), "game", small))
		return func() {}
	},
	session.Starting: func(t *testing.T, w *world) func() {
		must(t, w.Named().Create(t.Context(), "game", small))
		reached, release := w.service.Hold("Host")
		op := w.Async(t.Context(), func(ctx context.Context) error { return w.Named().Start(ctx, "game") })
		waitFor(t, reached)
		return func() { release(); waitFor(t, op.Done()) }
	},
	session.InProgress: func(t *testing.T, w *world) func() {
		must(t, w.Named().Create(t.Context(), "game", small))
		must(t, w.Named().Start(t.Context(), "game"))
		return func() {}
	},
	session.Ending: func(t *testing.T, w *world) func() {
		must(t, w.Named().Create(t.Context(), "game", onLAN()))
		must(t, w.Named().Start(t.Context(), "game"))
		reached, release := w.lan.Hold("Update")
		op := w.Async(t.Context(), func(ctx context.Context) error { return w.Named().End(ctx, "game") })
		waitFor(t, reached)
		return func() { release(); waitFor(t, op.Done()) }
	},
	session.Ended: func(t *testing.T, w *world) func() {
		must(t, w.Named().Create(t.Context(), "game", small))
		must(t, w.Named().Start(t.Context(), "game"))
		must(t, w.Named().End(t.Context(), "game"))
		return func() {}
	},
	session.Destroying: func(t *testing.T, w *world) func() {
		must(t, w.Named().Create(t.Context(), "game", small))
		must(t, w.Named().Start(t.Context(), "game"))
		reached, release := w.connector.Hold("Close")
		op := w.Async(t.Context(), func(ctx context.Context) error { return w.Named().Destroy(ctx, "game") })
		waitFor(t, reached)
		return func() { release(); waitFor(t, op.Done()) }
	},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// namedCalls are all calls for a session called "game".
func namedCalls(found session.SearchResult, lan bool) map[string]func(context.Context, *session.NamedSessions) error {
	settings := small
	settings.IsLANMatch = lan
	return map[string]func(context.Context, *session.NamedSessions) error{
		"Create": func(ctx context.Context, n *session.NamedSessions) error {
			return n.Create(ctx, "game", settings)
		},
		"Start": func(ctx context.Context, n *session.NamedSessions) error {
			return n.Start(ctx, "game")
		},
		"Join": func(ctx context.Context, n *session.NamedSessions) error {
			return n.Join(ctx, "game", found)
		},
		"Update": func(ctx context.Context, n *session.NamedSessions) error {
			return n.Update(ctx, "game", settings)
		},
		"End": func(ctx context.Context, n *session.NamedSessions) error {
			return n.End(ctx, "game")
		},
		"Destroy": func(ctx context.Context, n *session.NamedSessions) error {
			return n.Destroy(ctx, "game")
		},
		"RegisterPlayer": func(ctx context.Context, n *session.NamedSessions) error {
			return n.RegisterPlayer(ctx, "game", "bob")
		},
		"UnregisterPlayer": func(ctx context.Context, n *session.NamedSessions) error {
			return n.UnregisterPlayer(ctx, "game", "bob")
		},
	}
}

// possible lists the states in which each call is possible.
var possible = map[string][]session.State{
	"Create": {session.NoSession},
	"Join":   {session.NoSession},
	"Start":  {session.Pending, session.Ended},
	"Update": {session.Pending, session.InProgress},
	"End":    {session.InProgress},
	"Destroy": {session.Creating, session.Pending, session.Starting, session.InProgress, session.Ending,
		session.Ended},
	"RegisterPlayer": {session.Creating, session.Pending, session.Starting, session.InProgress, session.Ending,
		session.Ended},
	"UnregisterPlayer": {session.Creating, session.Pending, session.Starting, session.InProgress, session.Ending,
		session.Ended},
}

// where a session is after a call that was possible.
var outcomes = map[string]session.State{
	"Create": session.Pending, "Start": session.InProgress, "Join": session.InProgress,
	"End": session.Ended, "Destroy": session.NoSession,
}

// Every call in every state: it works, or it is refused and nothing has changed.
// Either way it completes once.
func TestEveryCallInEveryState(t *testing.T) {
	for _, state := range slices.Sorted(maps.Keys(ways)) {
		for _, name := range slices.Sorted(maps.Keys(possible)) {
			t.Run(string(state)+"/"+name, func(t *testing.T) {
				w := newWorld(t)
				result := w.found(t)
				release := ways[state](t, w)
				defer release()
				before, _ := w.Named().Get("game")
				if before.State != state {
					t.Fatalf("the session is %s", before.State)
				}
				call := namedCalls(result, before.Settings.IsLANMatch)[name]
				op := w.Async(t.Context(), func(ctx context.Context) error { return call(ctx, w.Named()) })
				if slices.Contains(possible[name], state) {
					release()
					permitted(t, w, name, op)
				} else {
					refusedIn(t, w, name, before, op)
				}
			})
		}
	}
}

// permitted checks a call that was possible.
func permitted(t *testing.T, w *world, name string, op *session.Op) {
	t.Helper()
	err := settled(t, op)
	if name == "UnregisterPlayer" && errors.Is(err, session.ErrNotFound) && !errors.Is(err, session.ErrState) {
		return // nobody is registered
	}
	if err != nil {
		t.Fatal(err)
	}
	after, _ := w.Named().Get("game")
	if want, ok := outcomes[name]; ok && after.State != want {
		t.Errorf("the session is %s, not %s", after.State, want)
	}
}

// refusedIn checks a call that was not possible.
func refusedIn(t *testing.T, w *world, name string, before session.NamedSession, op *session.Op) {
	t.Helper()
	select {
	case <-op.Done():
	default:
		t.Fatal("a call that is not possible is not complete at once")
	}
	refusal, ok := errors.AsType[*session.StateError](op.Err())
	if !ok || refusal.Op != name || refusal.Name != "game" || refusal.State != before.State ||
		!errors.Is(refusal, session.ErrState) {
		t.Errorf("the error is %#v", op.Err())
	}
	if unknown := before.State == session.NoSession; errors.Is(refusal, session.ErrNotFound) != unknown {
		t.Errorf("ErrNotFound is not right: %v", refusal)
	}
	if creates := name == "Create" || name == "Join"; errors.Is(refusal, session.ErrExists) != creates {
		t.Errorf("ErrExists is not right: %v", refusal)
	}
	if after, _ := w.Named().Get("game"); !reflect.DeepEqual(after, before) {
		t.Errorf("the session has changed from %+v to %+v", before, after)
	}
}
