package fleet

import (
	"encoding/hex"
	"testing"
	"time"
	"unsafe"

	"github.com/muster-gg/muster/internal/event"
)

// TestTimes: the records keep when something happened, also when all was replayed.
func TestTimes(t *testing.T) {
	w := newWorld(t)
	w.active("game", key("a"))
	ids := w.reserve("game", "ada", "bob", "cid")
	w.do(AcceptPlayer{key("a"), "game", ids[0]}) // in the same millisecond
	w.wait(1234 * time.Millisecond)
	w.do(AcceptPlayer{key("a"), "game", ids[1]})
	w.do(AcceptPlayer{key("a"), "game", ids[1]}) // repeated: nothing changes
	w.wait(time.Minute)
	w.do(RemovePlayer{key("a"), "game", ids[1]})
	w.do(BackfillGameSession{GameSession: "game", Match: "m",
		Players: []NewPlayer{{PlayerID: "dan", Random: w.random()}}})
	filled := w.now
	w.wait(time.Second)
	w.do(TerminateGameSession{ID: "game"})
	asked := w.now
	w.wait(time.Second)
	w.do(EndProcess{key("a")})
	for name, r := range map[string]*Room{"the room": w.room, "replayed": w.replay()} {
		g, ok := r.GameSession("game")
		if !ok {
			t.Fatalf("%s: no game session", name)
		}
		if g.TerminatingSince != asked || g.FilledAt != filled {
			t.Errorf("%s: terminating since %d, filled at %d", name, g.TerminatingSince, g.FilledAt)
		}
		for i, want := range []event.Time{start, start + 1234, 0} {
			if p, ok := g.PlayerSession(ids[i]); !ok || p.Accepted() != want {
				t.Errorf("%s: player %d was accepted at %d, want %d", name, i, p.Accepted(), want)
			}
		}
	}
}

func TestAccepted(t *testing.T) {
	for name, c := range map[string]struct{ created, at, want event.Time }{
		"at once":             {start, start, start},
		"later":               {start, start + 59_999, start + 59_999},
		"clock set back":      {start, start - 5, start},
		"by an earlier event": {start, 0, 0},
		"after 60 days":       {start, start.Add(60 * 24 * time.Hour), start + 1<<32 - 2},
	} {
		p := PlayerSession{Created: c.created}
		if p.accept(c.at); p.Accepted() != c.want {
			t.Errorf("%s: %d, want %d", name, p.Accepted(), c.want)
		}
	}
}

// TestEarlierFormat reads what releases without the times have written.
func TestEarlierFormat(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want func(body any) bool
	}{
		"PlayerAccepted": {"83187807a201020203", func(body any) bool {
			e, ok := body.(*PlayerAccepted)
			return ok && *e == PlayerAccepted{Session: 2, Index: 3}
		}},
		"MorePlayers": {"83189b07a201020281" +
			"a80150030007000000802a810000000000000602070366746578742d380466746578742d390567746578742d3130" +
			"061b0000019ca94534f8071b0000019ca94538e0081b0000019ca9453cc8", func(body any) bool {
			m, ok := body.(*MorePlayers)
			p := m.CurrentPlayers[0]
			return ok && p.Index == 7 && p.PlayerID == "text-8" && p.Ended == 1772366413000 && p.Accepted() == 0
		}},
	} {
		data, err := hex.DecodeString(c.data)
		if err != nil {
			t.Fatal(err)
		}
		if f, _, err := types.Next(data); err != nil || !c.want(f.Body) {
			t.Errorf("%s: %+v, %v", name, f.Body, err)
		}
	}
}

// TestSizes: there are a million player sessions. 96 is a size of the allocator, the next one is 112.
func TestSizes(t *testing.T) {
	if size := unsafe.Sizeof(PlayerSession{}); size > 96 {
		t.Errorf("a player session has %d bytes", size)
	}
}
