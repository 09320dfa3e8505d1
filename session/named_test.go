package session_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/sessiontest"
)

func TestNamedSessionAtTheService(t *testing.T) {
	w := newWorld(t)
	n, ctx := w.Named(), t.Context()
	settings := small
	settings.Properties = map[string]string{session.PropertyName: "Duel"}
	settings.BuildUniqueID = 7
	must(t, n.Create(ctx, "game", settings))
	if w.service.Calls("Host") != 0 {
		t.Error("Create asks the service")
	}
	if _, err := n.ConnectString("game"); !errors.Is(err, session.ErrState) {
		t.Error("a session without a server has an address:", err)
	}
	must(t, n.Start(ctx, "game"))
	s, _ := n.Get("game")
	if s.State != session.InProgress || !s.Hosting || s.OwnerID != "ada" || s.OwnerName != "Ada" ||
		s.Place.PlayerSessionID == "" {
		t.Errorf("the session is %+v", s)
	}
	if got := w.service.Sessions()[0]; got.SessionName != "Duel" || got.SessionProperties != nil ||
		got.MaxPlayer != 2 || got.CreatorID != "ada" {
		t.Errorf("the service has %+v", got)
	}
	if got, err := n.ConnectString("game"); err != nil || got != "127.0.0.1:7777" {
		t.Errorf("the address is %s, %v", got, err)
	}
	if n.Connection("game") == nil || len(n.All()) != 1 {
		t.Error("the player is not connected")
	}
	must(t, n.End(ctx, "game"))
	must(t, n.Start(ctx, "game")) // a new game session; the connection to the old one is closed
	if len(w.connector.Open()) != 1 || len(w.service.Places()) != 1 {
		t.Errorf("connections %v, places %v", w.connector.Open(), w.service.Places())
	}
	must(t, n.Destroy(ctx, "game"))
	if len(n.All()) != 0 || len(w.connector.Open()) != 0 {
		t.Error("something is left")
	}
}

// The default name of a session is the same for all users: it does not show the name of an account.
func TestDefaultName(t *testing.T) {
	w := newWorld(t)
	must(t, w.Named().Create(t.Context(), "local", onLAN()))
	must(t, w.Named().Create(t.Context(), "game", small))
	must(t, w.Named().Start(t.Context(), "game"))
	if name := w.lan.Adverts()[0].Name; name != "Session" {
		t.Errorf("the local network has %q", name)
	}
	if name := w.service.Sessions()[0].SessionName; name != "Session" {
		t.Errorf("the service has %q", name)
	}
}

func TestNamedSessionOnTheLAN(t *testing.T) {
	host := newWorld(t)
	guest := newWorld(t, func(c *session.Config) { c.LAN, c.PlayerID, c.Remote = host.lan, "bob", nil })
	ctx := t.Context()
	must(t, host.Named().Create(ctx, "game", onLAN()))
	if got, err := host.Named().ConnectString("game"); err != nil || got != "10.0.0.1:7777" {
		t.Error("the host is at", got, err)
	}
	results, err := guest.Named().Find(ctx, session.FindRequest{LAN: true})
	if err != nil || len(results) != 1 || !results[0].LAN || results[0].OwnerName != "Ada" {
		t.Fatal(results, err)
	}
	must(t, guest.Named().Join(ctx, "theirs", results[0]))
	if s, _ := guest.Named().Get("theirs"); s.Hosting || s.OwnerID != "ada" ||
		s.Settings.Properties[session.PropertyName] != results[0].Name || s.OpenPublic != 1 {
		t.Errorf("the guest has %+v", s)
	}
	if got, err := guest.Named().ConnectString("theirs"); err != nil || got != "127.0.0.1:7777" {
		t.Error("the guest goes to", got, err)
	}
	must(t, host.Named().RegisterPlayer(ctx, "game", "bob")) // the last public place
	if host.lan.Adverts()[0].Joinable {
		t.Error("a full session can be joined")
	}
	must(t, host.Named().UnregisterPlayer(ctx, "game", "bob"))
	must(t, host.Named().Start(ctx, "game"))
	if a := host.lan.Adverts()[0]; a.Joinable {
		t.Error("a session in progress can be joined, though its settings say no")
	}
	settings := onLAN()
	settings.AllowJoinInProgress, settings.NumPublicConnections = true, 3
	must(t, host.Named().Update(ctx, "game", settings))
	if a := host.lan.Adverts()[0]; !a.Joinable || a.OpenConnections != 3 {
		t.Errorf("after Update the advert is %+v", a)
	}
	if s, _ := host.Named().Get("game"); s.State != session.InProgress || host.service.Calls("Host") != 0 {
		t.Errorf("the session is %s, and the service was asked %d times", s.State, host.service.Calls("Host"))
	}
	must(t, guest.Named().End(ctx, "theirs"))
	must(t, guest.Named().Start(ctx, "theirs")) // it was joined: no other session is made
	must(t, guest.Named().Destroy(ctx, "theirs"))
}

