package fleet

import (
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// placed is a command that creates a game session for two players.
func placed(id string) CreateGameSession {
	c := creation(id)
	c.Maximum, c.Placement, c.Attempt = 2, "place-1", 1
	c.Desired = []NewPlayer{{PlayerID: "p1", Data: "red", Random: [8]byte{1}}, {PlayerID: "p2", Random: [8]byte{2}}}
	return c
}

func activating(w *world) { idle(w); w.do(placed("game")) }

func placedActive(w *world) { activating(w); w.do(ActivateGameSession{key("a"), "game"}) }

// TestDesiredPlayers have their places from the moment in which the game session is
// ACTIVE, and not before, and for as long as any reservation.
func TestDesiredPlayers(t *testing.T) {
	w := newWorld(t)
	activating(w)
	g, _ := w.room.GameSession("game")
	if g.Players() != 0 || len(g.Desired) != 2 || g.Placement != "place-1" || g.Activated != 0 {
		t.Fatalf("before the activation: %+v", g)
	}
	w.wait(time.Second)
	w.do(ActivateGameSession{key("a"), "game"})
	g, _ = w.room.GameSession("game")
	if g.Status != Active || g.Activated != w.now || g.Desired != nil || len(g.CurrentPlayers) != 2 {
		t.Fatalf("after the activation: %+v", g)
	}
	for i, p := range g.CurrentPlayers {
		if want := []string{"p1", "p2"}[i]; p.PlayerID != want || p.Status != Reserved ||
			p.Expires != w.now.Add(w.room.settings.Reservation) {
			t.Errorf("player %d: %+v", i, p)
		}
	}
	found := 0
	w.room.PlayerSessionsOf("p2", func(*GameSession, *PlayerSession) bool { found++; return true })
	if found != 1 {
		t.Errorf("p2 is found %d times", found)
	}
}

func TestTooManyDesired(t *testing.T) {
	tooMany := placed("game")
	tooMany.Maximum = 1
	runCases(t, []commandCase{
		{"more players than places", idle, when(tooMany), "", fault.InvalidRequest,
			"for 2 players, and MaximumPlayerSessionCount is 1"},
	})
}

func TestBackfillGameSession(t *testing.T) {
	fill := func(match string, players ...string) func(*world) Command {
		c := BackfillGameSession{GameSession: "game", Match: match, MatchmakerData: "{}"}
		for i, p := range players {
			c.Players = append(c.Players, NewPlayer{PlayerID: p, Random: [8]byte{9, byte(i)}})
		}
		return when(c)
	}
	left := func(w *world) {
		placedActive(w)
		g, _ := w.room.GameSession("game")
		w.do(RemovePlayer{key("a"), "game", g.CurrentPlayers[0].ID})
	}
	closed := func(w *world) { left(w); w.do(SetPolicy{key("a"), "game", DenyAll}) }
	const gone = "The game session game was not found, or was in a state which wouldn't accept new player sessions."
	runCases(t, []commandCase{
		{"of a game session that is not there", idle, fill("m", "p3"), "", fault.NotFound, gone},
		{"while it is activating", activating, fill("m", "p3"), "", fault.NotFound, gone},
		{"when it is full", placedActive, fill("m", "p3"), "", fault.NotFound, gone},
		{"when it lets nobody in", closed, fill("m", "p3"), "", fault.NotFound, gone},
		{"with a free place", left, fill("m", "p3"), "GameSessionBackfilled", "", ""},
		{"the same again", func(w *world) { left(w); w.do(fill("m", "p3")(w)) }, fill("m", "p3"), "", "", ""},
		{"another, when that has filled it", func(w *world) { left(w); w.do(fill("m", "p3")(w)) }, fill("m2", "p4"), "",
			fault.NotFound, gone},
	})
	w := newWorld(t)
	left(w)
	for range 2 { // the repetition has the same answer
		r := w.do(fill("m", "p3")(w)).(Reservation)
		if len(r.Players) != 1 || r.Players[0].PlayerID != "p3" || r.Players[0].Status != Reserved ||
			r.GameSession.MatchmakerData != "{}" {
			t.Errorf("got %+v", r)
		}
	}
}

func TestFreeFor(t *testing.T) {
	w := newWorld(t)
	idle(w)
	w.ready(key("b"))
	w.ready(key("c"))
	for limit, want := range map[int]int{0: 0, 2: 2, 10: 3} {
		if got := w.room.FreeFor(limit); got != want {
			t.Errorf("with %d activations: %d, want %d", limit, got, want)
		}
	}
	w.do(placed("game"))
	if got := w.room.FreeFor(2); got != 1 {
		t.Errorf("beside one that activates: %d, want 1", got)
	}
}
