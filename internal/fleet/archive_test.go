package fleet

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
)

// hub is a game session for many players on one process.
func hub(w *world, maximum int32) *GameSession {
	w.compute("host-1")
	w.ready(key("a"))
	c := creation("hub")
	c.Maximum = maximum
	w.do(c)
	return w.do(ActivateGameSession{key("a"), "hub"}).(*GameSession)
}

func TestForgetPlayers(t *testing.T) {
	left := func(w *world) {
		w.settings.HealthInterval = time.Hour // the process says nothing
		playing(w)
		for _, id := range w.reserve("game", "ada", "bob") {
			w.do(RemovePlayer{key("a"), "game", id})
		}
		w.reserve("game", "cid")
		w.wait(RepeatedWithin + time.Second)
	}
	forget := func(through uint32) func(*world) Command { return when(ForgetPlayers{1, through}) }
	runCases(t, []commandCase{
		{"none", left, forget(0), "", "", ""},
		{"of an unknown game session", left, when(ForgetPlayers{2, 1}), "", "", ""},
		{"the first", left, forget(1), "PlayersForgotten", "", ""},
		{"all who have left", left, forget(2), "PlayersForgotten", "", ""},
		{"again", func(w *world) { left(w); w.do(ForgetPlayers{1, 2}) }, forget(2), "", "", ""},
		{"more than have left", left, forget(9), "PlayersForgotten", "", ""},
		{"who have just left", func(w *world) {
			playing(w)
			w.do(RemovePlayer{key("a"), "game", w.reserve("game", "ada")[0]})
		}, forget(1), "", "", ""},
		{"while nobody has left", playing, forget(1), "", "", ""},
		{"of a game session that is over", func(w *world) { players(w); w.do(EndProcess{key("a")}) }, forget(3),
			"PlayersForgotten", "", ""},
	})
}

// TestForgottenPlayersAreGone and nothing else changes: counts, free places, the numbers
// that later players get.
func TestForgottenPlayersAreGone(t *testing.T) {
	w := newWorld(t)
	w.settings.HealthInterval = time.Hour // the process says nothing
	playing(w)
	ids := w.reserve("game", "ada", "bob", "cid")
	w.do(AcceptPlayer{key("a"), "game", ids[1]})
	w.do(RemovePlayer{key("a"), "game", ids[2]})
	w.do(RemovePlayer{key("a"), "game", ids[0]})
	w.wait(RepeatedWithin + time.Second)
	counts := w.room.Counts()
	w.do(ForgetPlayers{1, 1}) // cid was the first to leave
	g := w.session("game")
	if len(g.PastPlayers) != 1 || g.PastPlayers[0].PlayerID != "ada" || g.Archived != 1 || g.Players() != 1 ||
		g.Free() != 2 || w.room.Counts() != counts {
		t.Fatalf("left are %+v and %+v", *g, w.room.Counts())
	}
	w.do(ForgetPlayers{1, 2})
	dot := w.reserve("game", "dot")[0]
	if p, ok := g.PlayerSession(ids[0]); !ok || p.Status != Completed {
		t.Error("a record that was given out has changed")
	}
	if p, ok := w.session("game").PlayerSession(dot); !ok || p.Index != 3 {
		t.Errorf("the next player is %+v", p)
	}
	for player, want := range map[string]int{"ada": 0, "bob": 1, "cid": 0, "dot": 1} {
		n := 0
		w.room.PlayerSessionsOf(player, func(*GameSession, *PlayerSession) bool { n++; return true })
		if n != want {
			t.Errorf("%s has %d player sessions in memory, want %d", player, n, want)
		}
	}
	if !bytes.Equal(snapshotOf(t, w.replay()), snapshotOf(t, w.room)) {
		t.Error("the replayed room differs from the live one")
	}
}

func TestExcess(t *testing.T) {
	gone := func(n, bytes int) (all []*PlayerSession) {
		for i := range n {
			all = append(all, &PlayerSession{Index: uint32(i), Data: string(make([]byte, bytes)),
				Ended: event.Time(1000 + i)})
		}
		return all
	}
	for name, c := range map[string]struct {
		players, bytes int
		before         event.Time
		want           int
	}{
		"nobody":                   {0, 0, 5000, 0},
		"as many as are kept":      {keptPlayers, 0, 5000, 0},
		"one more":                 {keptPlayers + 1, 0, 5000, 1},
		"more, of whom some ended": {keptPlayers + 100, 0, 1030, 30},
		"more, and none is due":    {keptPlayers + 100, 0, 1000, 0},
		"few with much":            {10, keptBytes / 4, 5000, 7},
		"one with too much":        {1, keptBytes + 1, 5000, 1},
	} {
		g := &GameSession{PastPlayers: gone(c.players, c.bytes)}
		if got := g.Excess(c.before); len(got) != c.want || c.want > 0 && got[0] != g.PastPlayers[0] {
			t.Errorf("%s: %d, want %d", name, len(got), c.want)
		}
	}
}

