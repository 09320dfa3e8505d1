package gameserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/gameserver"
)

// player is a connection with a ticket of its own.
func player(n int) gameserver.PlayerConnection {
	return gameserver.PlayerConnection{ConnectionID: uint64(n), PlayerSessionID: fmt.Sprint("psess-", n)}
}

// joins lets a player in.
func (h *hosted) joins(n int) gameserver.PlayerConnection {
	h.t.Helper()
	if err := h.ValidatePlayerJoinSession(h.t.Context(), player(n)); err != nil {
		h.t.Fatal(err)
	}
	return player(n)
}

// keeping keeps the process when its last player has left.
func keeping(cfg *gameserver.Config) { cfg.KeepWhenEmpty = true }

func TestRefusedPlayers(t *testing.T) {
	h := newHost(t, newService(t), keeping).active()
	h.joins(1)
	for _, test := range []struct {
		connection gameserver.PlayerConnection
		want       error
	}{
		{gameserver.PlayerConnection{ConnectionID: 9}, gameserver.ErrNoTicket},
		{gameserver.PlayerConnection{ConnectionID: 1, PlayerSessionID: "psess-9"}, gameserver.ErrConnectionInUse},
		{player(1), gameserver.ErrConnectionInUse},
		{gameserver.PlayerConnection{ConnectionID: 2, PlayerSessionID: "psess-1"}, gameserver.ErrTicketInUse},
	} {
		err := h.ValidatePlayerJoinSession(t.Context(), test.connection)
		if e, ok := errors.AsType[*gameserver.Error](err); !ok || !errors.Is(err, test.want) ||
			e.Action != "ValidatePlayerJoinSession" {
			t.Errorf("%+v: %v, want %v", test.connection, err, test.want)
		}
	}
	if n := h.s.happened("AcceptPlayerSession"); n != 1 {
		t.Errorf("the service was asked %d times", n)
	}
	// Who is refused has no claim on the connection of the other, nor is forgotten only by half.
	h.s.set(func() {
		h.s.replies["AcceptPlayerSession"] = `"StatusCode":404,"ErrorMessage":"NotFoundException: none"`
	})
	for range 2 {
		err := h.ValidatePlayerJoinSession(t.Context(), player(2))
		if e, ok := errors.AsType[*gameserver.Error](err); !ok || e.Code != 404 {
			t.Errorf("refused by the service: %v", err)
		}
	}
	if err := h.HandlePlayerLeaveSession(t.Context(), player(2)); err != nil {
		t.Error(err)
	}
	if n := h.s.happened("RemovePlayerSession"); n != 0 {
		t.Errorf("%d player sessions of refused players were given back", n)
	}
	h.s.set(func() { delete(h.s.replies, "AcceptPlayerSession") })
	h.joins(2)
}

// TestPlayersBeforeTheGameSession cannot come, and have not come.
func TestPlayersBeforeTheGameSession(t *testing.T) {
	h := newHost(t, newService(t), nil).ready()
	if err := h.ValidatePlayerJoinSession(t.Context(), player(1)); !errors.Is(err, gameserver.ErrNoGameSession) {
		t.Errorf("joining without a game session: %v", err)
	}
	h.wantEvents("ActivateServerProcess")
}

// TestLeaveOnce tells the service once, though everybody says it.
func TestLeaveOnce(t *testing.T) {
	h := newHost(t, newService(t), keeping).active()
	ada := h.joins(1)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if err := h.HandlePlayerLeaveSession(t.Context(), ada); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := h.s.happened("RemovePlayerSession"); n != 1 {
		t.Errorf("removed %d times", n)
	}
	h.joins(1) // both the connection's id and the ticket are free again
}