func TestUpdateThatCannotBeAnnounced(t *testing.T) {
	w := newWorld(t)
	must(t, w.Named().Create(t.Context(), "game", onLAN()))
	w.lan.Fail("Update", session.Errorf("Update", session.ErrInvalid, "too long"))
	settings := onLAN()
	settings.NumPublicConnections = 9
	if err := w.Named().Update(t.Context(), "game", settings); !errors.Is(err, session.ErrInvalid) {
		t.Error(err)
	}
	if s, _ := w.Named().Get("game"); s.Settings.NumPublicConnections != 1 || s.OpenPublic != 1 {
		t.Errorf("the settings have changed: %+v", s)
	}
	settings.IsLANMatch = false
	if err := w.Named().Update(t.Context(), "game", settings); !errors.Is(err, session.ErrInvalid) {
		t.Error("a session has moved from the local network:", err)
	}
}

func TestFallbackToLAN(t *testing.T) {
	w := newWorld(t, func(c *session.Config) { c.FallbackToLAN = true })
	ctx := t.Context()
	must(t, w.Named().Create(ctx, "game", small))
	w.service.Fail("Host", session.Errorf("Host", session.ErrDenied, "banned"))
	if err := w.Named().Start(ctx, "game"); !errors.Is(err, session.ErrDenied) {
		t.Error("a refusal leads to the local network:", err)
	}
	w.service.Fail("Host", session.Errorf("Host", session.ErrTransport, "no route"))
	must(t, w.Named().Start(ctx, "game"))
	if s, _ := w.Named().Get("game"); s.State != session.InProgress || !s.Settings.IsLANMatch ||
		len(w.lan.Adverts()) != 1 {
		t.Errorf("the session is %+v", s)
	}
	must(t, w.Named().End(ctx, "game"))
	w.service.Fail("Find", session.Errorf("Find", session.ErrTransport, "no route"))
	if results, err := w.Named().Find(ctx, session.FindRequest{}); err != nil || len(results) != 1 || !results[0].LAN {
		t.Error(results, err)
	}
}

// Without a service, or before Configure, FallbackToLAN leads to the local network at once.
func TestFallbackWithoutAService(t *testing.T) {
	for name, change := range map[string]func(*session.Config){
		"no service":     func(c *session.Config) { c.Remote, c.Connector = nil, nil },
		"not configured": func(*session.Config) {},
	} {
		t.Run(name, func(t *testing.T) {
			service := new(sessiontest.Service)
			service.Fail("Configure", errOffline)
			cfg := session.Config{Remote: service.Remote(), LAN: new(sessiontest.LAN), FallbackToLAN: true}
			change(&cfg)
			client := session.New(cfg)
			defer client.Close(t.Context())
			if err := client.Configure(t.Context(), ""); err == nil {
				t.Fatal("Configure has succeeded")
			}
			n := client.Named()
			must(t, n.Create(t.Context(), "game", small))
			must(t, n.Start(t.Context(), "game"))
			if s, _ := n.Get("game"); s.State != session.InProgress || !s.Settings.IsLANMatch {
				t.Errorf("the session is %+v", s)
			}
			must(t, n.End(t.Context(), "game"))
			results, err := n.Find(t.Context(), session.FindRequest{})
			if err != nil || len(results) != 1 || !results[0].LAN {
				t.Error(results, err)
			}
		})
	}
}

