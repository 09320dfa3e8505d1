package gameserver_test

import (
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/session"
)

// TestSubscribers are called in order, all of them, whatever one says.
func TestSubscribers(t *testing.T) {
	s := newService(t)
	h := newHost(t, s, nil)
	h.Subscribe(noting(s, "a"))
	h.Subscribe(gameserver.SessionCallbacks{
		OnCreateSessionBegin:  func(gameserver.SessionConfig) bool { panic("no such level") },
		OnDestroySessionBegin: func() bool { return true },
	})
	unsubscribe := h.Subscribe(noting(s, "b"))
	unsubscribe()
	unsubscribe()
	h.Subscribe(noting(s, "c"))
	h.ready().push(create)
	h.ends()
	h.wantEvents("ActivateServerProcess", "aCreateBegin", "cCreateBegin", "aDestroyBegin", "cDestroyBegin",
		"TerminateServerProcess", "aDestroyEnd", "cDestroyEnd")
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	if log := h.log.String(); !strings.Contains(log, "no such level") ||
		!strings.Contains(log, "OnCreateSessionBegin") {
		t.Errorf("the panic is not logged:\n%s", log)
	}
}

// TestSubscribeWithoutCallbacks is refused, and each callback alone is enough.
func TestSubscribeWithoutCallbacks(t *testing.T) {
	h := gameserver.NewHost(gameserver.Config{})
	unsubscribe, err := h.Subscribe(gameserver.SessionCallbacks{})
	unsubscribe()
	if !errors.Is(err, gameserver.ErrInvalid) || !strings.HasPrefix(err.Error(), "Subscribe: ") {
		t.Errorf("Subscribe without callbacks: %v", err)
	}
	all := reflect.ValueOf(noting(nil, ""))
	for i := range all.NumField() {
		var one gameserver.SessionCallbacks
		field := reflect.ValueOf(&one).Elem().Field(i)
		field.Set(reflect.MakeFunc(field.Type(), nil))
		if _, err := h.Subscribe(one); err != nil {
			t.Errorf("%s: %v", all.Type().Field(i).Name, err)
		}
	}
}

// TestPanicWithoutLog is logged by the default logger.
func TestPanicWithoutLog(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	for name, without := range map[string]*slog.Logger{"no log": nil, "discarded": slog.New(slog.DiscardHandler)} {
		t.Run(name, func(t *testing.T) {
			log := new(logBuffer)
			slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
			h := newHost(t, newService(t), func(cfg *gameserver.Config) { cfg.Log = without })
			h.Subscribe(gameserver.SessionCallbacks{OnDestroySessionEnd: func() { panic("my save game") }})
			h.HandleDestroySession()
			h.ends()
			log.mu.Lock()
			defer log.mu.Unlock()
			if text := log.String(); !strings.Contains(text, "my save game") || !strings.Contains(text, "stack=") ||
				strings.Count(text, "\n") != 1 {
				t.Errorf("the log has %q", text)
			}
		})
	}
}

// TestUpdates come in order, and only new matchmaking data is kept.
func TestUpdates(t *testing.T) {
	s := newService(t)
	h := newHost(t, s, nil)
	type seen struct {
		reason       gameserver.UpdateReason
		told, before string // matchmaking data
		status       session.Status
	}
	var got []seen
	data := func() string {
		config, _ := h.SessionConfig()
		return config.MatchmakingData
	}
	var after []string
	h.Subscribe(gameserver.SessionCallbacks{
		OnUpdateSessionBegin: func(c gameserver.SessionConfig, reason gameserver.UpdateReason) {
			got = append(got, seen{reason, c.MatchmakingData, data(), c.Status})
		},
		OnUpdateSessionEnd: func() {
			after = append(after, data())
			s.note("UpdateEnd " + data())
		},
	})
	h.push(`{"Action":"UpdateGameSession","GameSession":{},"UpdateReason":"BACKFILL_FAILED"}`) // too early
	h.active()
	update := func(id, data, reason string) {
		h.push(`{"Action":"UpdateGameSession","GameSession":{"GameSessionId":"` + id +
			`","Name":"duel","Status":"ACTIVE","MatchmakerData":"` + data +
			`"},"UpdateReason":"` + reason + `"}`)
	}
	update(gameSession, "m1", "MATCHMAKING_DATA_UPDATED")
	update(gameSession, "m2", "BACKFILL_TIMED_OUT")
	update("another", "m3", "MATCHMAKING_DATA_UPDATED")
	update("", "m4", "MATCHMAKING_DATA_UPDATED")
	s.await("the last update", s.has("UpdateEnd m4"))
	want := []seen{
		{gameserver.MatchmakingDataUpdated, "m1", "", session.StatusActive},
		{gameserver.BackfillTimedOut, "m2", "m1", session.StatusActive},
		{gameserver.MatchmakingDataUpdated, "m4", "m1", session.StatusActive},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("updates\n got  %+v\n want %+v", got, want)
	}
	if !slices.Equal(after, []string{"m1", "m1", "m4"}) {
		t.Errorf("data after the updates: %q", after)
	}
	if config, _ := h.SessionConfig(); config.SessionID != gameSession {
		t.Errorf("the game session is now %q", config.SessionID)
	}
}

// TestHostHealth asks all subscribers; one no is a no, none asked is a yes.
func TestHostHealth(t *testing.T) {
	s := newService(t)
	h := newHost(t, s, nil)
	const longest = 70 * time.Second // between two reports
	reported := func(number int, want bool) {
		t.Helper()
		s.await("a health report", func() bool { return len(s.bodies["HeartbeatServerProcess"]) >= number })
		s.set(func() {
			report := s.bodies["HeartbeatServerProcess"][number-1]
			if got := strings.Contains(report, `"HealthStatus":true`); got != want {
				t.Errorf("report %d says %t", number, got)
			}
		})
	}
	h.ready()
	reported(1, true)
	asked := make(chan struct{}, 100)
	h.Subscribe(gameserver.SessionCallbacks{OnSessionHealthCheck: func() bool { return true }})
	sick := h.Subscribe(gameserver.SessionCallbacks{OnSessionHealthCheck: func() bool { panic("ill") }})
	h.Subscribe(gameserver.SessionCallbacks{OnSessionHealthCheck: func() bool { asked <- struct{}{}; return true }})
	h.clock.Advance(longest)
	reported(2, false)
	receive(t, "the subscriber after the one that panics", asked)
	sick()
	h.clock.Advance(longest)
	reported(3, true)
}
