package control

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// owned creates a game session that has to be handed over within 20 s.
func (w *world) owned(fleet string) string {
	w.t.Helper()
	g, err := w.CreateGameSessionFor(w.ctx, &wire.CreateGameSessionInput{
		FleetId: fleet, Location: "custom-a", MaximumPlayerSessionCount: wire.Some[int32](2),
	}, w.clock.Now().Add(20*time.Second), false)
	if err != nil {
		w.t.Fatal(err)
	}
	return g.GameSessionId
}

func (w *world) activateOn(s *socket, gameSession string) {
	w.t.Helper()
	if start, ok := s.next().(processes.CreateGameSessionPush); !ok || start.GameSessionID != gameSession {
		w.t.Fatalf("the process was not asked to start %s", gameSession)
	}
	s.ok(s.activate(gameSession))
}

// A gateway that is killed leaves nothing behind, across a restart of the service.
func TestGameSessionsThatAreNotHandedOverEnd(t *testing.T) {
	w := newWorld(t)
	fleet, sockets := w.host(2)
	known, unknown := w.owned(fleet), w.owned(fleet)
	for _, s := range sockets {
		start := s.next().(processes.CreateGameSessionPush)
		s.ok(s.activate(start.GameSessionID))
	}
	if err := w.ConfirmGameSession(w.ctx, known); err != nil {
		t.Fatal(err)
	}
	if err := w.ConfirmGameSession(w.ctx, "no ARN at all"); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("no ARN: %v", err)
	}
	w.restart()
	for _, s := range sockets {
		w.mustDial(s.connect)
	}
	w.advance("the end of the one that nobody knows of", time.Second,
		func() bool { return w.status(unknown) == "TERMINATING" })
	if got := w.status(known); got != "ACTIVE" {
		t.Errorf("the one that was handed over is %s", got)
	}
}

func TestAwaitGameSession(t *testing.T) {
	w := newWorld(t)
	fleet, sockets := w.host(1)
	id := w.owned(fleet)
	arrived := make(chan *wire.GameSession, 1)
	go func() {
		g, err := w.AwaitGameSession(w.ctx, id)
		if err != nil {
			t.Error(err)
		}
		arrived <- g
	}()
	w.await("somebody who watches", w.watches.Any)
	w.activateOn(sockets[0], id)
	if g := <-arrived; g == nil || g.Status != wire.GameSessionStatusActive {
		t.Fatalf("got %+v", g)
	}
	w.await("nobody who watches", func() bool { return !w.watches.Any() })

	if g, err := w.AwaitGameSession(w.ctx, id); err != nil || g.Status != wire.GameSessionStatusActive {
		t.Errorf("one that is ACTIVE already: %+v, %v", g, err)
	}
	if _, err := w.AwaitGameSession(w.ctx, id+"x"); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown one: %v", err)
	}
}