// TestJoinTwiceAtOnce lets one of two in who show the same ticket.
func TestJoinTwiceAtOnce(t *testing.T) {
	h := newHost(t, newService(t), keeping).active()
	results := make(chan error, 8)
	for n := range cap(results) {
		go func() {
			results <- h.ValidatePlayerJoinSession(t.Context(),
				gameserver.PlayerConnection{ConnectionID: uint64(n), PlayerSessionID: "psess-1"})
		}()
	}
	in := 0
	for range cap(results) {
		err := receive(t, "the verdict", results)
		if err == nil {
			in++
		} else if !errors.Is(err, gameserver.ErrTicketInUse) {
			t.Error(err)
		}
	}
	if in != 1 {
		t.Errorf("%d players are in with one ticket", in)
	}
}

// joining asks for a player and does not get an answer of the service.
func (h *hosted) joining(ctx context.Context, n int) <-chan error {
	h.t.Helper()
	h.s.set(func() { h.s.mute["AcceptPlayerSession"] = true })
	result := make(chan error, 1)
	go func() { result <- h.ValidatePlayerJoinSession(ctx, player(n)) }()
	h.s.await("the question", h.s.has("AcceptPlayerSession"))
	return result
}

// TestLeaveWhileJoining gives the player session back, for nobody knows.
func TestLeaveWhileJoining(t *testing.T) {
	h := newHost(t, newService(t), nil).active()
	result := h.joining(t.Context(), 1)
	if err := h.HandlePlayerLeaveSession(t.Context(), player(1)); err != nil {
		t.Error(err)
	}
	if err := receive(t, "the verdict", result); !errors.Is(err, gameserver.ErrPlayerLeft) {
		t.Errorf("joining: %v", err)
	}
	h.wantEvents("ActivateServerProcess", "ActivateGameSession", "AcceptPlayerSession", "RemovePlayerSession")
}

// TestJoinGivesUpWithItsContext does so too.
func TestJoinGivesUpWithItsContext(t *testing.T) {
	h := newHost(t, newService(t), nil).active()
	ctx, cancel := context.WithCancel(t.Context())
	result := h.joining(ctx, 1)
	cancel()
	if err := receive(t, "the verdict", result); !errors.Is(err, context.Canceled) {
		t.Errorf("joining: %v", err)
	}
	h.wantEvents("ActivateServerProcess", "ActivateGameSession", "AcceptPlayerSession", "RemovePlayerSession")
}

// TestJoinThatWasNotSent leaves the player session RESERVED: the service was not asked.
func TestJoinThatWasNotSent(t *testing.T) {
	for name, test := range map[string]func(*hosted) error{
		"done context": func(h *hosted) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return h.ValidatePlayerJoinSession(ctx, player(1))
		},
		"no connection to the service": func(h *hosted) error {
			h.s.set(func() { h.s.statuses = slices.Repeat([]int{503}, 100) })
			h.c.NetConn().Close()
			h.s.await("an attempt to connect", func() bool { return len(h.s.queries) > 1 })
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() { result <- h.ValidatePlayerJoinSession(ctx, player(1)) }()
			cancel()
			err := receive(t, "the verdict", result)
			h.s.set(func() { h.s.statuses = nil })
			advance(t, h.s, h.clock, time.Second, "the connection", func() bool { return len(h.s.conns) > 0 })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, newService(t), keeping).active()
			if err := test(h); !errors.Is(err, context.Canceled) {
				t.Errorf("joining: %v", err)
			}
			h.joins(1)
			h.wantEvents("ActivateServerProcess", "ActivateGameSession", "AcceptPlayerSession")
		})
	}
}

// TestEndWhileJoining refuses who is on the way in, and all who come later.
func TestEndWhileJoining(t *testing.T) {
	h := newHost(t, newService(t), nil).active()
	result := h.joining(t.Context(), 1)
	h.HandleDestroySession()
	if err := receive(t, "the verdict", result); !errors.Is(err, gameserver.ErrEnding) {
		t.Errorf("joining: %v", err)
	}
	h.ends()
	if err := h.ValidatePlayerJoinSession(t.Context(), player(2)); !errors.Is(err, gameserver.ErrEnding) {
		t.Errorf("joining later: %v", err)
	}
	h.wantEvents("ActivateServerProcess", "ActivateGameSession", "AcceptPlayerSession", "RemovePlayerSession",
		"TerminateServerProcess")
}