var errOffline = session.Errorf("Configure", session.ErrDenied, "no credentials: the network is unreachable")

// A joined session has the settings that a search returns, and no others.
func TestSettingsOfAJoinedSession(t *testing.T) {
	host := newWorld(t)
	guest := newWorld(t, func(c *session.Config) { c.LAN, c.PlayerID, c.Remote = host.lan, "bob", nil })
	settings := session.Settings{
		NumPublicConnections: 2, ShouldAdvertise: true, AllowJoinInProgress: true, IsLANMatch: true, BuildUniqueID: 7,
		UsesPresence: true, Properties: map[string]string{session.PropertyName: "Friday", "map": "x"},
	}
	must(t, host.Named().Create(t.Context(), "game", settings))
	results, err := guest.Named().Find(t.Context(), session.FindRequest{LAN: true})
	if err != nil || len(results) != 1 {
		t.Fatal(results, err)
	}
	must(t, guest.Named().Join(t.Context(), "theirs", results[0]))
	want := session.Settings{
		NumPublicConnections: 2, IsLANMatch: true, BuildUniqueID: 7, Properties: settings.Properties,
	}
	if s, _ := guest.Named().Get("theirs"); !reflect.DeepEqual(s.Settings, want) {
		t.Errorf("the settings are %+v, want %+v", s.Settings, want)
	}
}

// A failed call restores the state before and reserves nothing.
func TestFailureGoesBack(t *testing.T) {
	refusal := session.Errorf("Test", session.ErrFull, "no")
	for name, test := range map[string]struct {
		fail func(*world)
		call func(context.Context, *world, session.SearchResult) error
		want session.State
	}{
		"create": {
			func(w *world) { w.lan.Fail("Announce", refusal) },
			func(ctx context.Context, w *world, _ session.SearchResult) error {
				return w.Named().Create(ctx, "game", onLAN())
			},
			session.NoSession,
		},
		"start: host": {
			func(w *world) { w.service.Fail("Host", refusal) },
			func(ctx context.Context, w *world, _ session.SearchResult) error {
				return errors.Join(w.Named().Create(ctx, "game", small), w.Named().Start(ctx, "game"))
			},
			session.Pending,
		},
		"start: connect": {
			func(w *world) { w.connector.Fail("Connect", refusal) },
			func(ctx context.Context, w *world, _ session.SearchResult) error {
				return errors.Join(w.Named().Create(ctx, "game", small), w.Named().Start(ctx, "game"))
			},
			session.Pending,
		},
		"join: reserve": {
			func(w *world) { w.service.Fail("Reserve", refusal) },
			func(ctx context.Context, w *world, found session.SearchResult) error {
				return w.Named().Join(ctx, "game", found)
			},
			session.NoSession,
		},
		"join: connect": {
			func(w *world) { w.connector.Fail("Connect", refusal) },
			func(ctx context.Context, w *world, found session.SearchResult) error {
				return w.Named().Join(ctx, "game", found)
			},
			session.NoSession,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			found := w.found(t)
			test.fail(w)
			if err := test.call(t.Context(), w, found); !errors.Is(err, session.ErrFull) {
				t.Fatal(err)
			}
			if s, _ := w.Named().Get("game"); s.State != test.want {
				t.Errorf("the session is %s, not %s", s.State, test.want)
			}
			if len(w.service.Places()) != 0 || len(w.lan.Adverts()) != 0 || len(w.connector.Open()) != 0 {
				t.Error("something is left")
			}
		})
	}
}

