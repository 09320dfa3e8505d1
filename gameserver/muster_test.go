package gameserver_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/mustertest"
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