// TestLastPlayer ends the process with the last player, and not with the first,
// nor for reservations.
func TestLastPlayer(t *testing.T) {
	h := newHost(t, newService(t), nil).active()
	ada, bob := h.joins(1), h.joins(2)
	leave := func(c gameserver.PlayerConnection) {
		t.Helper()
		if err := h.HandlePlayerLeaveSession(t.Context(), c); err != nil {
			t.Error(err)
		}
	}
	leave(ada)
	leave(ada)
	select {
	case <-h.Ending():
		t.Fatal("the end has begun with the first player")
	default:
	}
	leave(bob)
	receive(t, "the end", h.Ending())
	h.ends()
}

// TestLastPlayerLeavesBesideOneWhoIsRefused ends the process when that is settled.
func TestLastPlayerLeavesBesideOneWhoIsRefused(t *testing.T) {
	h := newHost(t, newService(t), nil).active()
	ada := h.joins(1)
	ctx, cancel := context.WithCancel(t.Context())
	h.s.set(func() { h.s.events = nil })
	result := h.joining(ctx, 2)
	if err := h.HandlePlayerLeaveSession(t.Context(), ada); err != nil {
		t.Error(err)
	}
	select {
	case <-h.Ending():
		t.Fatal("the end has begun while somebody is on the way in")
	default:
	}
	cancel()
	if err := receive(t, "the verdict", result); err == nil {
		t.Error("let in")
	}
	h.ends()
}

func TestKeepWhenEmpty(t *testing.T) {
	h := newHost(t, newService(t), keeping).active()
	if err := h.HandlePlayerLeaveSession(t.Context(), h.joins(1)); err != nil {
		t.Error(err)
	}
	h.joins(2)
}

// TestDrain gives back who is still in: eight at a time, and before the goodbye.
func TestDrain(t *testing.T) {
	const players = 30
	h := newHost(t, newService(t), nil).active()
	for n := range players {
		h.joins(n)
	}
	h.HandleDestroySession()
	h.ends()
	if n := h.s.happened("RemovePlayerSession"); n != players {
		t.Errorf("%d of %d player sessions were given back", n, players)
	}
	h.s.set(func() {
		if last := h.s.events[len(h.s.events)-1]; last != "TerminateServerProcess" {
			t.Errorf("the last thing was %s", last)
		}
	})
}

// TestDrainHasALimit says goodbye, though giving back has no answers.
func TestDrainHasALimit(t *testing.T) {
	h := newHost(t, newService(t), nil)
	h.active()
	for n := range 20 {
		h.joins(n)
	}
	h.s.set(func() { h.s.mute["RemovePlayerSession"] = true })
	h.HandleDestroySession()
	h.s.await("eight questions", func() bool { return h.s.requests["RemovePlayerSession"] == 8 })
	h.passes(drainDefault)
	h.ends()
	if h.Err() != nil || h.s.happened("TerminateServerProcess") != 1 {
		t.Errorf("ended with %v", h.Err())
	}
}

const drainDefault = 10 * time.Second

// TestFailedRemoval tells the caller and does not keep the place.
func TestFailedRemoval(t *testing.T) {
	h := newHost(t, newService(t), nil).active()
	h.joins(1)
	h.s.set(func() {
		h.s.replies["RemovePlayerSession"] = `"StatusCode":500,"ErrorMessage":"InternalServiceException: no"`
	})
	err := h.HandlePlayerLeaveSession(t.Context(), player(1))
	const want = "HandlePlayerLeaveSession: 500 InternalServiceException: no"
	if err == nil || err.Error() != want {
		t.Errorf("leaving: %v, want %s", err, want)
	}
	h.ends()
}
