package gameserver_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/session"
)

// TestHostLife is a whole life: in order, each step once.
func TestHostLife(t *testing.T) {
	s := newService(t)
	h := newHost(t, s, nil)
	begun := make(chan gameserver.SessionConfig, 1)
	h.Subscribe(noting(s, ""))
	h.Subscribe(gameserver.SessionCallbacks{OnCreateSessionBegin: func(c gameserver.SessionConfig) bool {
		if now, ok := h.SessionConfig(); !ok || !reflect.DeepEqual(now, c) {
			t.Errorf("SessionConfig is %+v, the callback has %+v", now, c)
		}
		begun <- c
		return true
	}})
	if _, ok := h.SessionConfig(); ok {
		t.Error("there is a game session too early")
	}
	h.active()
	want := gameserver.SessionConfig{
		SessionProperties: map[string]string{"mode": "ranked"}, SessionID: gameSession, SessionName: "duel",
		IPAddress: "203.0.113.9", Port: 7777, MaxPlayer: 8, FleetID: "fleet-1",
		Status: session.StatusActivating, StatusReason: "NotSet",
	}
	if got := receive(t, "OnCreateSessionBegin", begun); !reflect.DeepEqual(got, want) {
		t.Errorf("began with\n%+v, want\n%+v", got, want)
	}
	s.await("OnCreateSessionEnd", s.has("CreateEnd"))
	ada := gameserver.PlayerConnection{ConnectionID: 1, PlayerSessionID: "psess-1"}
	if err := h.ValidatePlayerJoinSession(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	if err := h.HandlePlayerLeaveSession(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	if err := h.Wait(); err != nil || h.ExitCode() != 0 {
		t.Errorf("ended with %v and the exit code %d", err, h.ExitCode())
	}
	h.wantEvents("ActivateServerProcess", "CreateBegin", "ActivateGameSession", "CreateEnd", "AcceptPlayerSession",
		"RemovePlayerSession",
		"DestroyBegin", "TerminateServerProcess", "DestroyEnd")
	if config, _ := h.SessionConfig(); config.Status != session.StatusTerminated {
		t.Errorf("status %s after the end", config.Status)
	}
}

// TestHostOutOfOrder calls what must not be called yet, or again.
func TestHostOutOfOrder(t *testing.T) {
	s := newService(t)
	fresh := gameserver.NewHost(gameserver.Config{Getenv: noEnvironment})
	if _, err := fresh.Subscribe(noting(s, "fresh")); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"NotifyProcessReady": func() error { return fresh.NotifyProcessReady(t.Context(), 7777) },
		"StopMatchBackfill":  func() error { return fresh.StopMatchBackfill(t.Context(), "t") },
		"StartMatchBackfill": func() error { _, err := fresh.StartMatchBackfill(t.Context(), "t", nil); return err },
		"CertificatePath":    func() error { _, err := fresh.CertificatePath(t.Context()); return err },
	} {
		if err := call(); !errors.Is(err, gameserver.ErrNotConnected) {
			t.Errorf("%s before Init: %v", name, err)
		}
	}
	select {
	case <-fresh.Ending():
		t.Error("the end has begun")
	default:
	}
	if err := fresh.Close(t.Context()); err != nil || fresh.ExitCode() != 0 {
		t.Errorf("Close before Init: %v", err)
	}
	if err := fresh.Init(t.Context(), s.parameters()); !errors.Is(err, gameserver.ErrEnding) {
		t.Errorf("Init after Close: %v", err)
	}

	h := newHost(t, s, nil)
	if err := h.Init(t.Context(), s.parameters()); !errors.Is(err, gameserver.ErrConnected) {
		t.Errorf("second Init: %v", err)
	}
	h.ready()
	if err := h.NotifyProcessReady(t.Context(), 7777); !errors.Is(err, gameserver.ErrReady) {
		t.Errorf("second NotifyProcessReady: %v", err)
	}
	if _, err := h.StartMatchBackfill(t.Context(), "t", nil); !errors.Is(err, gameserver.ErrNoGameSession) {
		t.Errorf("backfill without a game session: %v", err)
	}
	h.wantEvents("ActivateServerProcess")
}

// TestZeroValues are refused with what to call instead, and panic nowhere.
func TestZeroValues(t *testing.T) {
	var h gameserver.Host
	var s gameserver.Server
	ctx := t.Context()
	ready := gameserver.ProcessParameters{Port: 7777, OnStartGameSession: func(gameserver.GameSession) {}}
	for name, test := range map[string]struct {
		err, want error
	}{
		"Init":                      {h.Init(ctx, gameserver.ServerParameters{}), gameserver.ErrInvalid},
		"NotifyProcessReady":        {h.NotifyProcessReady(ctx, 7777), gameserver.ErrNotConnected},
		"ValidatePlayerJoinSession": {h.ValidatePlayerJoinSession(ctx, player(1)), gameserver.ErrNotConnected},
		"HandlePlayerLeaveSession":  {h.HandlePlayerLeaveSession(ctx, player(1)), nil},
		"StopMatchBackfill":         {h.StopMatchBackfill(ctx, "t"), gameserver.ErrNotConnected},
		"Close":                     {h.Close(ctx), nil},
		"Connect":                   {s.Connect(ctx, gameserver.ServerParameters{}), gameserver.ErrInvalid},
		"ProcessReady":              {s.ProcessReady(ctx, ready), gameserver.ErrNotConnected},
		"AcceptPlayerSession":       {s.AcceptPlayerSession(ctx, "psess-1"), gameserver.ErrNoGameSession},
		"ProcessEnding":             {s.ProcessEnding(ctx), gameserver.ErrNotConnected},
	} {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%s: %v, want %v", name, test.err, test.want)
		}
	}
	if _, err := h.CertificatePath(ctx); !errors.Is(err, gameserver.ErrNotConnected) {
		t.Errorf("CertificatePath: %v", err)
	}
	h.HandlePlayerConnectionLost(player(1))
	h.HandleDestroySession()
	s.Close()
}