// TestRecordsOfAFullGameSession: no record of a snapshot grows with the players of a game
// session, and what they say is the same.
func TestRecordsOfAFullGameSession(t *testing.T) {
	for name, end := range map[string]bool{"living": false, "over": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			hub(w, 1<<30)
			data := string(make([]byte, 2000))
			for i := range 5 * recordPlayers / 2 {
				c := ReservePlayers{GameSession: "hub",
					Players: []NewPlayer{{fmt.Sprint("player-", i%100), data, w.random()},
						{fmt.Sprint("guest-", i), "", w.random()}}}
				players := w.bench(c).(Reservation).Players
				w.bench(RemovePlayer{key("a"), "hub", players[0].ID})
				w.bench(AcceptPlayer{key("a"), "hub", players[1].ID})
			}
			if end {
				w.bench(EndProcess{key("a")})
				w.bench(DeregisterCompute{"host-1"})
			}
			largest := 0
			_ = w.room.Snapshot(func(record any) error {
				var buf bytes.Buffer
				err := types.Append(&buf, event.Fact{Room: 7, Body: record})
				largest = max(largest, buf.Len())
				return err
			})
			if largest > recordPlayers*2200 {
				t.Errorf("a record of the snapshot has %d bytes", largest)
			}
			state := snapshotOf(t, w.room)
			again := restored(t, &w.settings, w.room.id, w.room.address, state)
			if err := check(again); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(snapshotOf(t, again), state) {
				t.Error("the restored room differs")
			}
			if g, _ := again.session("hub"); len(g.PlayerSessions()) != 5*recordPlayers {
				t.Errorf("%d player sessions are restored", len(g.PlayerSessions()))
			}
		})
	}
	r := newWorld(t).room
	if err := r.Restore(&MorePlayers{Session: 1}); err == nil {
		t.Error("players without their game session are restored")
	}
}

// TestSnapshotOfOneRecord: releases before wrote a game session with all its players as one
// record.
func TestSnapshotOfOneRecord(t *testing.T) {
	w := newWorld(t)
	g := hub(w, 1<<30)
	for i := range recordPlayers {
		id := w.bench(ReservePlayers{GameSession: "hub",
			Players: []NewPlayer{{fmt.Sprint("player-", i), "", w.random()},
				{"guest", "", w.random()}}}).(Reservation).Players[0].ID
		w.bench(RemovePlayer{g.Host, "hub", id})
	}
	var old bytes.Buffer
	for _, f := range eventtest.Facts(t, types, snapshotOf(t, w.room)) {
		switch body := f.Body.(type) {
		case *MorePlayers:
			continue
		case *GameSession:
			all := w.session("hub")
			body.CurrentPlayers, body.PastPlayers = all.CurrentPlayers, all.PastPlayers
		}
		if err := types.Append(&old, f); err != nil {
			t.Fatal(err)
		}
	}
	again := restored(t, &w.settings, w.room.id, w.room.address, old.Bytes())
	if err := check(again); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(snapshotOf(t, again), snapshotOf(t, w.room)) {
		t.Error("the restored room differs")
	}
}

// TestMillionJoins: one game session that goes on all the time, and a million players who
// come and leave, or never come. What it takes in memory does not grow with them.
func TestMillionJoins(t *testing.T) {
	t.Parallel()
	const (
		joins   = 1_000_000
		atATime = 25
		present = 8 // batches of players in the game session
	)
	w := newWorld(t)
	w.settings.Reservation = 20 * time.Second
	g := hub(w, 1000)
	largest, archived := 0, uint32(0)
	var batches [][]*PlayerSession
	for n := 0; n < joins; n += atATime {
		w.now = w.now.Add(2 * time.Second)
		if at := w.room.Deadline(); at != 0 && at <= w.now {
			w.room.Expire(w.now)
		}
		c := ReservePlayers{GameSession: "hub"}
		for i := range atATime {
			c.Players = append(c.Players, NewPlayer{fmt.Sprint("player-", (n+i)%77_777), "skin=red", w.random()})
		}
		players := w.bench(c).(Reservation).Players
		for _, p := range players[:2] { // the others never come
			w.bench(AcceptPlayer{g.Host, "hub", p.ID})
		}
		if batches = append(batches, players); len(batches) > present {
			for _, p := range batches[0][:2] {
				w.bench(RemovePlayer{g.Host, "hub", p.ID})
			}
			batches = slices.Delete(batches, 0, 1)
		}
		w.bench(ReportHealth{g.Host, true})
		if n%10_000 == 0 {
			w.room.WithExcess(func(g *GameSession) bool {
				archived += uint32(len(g.Excess(w.now.Add(-RepeatedWithin))))
				w.bench(ForgetPlayers{g.Ordinal, archived})
				return true
			})
		}
		if n%50_000 == 0 {
			largest = max(largest, len(snapshotOf(t, w.room)))
		}
	}
	if err := check(w.room); err != nil {
		t.Error(err)
	}
	now := w.session("hub")
	if inMemory := len(now.PastPlayers) + len(now.CurrentPlayers); now.Archived != archived ||
		int(archived)+inMemory != joins || inMemory > 20_000 {
		t.Errorf("%d player sessions are in memory, %d of %d in the history", inMemory, now.Archived, joins)
	}
	if largest > 1<<20 || w.room.byPlayer.entries > 40_000 {
		t.Errorf("the largest snapshot has %d bytes, the index of players %d entries", largest, w.room.byPlayer.entries)
	}
	t.Logf("the largest snapshot has %d bytes, the index of players %d entries", largest, w.room.byPlayer.entries)
}