// Whatever is under way when a session is destroyed, or the call canceled, ends
// without a trace.
func TestInterruption(t *testing.T) {
	ends := map[string]func(*world, context.CancelFunc) error{
		"destroyed": func(w *world, _ context.CancelFunc) error {
			return w.Named().Destroy(context.Background(), "game")
		},
		"canceled": func(_ *world, cancel context.CancelFunc) error { cancel(); return nil },
		"closed":   func(w *world, _ context.CancelFunc) error { return w.Close(context.Background()) },
	}
	holdConnect := func(w *world) <-chan struct{} { return held(&w.connector.Faults, "Connect") }
	holds := map[string]struct {
		hold  func(*world) (reached <-chan struct{})
		begin func(context.Context, *world, session.SearchResult) *session.Op
		back  session.State // where a canceled call leads
	}{
		"announcing": {
			func(w *world) <-chan struct{} { return held(&w.lan.Faults, "Announce") },
			func(ctx context.Context, w *world, _ session.SearchResult) *session.Op {
				return w.Async(ctx, func(ctx context.Context) error { return w.Named().Create(ctx, "game", onLAN()) })
			}, session.NoSession,
		},
		"hosting": {
			func(w *world) <-chan struct{} { return held(&w.service.Faults, "Host") }, startAsync, session.Pending,
		},
		"connecting": {
			holdConnect, startAsync, session.Pending,
		},
		"reserving": {
			func(w *world) <-chan struct{} { return held(&w.service.Faults, "Reserve") }, joinAsync, session.NoSession,
		},
		"joining": {
			holdConnect, joinAsync, session.NoSession,
		},
	}
	for where, h := range holds {
		for how, end := range ends {
			t.Run(where+"/"+how, func(t *testing.T) {
				w := newWorld(t)
				found := w.found(t)
				reached := h.hold(w)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				op := h.begin(ctx, w, found)
				waitFor(t, reached)
				must(t, end(w, cancel))
				err := settled(t, op)
				want, back := session.ErrCanceled, h.back
				if how == "closed" {
					want = session.ErrClosed
				}
				if how != "canceled" {
					back = session.NoSession
				}
				if !errors.Is(err, want) {
					t.Errorf("the error is %v", err)
				}
				if s, _ := w.Named().Get("game"); s.State != back {
					t.Errorf("the session is %s, not %s", s.State, back)
				}
				w.end(t)
			})
		}
	}
}

func startAsync(ctx context.Context, w *world, _ session.SearchResult) *session.Op {
	w.Async(ctx, func(ctx context.Context) error { return w.Named().Create(ctx, "game", small) })
	return w.Async(ctx, func(ctx context.Context) error { return w.Named().Start(ctx, "game") })
}

func joinAsync(ctx context.Context, w *world, found session.SearchResult) *session.Op {
	return w.Async(ctx, func(ctx context.Context) error { return w.Named().Join(ctx, "game", found) })
}

func TestRegisterPlayers(t *testing.T) {
	w := newWorld(t)
	n, ctx := w.Named(), t.Context()
	must(t, n.Create(ctx, "game", session.Settings{NumPublicConnections: 2, NumPrivateConnections: 1}))
	for _, step := range []struct {
		call            func(context.Context, string, string) error
		player          string
		want            error
		public, private int
	}{
		{n.RegisterPlayer, "a", nil, 1, 1},
		{n.RegisterPlayer, "a", nil, 1, 1}, // has one
		{n.RegisterPlayer, "b", nil, 0, 1},
		{n.RegisterPlayer, "c", nil, 0, 0},
		{n.RegisterPlayer, "d", session.ErrFull, 0, 0},
		{n.RegisterPlayer, "", session.ErrInvalid, 0, 0},
		{n.UnregisterPlayer, "d", session.ErrNotFound, 0, 0},
		{n.UnregisterPlayer, "a", nil, 1, 0},
		{n.UnregisterPlayer, "b", nil, 2, 0},
		{n.UnregisterPlayer, "c", nil, 2, 1},
		{n.UnregisterPlayer, "c", session.ErrNotFound, 2, 1},
	} {
		if err := step.call(ctx, "game", step.player); !errors.Is(err, step.want) {
			t.Errorf("player %q: %v, want %v", step.player, err, step.want)
		}
		if s, _ := n.Get("game"); s.OpenPublic != step.public || s.OpenPrivate != step.private {
			t.Errorf("after player %q %d and %d are open, not %d and %d", step.player, s.OpenPublic, s.OpenPrivate,
				step.public, step.private)
		}
	}
}