// TestHostEnds ends the process for each reason: once and in order.
func TestHostEnds(t *testing.T) {
	refused := func(action string) func(*hosted) {
		return func(h *hosted) {
			h.s.set(func() { h.s.replies[action] = `"StatusCode":409,"ErrorMessage":"ConflictException: no"` })
		}
	}
	for _, test := range []struct {
		name    string
		prepare func(*hosted)
		do      func(*hosted)
		before  []string
		failure string // the text of Err; "" for an orderly end
	}{
		{"the service asks", nil, func(h *hosted) { h.active().push(terminate) },
			[]string{"ActivateServerProcess", "CreateBegin", "ActivateGameSession", "CreateEnd"}, ""},
		{"without a game session", nil, func(h *hosted) { h.ready().push(terminate) },
			[]string{"ActivateServerProcess"}, ""},
		{"not ready", refused("ActivateServerProcess"), func(h *hosted) {
			if err := h.NotifyProcessReady(t.Context(), 7777); err == nil {
				h.t.Error("NotifyProcessReady has succeeded")
			}
		}, []string{"ActivateServerProcess"}, "NotifyProcessReady: 409 ConflictException: no"},
		{"a port that cannot be", nil, func(h *hosted) {
			if err := h.NotifyProcessReady(t.Context(), 60001); !errors.Is(err, gameserver.ErrInvalid) {
				h.t.Errorf("NotifyProcessReady: %v", err)
			}
		}, nil, "NotifyProcessReady: Port must be 1 to 60000, not 60001"},
		{"OnCreateSessionBegin says no", func(h *hosted) {
			h.Subscribe(gameserver.SessionCallbacks{OnCreateSessionBegin: func(gameserver.SessionConfig) bool {
				return false
			}})
		}, func(h *hosted) { h.ready().push(create) }, []string{"ActivateServerProcess", "CreateBegin"},
			"OnCreateSessionBegin: it returned false"},
		{"OnCreateSessionBegin panics", func(h *hosted) {
			h.Subscribe(gameserver.SessionCallbacks{OnCreateSessionBegin: func(gameserver.SessionConfig) bool {
				panic("no such level")
			}})
		}, func(h *hosted) { h.ready().push(create) }, []string{"ActivateServerProcess", "CreateBegin"},
			"OnCreateSessionBegin: it panicked: no such level"},
		{"not activated", refused("ActivateGameSession"), func(h *hosted) { h.ready().push(create) },
			[]string{"ActivateServerProcess", "CreateBegin", "ActivateGameSession"},
			"ActivateGameSession: 409 ConflictException: no"},
		{"the network layer", nil, func(h *hosted) { h.ready().HandleDestroySession() },
			[]string{"ActivateServerProcess"}, ""},
		{"closed", nil, func(h *hosted) {
			if err := h.ready().Close(t.Context()); err != nil {
				h.t.Error(err)
			}
		}, []string{"ActivateServerProcess"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHost(t, newService(t), nil)
			h.Subscribe(noting(h.s, ""))
			if test.prepare != nil {
				test.prepare(h)
			}
			test.do(h)
			err := h.Wait()
			if _, ok := errors.AsType[*gameserver.Error](err); ok != (test.failure != "") ||
				ok && err.Error() != test.failure || ok != (h.ExitCode() == 1) {
				t.Errorf("ended with %v and the exit code %d, want %q", err, h.ExitCode(), test.failure)
			}
			h.HandleDestroySession()
			h.wantEvents(append(test.before, "DestroyBegin", "TerminateServerProcess", "DestroyEnd")...)
		})
	}
}

