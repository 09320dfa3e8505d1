package gameserver_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/gameserver"
)

const graceDefault = 10 * time.Second

// patient has the default limits for empty processes and lost connections.
func patient(cfg *gameserver.Config) { cfg.EmptyLimit, cfg.ResumeLimit = 0, 0 }

// leaves has a player leave.
func (h *hosted) leaves(n int) {
	h.t.Helper()
	if err := h.HandlePlayerLeaveSession(h.t.Context(), player(n)); err != nil {
		h.t.Error(err)
	}
}

// goesOn advances the clock, and checks that the end has not begun.
func (h *hosted) goesOn(passed time.Duration) {
	h.t.Helper()
	h.clock.Advance(passed)
	select {
	case <-h.Ending():
		h.t.Fatalf("the end has begun after %v", passed)
	default:
	}
}

// reserved sets what the service returns about reservations.
func (h *hosted) reserved(players string) {
	h.s.set(func() { h.s.replies["DescribePlayerSessions"] = `"StatusCode":200,"PlayerSessions":[` + players + `]` })
}

// TestEmptyLimit ends the process some time after the last player has left, unless one joins meanwhile.
func TestEmptyLimit(t *testing.T) {
	h := newHost(t, newService(t), patient).active()
	h.joins(1)
	h.leaves(1)
	h.goesOn(graceDefault - time.Nanosecond)
	h.joins(2)
	h.goesOn(time.Hour)
	h.leaves(2)
	h.goesOn(graceDefault - time.Nanosecond)
	h.clock.Advance(time.Nanosecond)
	h.ends()
	if h.Err() != nil || h.ExitCode() != 0 {
		t.Errorf("ended with %v", h.Err())
	}
	h.wantEvents("ActivateServerProcess", "ActivateGameSession", "AcceptPlayerSession", "RemovePlayerSession",
		"AcceptPlayerSession", "RemovePlayerSession", "DescribePlayerSessions", "TerminateServerProcess")
}

// TestRejectedPlayerDoesNotExtendTheLimit ends the process as if that player had not come.
func TestRejectedPlayerDoesNotExtendTheLimit(t *testing.T) {
	h := newHost(t, newService(t), patient).active()
	h.joins(1)
	h.leaves(1)
	h.goesOn(graceDefault - time.Nanosecond)
	h.s.set(func() {
		h.s.replies["AcceptPlayerSession"] = `"StatusCode":404,"ErrorMessage":"NotFoundException: none"`
	})
	if err := h.ValidatePlayerJoinSession(t.Context(), player(2)); err == nil {
		t.Error("accepted")
	}
	h.clock.Advance(time.Nanosecond)
	h.ends()
}

// TestReservationsKeepTheProcess goes on for players who have not come, until the service has no reservation any more.
func TestReservationsKeepTheProcess(t *testing.T) {
	h := newHost(t, newService(t), patient).active()
	h.reserved(`{"PlayerSessionId":"psess-2","Status":"RESERVED"}`)
	h.joins(1)
	h.leaves(1)
	for n := range 3 {
		h.clock.Advance(graceDefault)
		h.s.await("the delay of the end", func() bool { return h.logged("end of the process delayed") > n || h.poll() })
	}
	if n := h.s.happened("DescribePlayerSessions"); n != 3 {
		t.Errorf("the service was asked %d times", n)
	}
	if got, want := h.s.sent("DescribePlayerSessions")[0], `{"Action":"DescribePlayerSessions","RequestId":"ID",`+
		`"GameSessionId":"`+gameSession+`","PlayerSessionStatusFilter":"RESERVED","Limit":30}`; got != want {
		t.Errorf("asked\n%s, want\n%s", got, want)
	}
	h.joins(2)
	h.goesOn(time.Hour)
	h.reserved("")
	h.leaves(2)
	h.clock.Advance(graceDefault)
	h.ends()
}

// logged counts the log lines with a text.
func (h *hosted) logged(text string) int {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	return strings.Count(h.log.String(), text)
}

// TestReservationsUnknown ends the process when the service does not say whether there are reservations.
func TestReservationsUnknown(t *testing.T) {
	h := newHost(t, newService(t), patient).active()
	h.s.set(func() {
		h.s.replies["DescribePlayerSessions"] = `"StatusCode":500,"ErrorMessage":"InternalServiceException: no"`
	})
	h.joins(1)
	h.leaves(1)
	h.clock.Advance(graceDefault)
	h.ends()
}

// TestResume continues a player session on another connection, without a question to the service.
func TestResume(t *testing.T) {
	h := newHost(t, newService(t), patient).active()
	h.joins(1)
	again := gameserver.PlayerConnection{ConnectionID: 2, PlayerSessionID: player(1).PlayerSessionID}
	if err := h.ValidatePlayerJoinSession(t.Context(), again); !errors.Is(err, gameserver.ErrTicketInUse) {
		t.Errorf("resuming while connected: %v", err)
	}
	for range 3 {
		h.HandlePlayerConnectionLost(player(1))
		h.HandlePlayerConnectionLost(player(1))
		h.goesOn(graceDefault - time.Nanosecond)
		if err := h.ValidatePlayerJoinSession(t.Context(), again); err != nil {
			t.Fatalf("resuming: %v", err)
		}
		h.leaves(1) // of the connection before: no effect
		h.goesOn(time.Hour)
		h.HandlePlayerConnectionLost(again)
		if err := h.ValidatePlayerJoinSession(t.Context(), player(1)); err != nil {
			t.Fatalf("resuming: %v", err)
		}
	}
	h.wantEvents("ActivateServerProcess", "ActivateGameSession", "AcceptPlayerSession")
	h.leaves(1)
	h.clock.Advance(graceDefault)
	h.ends()
}

// TestLostForGood ends the player session when the limit has passed. The limit of the empty process begins with the
// lost connection.
func TestLostForGood(t *testing.T) {
	h := newHost(t, newService(t), patient).active()
	h.joins(1)
	h.HandlePlayerConnectionLost(player(1))
	h.goesOn(graceDefault - time.Nanosecond)
	h.clock.Advance(time.Nanosecond)
	h.ends()
	h.wantEvents("ActivateServerProcess", "ActivateGameSession", "AcceptPlayerSession", "RemovePlayerSession",
		"DescribePlayerSessions", "TerminateServerProcess")
}

// TestLostAndLeft ends the player session of a lost connection at once.
func TestLostAndLeft(t *testing.T) {
	h := newHost(t, newService(t), patient).active()
	h.joins(1)
	h.HandlePlayerConnectionLost(player(1))
	h.leaves(1)
	h.leaves(1)
	h.wantEvents("ActivateServerProcess", "ActivateGameSession", "AcceptPlayerSession", "RemovePlayerSession")
}

// TestLostAtTheEnd ends the player session with the process.
func TestLostAtTheEnd(t *testing.T) {
	h := newHost(t, newService(t), patient).active()
	h.joins(1)
	h.HandlePlayerConnectionLost(player(1))
	h.HandleDestroySession()
	h.ends()
	h.wantEvents("ActivateServerProcess", "ActivateGameSession", "AcceptPlayerSession", "RemovePlayerSession",
		"TerminateServerProcess")
}

// TestLostWithoutLimit ends the player session at once.
func TestLostWithoutLimit(t *testing.T) {
	h := newHost(t, newService(t), func(cfg *gameserver.Config) { cfg.ResumeLimit = -1 }).active()
	h.joins(1)
	h.HandlePlayerConnectionLost(player(1))
	h.ends()
}