// With fewer slots than players, none is open before enough players have left.
func TestUpdateBelowPlayers(t *testing.T) {
	w := newWorld(t)
	n, ctx := w.Named(), t.Context()
	must(t, n.Create(ctx, "game", session.Settings{NumPublicConnections: 3}))
	for _, player := range []string{"a", "b", "c"} {
		must(t, n.RegisterPlayer(ctx, "game", player))
	}
	must(t, n.Update(ctx, "game", session.Settings{NumPublicConnections: 2}))
	for i, player := range []string{"a", "b", "c"} {
		must(t, n.UnregisterPlayer(ctx, "game", player))
		if s, _ := n.Get("game"); s.OpenPublic != i {
			t.Errorf("after %d have gone %d are open", i+1, s.OpenPublic)
		}
	}
}

func TestFind(t *testing.T) {
	w := newWorld(t)
	n, ctx := w.Named(), t.Context()
	w.active(t)
	reached, release := w.service.Hold("Find")
	search := w.Async(ctx, func(ctx context.Context) error { _, err := n.Find(ctx, session.FindRequest{}); return err })
	waitFor(t, reached)
	if _, err := n.Find(ctx, session.FindRequest{LAN: true}); !errors.Is(err, session.ErrSearchBusy) {
		t.Error("two searches at a time:", err)
	}
	must(t, n.CancelFind(ctx))
	if err := settled(t, search); !errors.Is(err, session.ErrCanceled) {
		t.Error(err)
	}
	var state *session.StateError
	if err := n.CancelFind(ctx); !errors.As(err, &state) || state.State != "NotSearching" {
		t.Error(err)
	}
	release()
	w.service.Fail("Find", errors.New("boom"))
	if _, err := n.Find(ctx, session.FindRequest{}); !errors.Is(err, session.ErrTransport) {
		t.Error(err)
	}
	again := make(chan error, 1) // a search from the event of the one before
	unsubscribe := w.Subscribe(func(e session.Event) {
		if done, ok := e.(session.Complete); ok && done.Call == "Find" {
			_, err := n.Find(ctx, session.FindRequest{})
			again <- err
		}
	})
	defer unsubscribe()
	var results []session.SearchResult
	search = w.Async(ctx, func(ctx context.Context) (err error) {
		results, err = n.Find(ctx, session.FindRequest{})
		return err
	})
	if err := settled(t, search); err != nil || len(results) != 1 || results[0].LAN {
		t.Error(results, err)
	}
	if err := <-again; err != nil {
		t.Error("no search after a search:", err)
	}
}

// TestUpdateAfterFallback takes the settings that the game knows: it was not the
// game that moved the session.
func TestUpdateAfterFallback(t *testing.T) {
	w := newWorld(t, func(c *session.Config) { c.FallbackToLAN = true })
	must(t, w.Named().Create(t.Context(), "game", small))
	w.service.Fail("Host", session.Errorf("Host", session.ErrUnavailable, "down"))
	must(t, w.Named().Start(t.Context(), "game"))
	larger := small
	larger.NumPublicConnections = 3
	must(t, w.Named().Update(t.Context(), "game", larger))
	got, _ := w.Named().Get("game")
	if !got.Settings.IsLANMatch || got.OpenPublic != 3 {
		t.Errorf("the session is %+v", got)
	}
}
