package gameserver_test

import (
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/mustertest"
)

// TestSignedProcessKeepsItsURL has a process sign in with an access key over ws://,
// without the certificate of the service. It gets a token and moves where it is, once.
func TestSignedProcessKeepsItsURL(t *testing.T) {
	s := mustertest.Start(t)
	p := s.Compute(s.Fleet("custom-home"), "custom-home", "host-1")
	p.AuthToken, p.Region, p.AccessKey, p.SecretKey = "", s.Region, s.AccessKey, s.SecretKey
	refreshes := make(chan string, 64)
	server := gameserver.New(gameserver.Config{
		Getenv: func(string) string { return "" },
		Trace: func(m gameserver.Message) {
			if strings.Contains(m.Text, "RefreshConnection") {
				refreshes <- m.Text
			}
		},
	})
	t.Cleanup(func() { server.Close(); server.Wait() })
	if err := server.Connect(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := server.ProcessReady(t.Context(), gameserver.ProcessParameters{
		Port: 7777, OnStartGameSession: func(gameserver.GameSession) {}, OnProcessTerminate: func() {},
	}); err != nil {
		t.Fatal(err)
	}
	if text := <-refreshes; !strings.Contains(text, `"RefreshConnectionEndpoint":"`+p.WebSocketURL+`"`) {
		t.Errorf("connected to %s and was sent elsewhere: %s", p.WebSocketURL, text)
	}
	// The old socket is closed when the new one is in use; a report of health came in between.
	mustertest.Eventually(t, "the process has moved", func() bool {
		_, err := server.GetComputeCertificate(t.Context())
		return err == nil
	})
	if len(refreshes) > 0 {
		t.Errorf("the push came again: %s", <-refreshes)
	}
}

// TestReservationsKeepTheHost has an empty process go on for a player with a reservation, until the service ends the
// reservation.
func TestReservationsKeepTheHost(t *testing.T) {
	clock := clockwork.NewFakeClockAt(time.Now())
	s := mustertest.Start(t, func(c *muster.Config) { c.Clock, c.ClockSkew = clock, 24*time.Hour })
	fleet := s.Fleet("custom-home")
	log := new(logBuffer)
	logged := func(text string) func() bool {
		return func() bool {
			log.mu.Lock()
			defer log.mu.Unlock()
			return strings.Contains(log.String(), text)
		}
	}
	host := gameserver.NewHost(gameserver.Config{
		Getenv: noEnvironment, Log: slog.New(slog.NewTextHandler(log, nil)), EmptyLimit: time.Millisecond,
	})
	t.Cleanup(func() { host.HandleDestroySession(); <-host.Done(); host.Server().Wait() })
	if err := host.Init(t.Context(), s.Compute(fleet, "custom-home", "host-1")); err != nil {
		t.Fatal(err)
	}
	if err := host.NotifyProcessReady(t.Context(), 7777); err != nil {
		t.Fatal(err)
	}
	made, err := s.Client.CreateGameSession(t.Context(), &gamelift.CreateGameSessionInput{
		FleetId: &fleet, Location: new("custom-home"), MaximumPlayerSessionCount: new(int32(4)),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := made.GameSession.GameSessionId
	var players []types.PlayerSession
	mustertest.Eventually(t, "players can come", func() bool {
		out, err := s.Client.CreatePlayerSessions(t.Context(), &gamelift.CreatePlayerSessionsInput{
			GameSessionId: id, PlayerIds: []string{"ada", "bob"},
		})
		if err == nil {
			players = out.PlayerSessions
		}
		return err == nil
	})
	ada := gameserver.PlayerConnection{ConnectionID: 1, PlayerSessionID: *players[0].PlayerSessionId}
	if err := host.ValidatePlayerJoinSession(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	if err := host.HandlePlayerLeaveSession(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	mustertest.Eventually(t, "the process goes on", logged("end of the process delayed"))
	for range 13 { // bob does not come
		clock.Advance(5 * time.Second)
		rename := &gamelift.UpdateGameSessionInput{GameSessionId: id, Name: new("duel")} // the shard looks at its clock
		if _, err := s.Client.UpdateGameSession(t.Context(), rename); err != nil {
			t.Fatal(err)
		}
	}
	mustertest.Eventually(t, "the end", logged(`reason="the last player has left"`))
	if err := host.Wait(); err != nil {
		t.Error(err)
	}
}

// A pulse counts the health reports of a game server, and moves the clock from one to the next.
type pulse struct {
	clock          *clockwork.FakeClock
	sent, answered atomic.Int32
}

// trace is the game server's Config.Trace.
func (p *pulse) trace(m gameserver.Message) {
	switch report := strings.Contains(m.Text, "HeartbeatServerProcess"); {
	case report && m.Sent:
		p.sent.Add(1)
	case report:
		p.answered.Add(1)
	}
}

// next waits for another report. The clock stands while one is under way.
func (p *pulse) next(t *testing.T) {
	t.Helper()
	seen := p.answered.Load()
	mustertest.Eventually(t, "a health report", func() bool {
		if p.answered.Load() > seen {
			return true
		}
		if p.sent.Load() == seen {
			p.clock.Advance(5 * time.Second)
		}
		return false
	})
}

// TestUnhealthyProcess: the service ends a process and its game session after three bad health reports in a row, not
// before, and does not wait for the process, which ends in order.
func TestUnhealthyProcess(t *testing.T) {
	beat := &pulse{clock: clockwork.NewFakeClockAt(time.Now())}
	s := mustertest.Start(t, func(c *muster.Config) { c.Clock, c.ClockSkew = beat.clock, 24*time.Hour })
	fleet := s.Fleet("custom-home")
	host := gameserver.NewHost(gameserver.Config{Getenv: noEnvironment, Trace: beat.trace}.WithClock(beat.clock))
	var ill, ended atomic.Bool
	var complaints atomic.Int32
	terminated := make(chan struct{})
	if _, err := host.Subscribe(gameserver.SessionCallbacks{
		OnSessionHealthCheck: func() bool {
			if ill.Load() {
				complaints.Add(1)
			}
			return !ill.Load()
		},
		OnDestroySessionBegin: func() bool { <-terminated; return true },
		OnDestroySessionEnd:   func() { ended.Store(true) },
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.HandleDestroySession(); <-host.Done(); host.Server().Wait() })
	if err := host.Init(t.Context(), s.Compute(fleet, "custom-home", "host-1")); err != nil {
		t.Fatal(err)
	}
	if err := host.NotifyProcessReady(t.Context(), 7777); err != nil {
		t.Fatal(err)
	}
	made := mustertest.Call(s, s.Client.CreateGameSession, &gamelift.CreateGameSessionInput{
		FleetId: &fleet, Location: new("custom-home"), MaximumPlayerSessionCount: new(int32(2)),
	})
	awaitStatus := func(want types.GameSessionStatus) {
		t.Helper()
		mustertest.Eventually(t, "the game session is "+string(want), func() bool {
			out := mustertest.Call(s, s.Client.DescribeGameSessions,
				&gamelift.DescribeGameSessionsInput{GameSessionId: made.GameSession.GameSessionId})
			return out.GameSessions[0].Status == want
		})
	}
	awaitStatus(types.GameSessionStatusActive)
	for range 5 {
		beat.next(t)
	}
	ill.Store(true)
	for range 3 {
		select {
		case <-host.Ending():
			t.Fatalf("the process was ended after %d bad reports", complaints.Load())
		default:
		}
		beat.next(t)
	}
	receive(t, "the order to end", host.Ending())
	awaitStatus(types.GameSessionStatusTerminated)
	close(terminated)
	if err := host.Wait(); err != nil || !ended.Load() || host.ExitCode() != 0 || complaints.Load() != 3 {
		t.Errorf("ended with %v after %d bad reports", err, complaints.Load())
	}
	happened := mustertest.Call(s, s.Client.DescribeFleetEvents, &gamelift.DescribeFleetEventsInput{FleetId: &fleet})
	if !slices.ContainsFunc(happened.Events, func(e types.Event) bool {
		return e.EventCode == types.EventCodeServerProcessTerminatedUnhealthy
	}) {
		t.Errorf("events: %v", happened.Events)
	}
}
