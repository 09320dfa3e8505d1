package gameserver_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/session"
)

// A hosted is a Host that is connected to a service, on a fake clock.
type hosted struct {
	*gameserver.Host
	t     *testing.T
	s     *service
	c     *conn
	clock *clockwork.FakeClock
	log   *logBuffer
}

// newHost makes a Host that is connected and not ready. It ends at once with its last player.
func newHost(t *testing.T, s *service, change func(*gameserver.Config)) *hosted {
	t.Helper()
	h := &hosted{t: t, s: s, clock: clockwork.NewFakeClock(), log: new(logBuffer)}
	cfg := gameserver.Config{
		Getenv: noEnvironment, EmptyLimit: -1,
		Log: slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}.WithClock(h.clock)
	if change != nil {
		change(&cfg)
	}
	h.Host = gameserver.NewHost(cfg)
	t.Cleanup(func() {
		h.HandleDestroySession()
		h.ends()
		h.Server().Wait()
		h.log.mu.Lock()
		defer h.log.mu.Unlock()
		if strings.Contains(h.log.String(), token) {
			t.Error("the log tells the token")
		}
	})
	if err := h.Init(t.Context(), s.parameters()); err != nil {
		t.Fatal(err)
	}
	h.c = s.next()
	return h
}

// Subscribe adds a subscriber, which must succeed.
func (h *hosted) Subscribe(c gameserver.SessionCallbacks) (unsubscribe func()) {
	h.t.Helper()
	unsubscribe, err := h.Host.Subscribe(c)
	if err != nil {
		h.t.Fatal(err)
	}
	return unsubscribe
}

// ready says that the process is ready.
func (h *hosted) ready() *hosted {
	h.t.Helper()
	if err := h.NotifyProcessReady(h.t.Context(), 7777, "/log"); err != nil {
		h.t.Fatal(err)
	}
	return h
}

// push sends a message of the service.
func (h *hosted) push(text string) *hosted {
	h.t.Helper()
	if err := h.c.write(text); err != nil {
		h.t.Fatal(err)
	}
	return h
}

// active makes the game session and waits until it is active.
func (h *hosted) active() *hosted {
	h.t.Helper()
	h.ready().push(create)
	h.s.await("the game session is active", func() bool {
		config, _ := h.SessionConfig()
		return config.Status == session.StatusActive || h.poll()
	})
	return h
}

// poll makes await ask again soon: what it waits for is no event of the service.
func (h *hosted) poll() bool {
	time.AfterFunc(time.Millisecond, h.s.wake)
	return false
}

// ends waits until the Host is done.
func (h *hosted) ends() {
	h.t.Helper()
	receive(h.t, "the end", h.Done())
}

// passes lets a limit pass that has begun, and not a moment less.
func (h *hosted) passes(limit time.Duration) {
	h.t.Helper()
	h.clock.Advance(limit - time.Nanosecond)
	select {
	case <-h.Done():
		h.t.Errorf("the end did not wait for %v", limit)
	default:
	}
	h.clock.Advance(time.Nanosecond)
}

// wantEvents checks all that has happened so far.
func (h *hosted) wantEvents(want ...string) {
	h.t.Helper()
	h.s.set(func() {
		if !slices.Equal(h.s.events, want) {
			h.t.Errorf("happened:\n got  %q\n want %q", h.s.events, want)
		}
	})
}

// noting is a subscriber that notes all callbacks but health checks, and says yes.
func noting(s *service, name string) gameserver.SessionCallbacks {
	return gameserver.SessionCallbacks{
		OnCreateSessionBegin:  func(gameserver.SessionConfig) bool { s.note(name + "CreateBegin"); return true },
		OnCreateSessionEnd:    func() { s.note(name + "CreateEnd") },
		OnUpdateSessionBegin:  func(gameserver.SessionConfig, gameserver.UpdateReason) { s.note(name + "UpdateBegin") },
		OnUpdateSessionEnd:    func() { s.note(name + "UpdateEnd") },
		OnDestroySessionBegin: func() bool { s.note(name + "DestroyBegin"); return true },
		OnDestroySessionEnd:   func() { s.note(name + "DestroyEnd") },
	}
}

const terminate = `{"Action":"TerminateProcess","TerminationTime":1767326645000}`