// A watch sees the last state of everything that changes, and ends with the game
// session, with its context and with its own wish.
func TestWatchGameSession(t *testing.T) {
	w := newWorld(t)
	fleet, sockets := w.host(1)
	id := w.owned(fleet)
	seen := make(chan wire.GameSession)
	ended := make(chan error, 1)
	go func() {
		ended <- w.WatchGameSession(w.ctx, id, func(g *wire.GameSession) error {
			seen <- *g
			return nil
		})
	}()
	until := func(what string, ok func(wire.GameSession) bool) {
		t.Helper()
		for {
			select {
			case g := <-seen:
				if ok(g) {
					return
				}
			case <-w.ctx.Done():
				t.Fatal("did not see", what)
			}
		}
	}
	until("ACTIVATING", func(g wire.GameSession) bool { return g.Status == wire.GameSessionStatusActivating })
	w.activateOn(sockets[0], id)
	until("ACTIVE", func(g wire.GameSession) bool { return g.Status == wire.GameSessionStatusActive })
	w.must("CreatePlayerSession", object{"GameSessionId": id, "PlayerId": "ada"})
	until("a player", func(g wire.GameSession) bool { return g.CurrentPlayerSessionCount.Or(0) == 1 })
	w.must("UpdateGameSession", object{"GameSessionId": id, "Name": "renamed"})
	until("the new name", func(g wire.GameSession) bool { return g.Name == "renamed" })
	go func() {
		if err := sockets[0].end(); err != nil {
			t.Error(err)
		}
	}()
	until("TERMINATED", func(g wire.GameSession) bool { return g.Status == wire.GameSessionStatusTerminated })
	if err := <-ended; err != nil {
		t.Error(err)
	}

	enough := errors.New("enough")
	if err := w.WatchGameSession(w.ctx, id, func(*wire.GameSession) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
	other := w.process(fleet, "c1", w.token(fleet, "c1"), "later")
	id = w.owned(fleet)
	w.activateOn(other, id)
	ctx, cancel := context.WithCancel(w.ctx)
	err := w.WatchGameSession(ctx, id, func(*wire.GameSession) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestClaimGameSession(t *testing.T) {
	w := newWorld(t)
	fleet, sockets := w.host(2)
	claim := Claim{FleetID: fleet, Name: "again", Maximum: 3, PlayerID: "ada",
		Properties: []wire.GameProperty{{Key: "map", Value: "harbour"}}}
	if _, _, err := w.ClaimGameSession(w.ctx, claim); !fault.Is(err, fault.NotFound) {
		t.Fatalf("with no game session: %v", err)
	}
	id := w.active(fleet, nil, sockets...)
	g, player, err := w.ClaimGameSession(w.ctx, claim)
	if err != nil {
		t.Fatal(err)
	}
	if g.GameSessionId != id || g.Name != "again" || g.MaximumPlayerSessionCount.Or(0) != 3 ||
		g.CurrentPlayerSessionCount.Or(0) != 1 || len(g.GameProperties) != 1 {
		t.Errorf("the game session is %+v", g)
	}
	described := w.must("DescribePlayerSessions", object{"PlayerSessionId": player.PlayerSessionId})
	if player.PlayerId != "ada" || player.Status != wire.PlayerSessionStatusReserved ||
		text(described, "PlayerSessions", 0, "GameSessionId") != id {
		t.Errorf("the player session is %+v, described as %v", player, described)
	}
	if _, _, err := w.ClaimGameSession(w.ctx, claim); !fault.Is(err, fault.NotFound) {
		t.Errorf("claimed twice: %v", err)
	}
	for _, maximum := range []int32{0, 201} {
		claim.Maximum = maximum
		if _, _, err := w.ClaimGameSession(w.ctx, claim); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("a maximum of %d: %v", maximum, err)
		}
	}
}

func TestIdleProcesses(t *testing.T) {
	w := newWorld(t)
	if _, err := w.DefaultFleet(w.ctx); !fault.Is(err, fault.NotFound) {
		t.Errorf("without a fleet: %v", err)
	}
	fleet := w.fleetAt("custom-a", "custom-b")
	token := w.compute(fleet, "custom-b", "c1")
	w.process(fleet, "c1", token, "p1")
	w.process(fleet, "c1", token, "p2")
	w.must("CreateGameSession", object{"FleetId": fleet, "Location": "custom-b", "MaximumPlayerSessionCount": 2})
	idle, err := w.IdleProcesses(w.ctx, fleet, "")
	if err != nil || len(idle) != 2 || idle["custom-a"] != 0 || idle["custom-b"] != 1 {
		t.Errorf("got %v, %v", idle, err)
	}
}

// TestDefaultFleet prefers the oldest fleet with server processes, in use or not, to an older one without.
func TestDefaultFleet(t *testing.T) {
	w := newWorld(t)
	want := func(fleet string) {
		t.Helper()
		if got, err := w.DefaultFleet(w.ctx); err != nil || got != fleet {
			t.Errorf("the default fleet is %s, %v; want %s", got, err, fleet)
		}
	}
	var fleets []string
	for range 3 {
		fleets = append(fleets, w.fleetAt("custom-a"))
		w.elapse(time.Second)
	}
	want(fleets[0])
	for _, fleet := range []string{fleets[2], fleets[1], fleets[0]} {
		w.process(fleet, "c", w.compute(fleet, "custom-a", "c"), "p")
		want(fleet)
	}
	w.must("CreateGameSession", object{"FleetId": fleets[0], "Location": "custom-a", "MaximumPlayerSessionCount": 2})
	want(fleets[0])
}

func TestReservedPlayerSessions(t *testing.T) {
	w := newWorld(t)
	fleet, sockets := w.host(2)
	var held []string
	for range 2 {
		id := w.active(fleet, nil, sockets...)
		out := w.must("CreatePlayerSession", object{"GameSessionId": id, "PlayerId": "ada"})
		held = append(held, text(out, "PlayerSession", "PlayerSessionId"))
		w.must("CreatePlayerSession", object{"GameSessionId": id, "PlayerId": "bob"})
		sockets = sockets[1:]
	}
	reserved, err := w.ReservedPlayerSessions(w.ctx, "ada")
	if err != nil || len(reserved) != 2 || reserved[0].PlayerSessionId != held[0] ||
		reserved[1].PlayerSessionId != held[1] {
		t.Errorf("got %+v, %v", reserved, err)
	}
	w.advance("the end of the reservations", time.Second, func() bool {
		reserved, err = w.ReservedPlayerSessions(w.ctx, "ada")
		return err != nil || len(reserved) == 0
	})
	if err != nil {
		t.Error(err)
	}
}