// TestHostEndsOnce has all reasons at the same time.
func TestHostEndsOnce(t *testing.T) {
	h := newHost(t, newService(t), nil)
	h.Subscribe(noting(h.s, ""))
	h.active()
	ada := gameserver.PlayerConnection{ConnectionID: 1, PlayerSessionID: "psess-1"}
	if err := h.ValidatePlayerJoinSession(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		go h.HandleDestroySession()
		go func() { _ = h.Close(context.Background()) }()
		go func() { _ = h.c.write(terminate) }()
		go func() { _ = h.HandlePlayerLeaveSession(context.Background(), ada) }()
	}
	if err := h.Wait(); err != nil {
		t.Error(err)
	}
	for _, event := range []string{"DestroyBegin", "RemovePlayerSession", "TerminateServerProcess", "DestroyEnd"} {
		if n := h.s.happened(event); n != 1 {
			t.Errorf("%s happened %d times", event, n)
		}
	}
}

// TestHostEndsWithoutTheService has lost its connection for good.
func TestHostEndsWithoutTheService(t *testing.T) {
	s := newService(t)
	h := newHost(t, s, func(cfg *gameserver.Config) { cfg.ReconnectLimit = time.Minute })
	h.Subscribe(noting(s, ""))
	h.active()
	s.http.Listener.Close()
	h.c.NetConn().Close()
	advance(t, s, h.clock, time.Second, "the end", s.has("DestroyEnd"))
	h.ends()
	if err := h.Err(); !errors.Is(err, gameserver.ErrConnectionEnd) || h.ExitCode() != 1 {
		t.Errorf("ended with %v and the exit code %d", err, h.ExitCode())
	}
	if s.happened("DestroyBegin") != 1 || s.happened("DestroyEnd") != 1 {
		t.Errorf("happened: %q", s.events)
	}
}

// TestDestroyBeginTakesItsTime goes on when the limit has passed, not before and
// not never.
func TestDestroyBeginTakesItsTime(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for name, begin := range map[string]func() bool{
		"hangs":        func() bool { <-release; return true },
		"says not yet": func() bool { return false },
		"panics":       func() bool { panic("lost my save game") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, newService(t), func(cfg *gameserver.Config) { cfg.DestroyLimit = time.Minute })
			h.Subscribe(noting(h.s, ""))
			h.Subscribe(gameserver.SessionCallbacks{OnDestroySessionBegin: begin})
			h.active().HandleDestroySession()
			h.s.await("OnDestroySessionBegin", h.s.has("DestroyBegin"))
			h.passes(time.Minute)
			h.ends()
			if h.Err() != nil || h.s.happened("TerminateServerProcess") != 1 || h.s.happened("DestroyEnd") != 1 {
				t.Errorf("ended with %v, %q", h.Err(), h.s.events)
			}
		})
	}
}

// TestOtherCallbacksHang does not keep the process from ending either.
func TestOtherCallbacksHang(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for _, test := range []struct {
		before    string // what happens before the callback hangs
		callbacks gameserver.SessionCallbacks
	}{
		{"DestroyBegin", gameserver.SessionCallbacks{OnCreateSessionBegin: func(gameserver.SessionConfig) bool {
			<-release
			return true
		}}},
		{"DestroyEnd", gameserver.SessionCallbacks{OnDestroySessionEnd: func() { <-release }}},
	} {
		t.Run(test.before, func(t *testing.T) {
			h := newHost(t, newService(t), nil)
			h.Subscribe(noting(h.s, ""))
			h.Subscribe(test.callbacks)
			h.ready().push(create)
			h.s.await("OnCreateSessionBegin", h.s.has("CreateBegin"))
			h.push(terminate)
			h.s.await("the limit begins", h.s.has(test.before))
			h.passes(30 * time.Second) // the default
			h.ends()
			if h.s.happened("TerminateServerProcess") != 1 || h.s.happened("DestroyEnd") != 1 {
				t.Errorf("happened: %q", h.s.events)
			}
		})
	}
}

// TestEndWhileBeginning does not activate what has been loaded in vain.
func TestEndWhileBeginning(t *testing.T) {
	h := newHost(t, newService(t), nil)
	h.Subscribe(noting(h.s, ""))
	h.Subscribe(gameserver.SessionCallbacks{OnCreateSessionBegin: func(gameserver.SessionConfig) bool {
		<-h.Ending() // as a game does that stops loading
		return true
	}})
	h.ready().push(create)
	h.s.await("OnCreateSessionBegin", h.s.has("CreateBegin"))
	h.push(terminate)
	h.ends()
	h.wantEvents("ActivateServerProcess", "CreateBegin", "DestroyBegin", "TerminateServerProcess", "DestroyEnd")
}

// TestEndDuringActivation activates nothing and tells nobody that it has.
func TestEndDuringActivation(t *testing.T) {
	h := newHost(t, newService(t), nil)
	h.Subscribe(noting(h.s, ""))
	h.s.set(func() { h.s.mute["ActivateGameSession"] = true })
	h.ready().push(create)
	h.s.await("the activation", h.s.has("ActivateGameSession"))
	h.push(terminate)
	if err := h.Wait(); err != nil {
		t.Error(err)
	}
	h.wantEvents("ActivateServerProcess", "CreateBegin", "ActivateGameSession", "DestroyBegin",
		"TerminateServerProcess", "DestroyEnd")
}

// TestReconnectDuringActivation is no reason to end.
func TestReconnectDuringActivation(t *testing.T) {
	h := newHost(t, newService(t), nil)
	h.Subscribe(noting(h.s, ""))
	h.s.set(func() { h.s.mute["ActivateGameSession"] = true })
	h.ready().push(create)
	h.s.await("the activation", h.s.has("ActivateGameSession"))
	h.s.set(func() { delete(h.s.mute, "ActivateGameSession") })
	h.c.NetConn().Close()
	h.c = h.s.next()
	h.push(create) // the service repeats it until the game session is active
	h.s.await("OnCreateSessionEnd", h.s.has("CreateEnd"))
	h.wantEvents("ActivateServerProcess", "CreateBegin", "ActivateGameSession", "ActivateGameSession", "CreateEnd")
}

// TestRefreshWhileHosting moves to another socket with another token.
func TestRefreshWhileHosting(t *testing.T) {
	h := newHost(t, newService(t), nil)
	h.Subscribe(noting(h.s, ""))
	h.active()
	h.push(`{"Action":"RefreshConnection","RefreshConnectionEndpoint":"` + h.s.url() + `","AuthToken":"t-2"}`)
	h.c = h.s.next()
	if err := h.ValidatePlayerJoinSession(t.Context(), gameserver.PlayerConnection{
		ConnectionID: 1, PlayerSessionID: "psess-1",
	}); err != nil {
		t.Fatal(err)
	}
	h.push(terminate)
	h.s.await("the end", h.s.has("DestroyEnd"))
	h.s.set(func() {
		if got := h.s.queries[1].Get("Authorization"); got != "t-2" {
			t.Errorf("came back with the token %q", got)
		}
	})
}

func TestCertificatePath(t *testing.T) {
	h := newHost(t, newService(t), nil)
	h.s.set(func() { h.s.replies["GetComputeCertificate"] = `"StatusCode":200,"CertificatePath":"/c.pem"` })
	if path, err := h.CertificatePath(t.Context()); err != nil || path != "/c.pem" {
		t.Errorf("certificate %q, %v", path, err)
	}
}

// TestPlannedEnd logs when the process is to be gone.
func TestPlannedEnd(t *testing.T) {
	h := newHost(t, newService(t), nil)
	h.active().push(terminate)
	h.ends()
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	if !strings.Contains(h.log.String(), "planned=2026-01-02T04:04:05Z") {
		t.Errorf("the log does not tell the planned end:\n%s", h.log.String())
	}
}

func TestCloseGivesUpWithItsContext(t *testing.T) {
	h := newHost(t, newService(t), nil)
	h.Subscribe(gameserver.SessionCallbacks{OnDestroySessionBegin: func() bool {
		h.s.note("DestroyBegin")
		return false
	}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close: %v", err)
	}
	h.s.await("OnDestroySessionBegin", h.s.has("DestroyBegin"))
	h.passes(30 * time.Second)
}
