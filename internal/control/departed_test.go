package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control/drivers"
	"github.com/muster-gg/muster/internal/control/history"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// places is how many players a hub holds at a time.
const places = 200

// A hub is a game session that many players come to.
type hub struct {
	*world
	fleet, id string
	socket    *socket
	joined    []string // all player sessions, in the order of their creation
	players   []string // their players
	inside    []string // the player sessions that are not over
}

func newHub(t *testing.T, options ...option) *hub {
	// Its process says nothing.
	options = append(options, withFleet(func(f *fleet.Settings) { f.HealthInterval = 1000 * time.Hour }))
	h := &hub{world: newWorld(t, options...)}
	var cancel context.CancelFunc
	h.ctx, cancel = context.WithTimeout(context.Background(), 5*time.Minute) // thousands of calls take their time
	t.Cleanup(cancel)
	f, sockets := h.host(1)
	h.fleet, h.socket = f, sockets[0]
	h.id = h.active(f, object{"MaximumPlayerSessionCount": places}, h.socket)
	return h
}

// join lets players come, each with so many characters of data, of four bytes.
func (h *hub) join(n, data int) {
	h.t.Helper()
	for n > 0 {
		var ids []string
		of := map[string]string{}
		for range min(n, 25) {
			id := fmt.Sprint("player-", len(h.players))
			h.players, ids = append(h.players, id), append(ids, id)
			if data > 0 {
				of[id] = strings.Repeat("😀", data)
			}
		}
		out := h.must("CreatePlayerSessions", object{"GameSessionId": h.id, "PlayerIds": ids, "PlayerDataMap": of})
		made := texts(out["PlayerSessions"], "PlayerSessionId")
		h.joined, h.inside = append(h.joined, made...), append(h.inside, made...)
		n -= len(ids)
	}
}

// leave lets the players at the given places among those who are inside leave.
func (h *hub) leave(places ...int) {
	h.t.Helper()
	slices.Sort(places)
	for _, i := range slices.Backward(places) {
		h.socket.ok(h.socket.remove(h.id, h.inside[i]))
		h.inside = slices.Delete(h.inside, i, i+1)
	}
}

// visit lets players come and leave again, as many at a time as there are places.
func (h *hub) visit(n, data int) {
	h.t.Helper()
	for ; n > 0; n -= places {
		h.join(min(n, places), data)
		var left sync.WaitGroup
		for _, id := range h.inside {
			left.Add(1)
			h.socket.RemovePlayerSession(h.id, id, func(err error) {
				if err != nil {
					h.t.Error(err)
				}
				left.Done()
			})
		}
		left.Wait()
		h.inside = nil
	}
}

// inMemory is the game session in memory.
func (h *hub) inMemory() (g *fleet.GameSession) {
	h.t.Helper()
	room, id, err := h.ParseGameSession(h.id)
	if err == nil {
		_, err = h.read(h.ctx, room, func(r *fleet.Room) { g, _ = r.GameSession(id) })
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return g
}

// drained waits until no more than those that a game session keeps are in memory of the
// players who have left.
func (h *hub) drained() {
	h.t.Helper()
	h.elapse(max(h.config.SessionRetention, fleet.RepeatedWithin))
	h.advance("the move of player sessions into the history", drivers.TidyEvery,
		func() bool { return len(h.inMemory().Excess(math.MaxInt64)) == 0 })
}

// listed are all player sessions of the game session, page by page.
func (h *hub) listed(more object) []string {
	h.t.Helper()
	in := object{"GameSessionId": h.id}
	for k, v := range more {
		in[k] = v
	}
	return slices.Concat(h.pagesOf("DescribePlayerSessions", "PlayerSessions", "PlayerSessionId", in)...)
}

// allAreFound asks for the player sessions in every way there is.
func (h *hub) allAreFound(limits ...int) {
	h.t.Helper()
	for _, limit := range limits {
		if got := h.listed(object{"Limit": limit}); !sameSet(got, h.joined) {
			h.t.Errorf("in pages of %d the game session has %d player sessions, want each of %d once", limit, len(got),
				len(h.joined))
		}
	}
	active := h.listed(object{"PlayerSessionStatusFilter": "RESERVED"})
	if !slices.Equal(active, h.inside) {
		h.t.Errorf("%d player sessions are RESERVED, want %d", len(active), len(h.inside))
	}
	got := append(h.listed(object{"PlayerSessionStatusFilter": "COMPLETED"}),
		h.listed(object{"PlayerSessionStatusFilter": "TIMEDOUT"})...)
	if !sameSet(append(got, active...), h.joined) {
		h.t.Errorf("%d player sessions are COMPLETED or TIMEDOUT, and %d RESERVED", len(got), len(active))
	}
	for i := 0; i < len(h.joined); i += 1 + len(h.joined)/50 {
		for _, in := range []object{{"PlayerSessionId": h.joined[i]}, {"PlayerId": h.players[i]}} {
			got := texts(h.must("DescribePlayerSessions", in)["PlayerSessions"], "PlayerSessionId")
			if !slices.Equal(got, h.joined[i:i+1]) {
				h.t.Errorf("%v finds %v, want %s", in, got, h.joined[i])
			}
		}
	}
	unknown := h.joined[0][:len(h.joined[0])-4] + "0000"
	h.refused(fault.NotFound, "DescribePlayerSessions", object{"PlayerSessionId": unknown})
}

// TestLargeGameSessionLeavesMemory: a game session whose player sessions are larger than an
// entry of the history leaves memory all the same, and keeps no other one there.
func TestLargeGameSessionLeavesMemory(t *testing.T) {
	h := newHub(t)
	h.visit(600, 2000)
	token := h.token(h.fleet, "c1")
	small := h.process(h.fleet, "c1", token, "small")
	other := h.active(h.fleet, nil, small)
	h.socket.ok(h.socket.end())
	h.elapse(time.Second)
	small.ok(small.end())
	h.archived(other)
	h.archived(h.id)
	h.allAreFound(1000, 333)
	if h.status(other) != "TERMINATED" {
		t.Error("the other game session is not in the history")
	}
}

// TestPlayersLeaveMemoryBeforeTheirGameSession and are found as before: during it, after a restart, and after its end.
func TestPlayersLeaveMemoryBeforeTheirGameSession(t *testing.T) {
	h := newHub(t)
	h.visit(500, 100)
	h.join(200, 0)
	h.leave(3, 50, 199)
	h.elapse(2 * time.Minute) // none of the others ever comes
	h.inside = nil
	h.join(60, 0)
	h.leave(0, 7, 59)
	h.drained()
	h.inside = nil
	h.join(20, 0)
	g := h.inMemory()
	if len(g.PastPlayers) != 256 || g.Archived != 760-256 || g.Players() != 20 {
		t.Fatalf("%d player sessions have ended in memory and %d in the history, %d have not", len(g.PastPlayers),
			g.Archived, g.Players())
	}
	count := func() any {
		return at(h.must("DescribeGameSessions", object{"GameSessionId": h.id}), "GameSessions", 0,
			"CurrentPlayerSessionCount")
	}
	if count() != 20.0 {
		t.Errorf("the game session has %v players", count())
	}
	h.allAreFound(1000, 97, 40)
	inside := slices.Clone(h.inside)
	h.restart()
	h.allAreFound(300)
	h.elapse(2 * time.Minute)
	h.inside = nil
	h.must("DeregisterCompute", object{"FleetId": h.fleet, "ComputeName": "c1"})
	h.allAreFound(300)
	h.archived(h.id)
	h.allAreFound(1000, 97, 40)
	last := h.listed(nil)
	// Those whom a game session keeps are in the order of their creation.
	if got := last[len(last)-len(inside):]; !slices.Equal(got, inside) {
		t.Errorf("the last ones are %v, want %v", got, inside)
	}
	h.elapse(30*24*time.Hour + time.Hour)
	h.await("the end of the retention", func() bool {
		pages := h.pagesOf("DescribePlayerSessions", "PlayerSessions", "PlayerSessionId",
			object{"PlayerId": h.players[0], "Limit": 1})
		return len(slices.Concat(pages...)) == 0
	})
	h.refused(fault.NotFound, "DescribePlayerSessions", object{"PlayerSessionId": h.joined[0]})
	same(t, h.must("DescribePlayerSessions", object{"PlayerId": h.players[0]}), `{"PlayerSessions":[]}`)
}

// TestPlayersOnTheirWayIntoTheHistory are in both for a while, and are shown once.
func TestPlayersOnTheirWayIntoTheHistory(t *testing.T) {
	h := newHub(t, withMemory(24*time.Hour))
	var again []string // one player, who came twice
	for range 2 {
		id := text(h.must("CreatePlayerSession", object{"GameSessionId": h.id, "PlayerId": "again"}), "PlayerSession",
			"PlayerSessionId")
		again, h.joined, h.players, h.inside = append(again, id), append(h.joined, id), append(h.players, "again"),
			append(h.inside, id)
		h.leave(0)
	}
	h.visit(290, 0)
	h.elapse(fleet.RepeatedWithin + time.Second)
	h.join(10, 0)
	allShown := func() {
		t.Helper()
		for limit := 1; limit <= 3; limit++ {
			pages := h.pagesOf("DescribePlayerSessions", "PlayerSessions", "PlayerSessionId",
				object{"PlayerId": "again", "Limit": limit})
			if got := slices.Concat(pages...); !sameSet(got, again) {
				t.Errorf("in pages of %d %v are shown, want %v", limit, got, again)
			}
		}
		if got := h.listed(object{"Limit": 60}); !sameSet(got, h.joined) {
			t.Errorf("%d player sessions are shown, want %d", len(got), len(h.joined))
		}
	}
	room, _, _ := h.ParseGameSession(h.id)
	g := h.inMemory()
	first, _ := g.PlayerSession(g.PastPlayers[0].ID)
	at, _ := first.ID.Locate()
	h.copyToHistory(history.BatchLevel)
	h.await("the player session in the history", func() bool {
		s, err := h.Plane.history.PlayerSession(h.ctx, &fleet.GameSession{ID: g.ID, Archived: 1}, first.ID)
		if err != nil {
			t.Fatal(err)
		}
		return s != nil
	})
	allShown()
	forget := fleet.ForgetPlayers{Session: g.Ordinal, Through: 1}
	if _, err := h.shards[at.Shard].Do(h.ctx, region.RoomCommand{Room: room, Command: forget}); err != nil {
		t.Fatal(err)
	}
	allShown()
}

// TestEntryOfAnEarlierRelease: releases before wrote a game session with all its player
// sessions as one entry.
func TestEntryOfAnEarlierRelease(t *testing.T) {
	h := newHub(t, withMemory(24*time.Hour))
	h.visit(600, 100)
	h.socket.ok(h.socket.end())
	room, id, _ := h.ParseGameSession(h.id)
	g := h.inMemory()
	at, _ := g.PastPlayers[0].ID.Locate()
	var record bytes.Buffer
	if err := region.Events.Append(&record, event.Fact{Room: uint32(at.Room), Body: g}); err != nil {
		t.Fatal(err)
	}
	subject := fmt.Sprintf("s.%s.%s.%s.%d-%d-%d", room.Fleet, room.Location, id, at.Shard, at.Room, g.Ordinal)
	if _, err := h.history.AppendEntry(h.ctx, subject, record.Bytes()); err != nil {
		t.Fatal(err)
	}
	h.await("the game session in the history", func() bool {
		g, err := h.Plane.history.GameSession(h.ctx, room, id)
		if err != nil {
			t.Fatal(err)
		}
		return g != nil
	})
	forget := fleet.ForgetGameSessions{Ordinals: []uint64{g.Ordinal}}
	if _, err := h.shards[at.Shard].Do(h.ctx, region.RoomCommand{Room: room, Command: forget}); err != nil {
		t.Fatal(err)
	}
	if h.inMemory() != nil {
		t.Fatal("the game session is in memory")
	}
	h.allAreFound(1000, 60)
	h.advance("the move of the entry into a batch", drivers.TidyEvery, func() bool {
		newest, err := h.history.NewestEntry(h.ctx)
		if err != nil {
			t.Fatal(err)
		}
		return newest == 0
	})
	h.allAreFound(1000, 60)
}

// TestPagingWhilePlayersMove: while someone reads page after page, players come, leave and
// move into the history. Who was there at the beginning is shown once.
func TestPagingWhilePlayersMove(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			h := newHub(t, withMemory(time.Minute))
			happen := func() {
				h.join(random.IntN(places-len(h.inside)), 0)
				var leaving []int
				for i := range h.inside {
					if random.IntN(3) == 0 {
						leaving = append(leaving, i)
					}
				}
				h.leave(leaving...)
				h.elapse(time.Duration(random.IntN(90)) * time.Second)
				if random.IntN(2) == 0 {
					h.drained()
				}
				g := h.inMemory()
				h.inside = slices.DeleteFunc(h.inside, func(id string) bool { // too late
					parsed, _ := fleet.ParsePlayerSessionID(id)
					p, ok := g.PlayerSession(parsed)
					return !ok || p.Ended != 0
				})
			}
			for range 2 + random.IntN(4) {
				happen()
			}
			before := slices.Clone(h.joined)
			seen := map[string]int{}
			for in := (object{"GameSessionId": h.id, "Limit": 20 + random.IntN(100)}); ; {
				out := h.must("DescribePlayerSessions", in)
				for _, id := range texts(out["PlayerSessions"], "PlayerSessionId") {
					seen[id]++
				}
				if in["NextToken"] = out["NextToken"]; in["NextToken"] == nil {
					break
				}
				if len(h.joined) < 3000 {
					happen()
				}
			}
			for id, n := range seen {
				if n != 1 {
					t.Errorf("%s is shown %d times", id, n)
				}
			}
			for i, id := range before {
				if seen[id] == 0 {
					t.Fatalf("player session %d of %d is not shown", i, len(before))
				}
			}
		})
	}
}

// snapshotHook is called with the snapshots of all shards.
func snapshotHook(hook func(shard.SnapshotStats)) func(int) shard.Metrics {
	return func(int) shard.Metrics { return shard.Metrics{Snapshot: hook} }
}

// TestHubRunsInBoundedMemory: one game session runs all the time, 50,000 players join and leave, and neither memory nor
// a snapshot grows with them. (A million pass through the machine alone, in package fleet.)
func TestHubRunsInBoundedMemory(t *testing.T) {
	var mu sync.Mutex
	var snapshots []shard.SnapshotStats
	h := newHub(t, withMemory(10*time.Minute), func(w *world) {
		w.config.SnapshotEvery = shard.SnapshotEvery{Records: 500}
		w.config.FinalSnapshot = true
		w.config.Metrics = snapshotHook(func(s shard.SnapshotStats) {
			mu.Lock()
			defer mu.Unlock()
			snapshots = append(snapshots, s)
		})
	})
	for range 250 {
		h.join(places, 50)
		h.elapse(2 * time.Minute) // they have left, or never came
		h.inside = nil
		if len(h.inMemory().PastPlayers) > 3000 {
			h.advance("the move of player sessions into the history", drivers.TidyEvery,
				func() bool { return len(h.inMemory().PastPlayers) < 3000 })
		}
	}
	h.drained()
	h.stop()
	largest := int64(0)
	for _, s := range snapshots {
		largest = max(largest, s.Bytes)
		if s.Err != nil && !errors.Is(s.Err, context.Canceled) {
			t.Errorf("a snapshot of %d bytes was not written: %v", s.Bytes, s.Err)
		}
	}
	if len(snapshots) < 3 || largest > 1<<20 {
		t.Errorf("the largest of %d snapshots has %d bytes", len(snapshots), largest)
	}
	for i, j := range h.journals {
		h.journals[i] = j.Reopen()
	}
	h.start()
	if g := h.inMemory(); len(g.PastPlayers) > 256 || int(g.Archived)+len(g.PastPlayers) != len(h.joined) {
		t.Errorf("%d player sessions are in memory and %d in the history, of %d", len(g.PastPlayers), g.Archived,
			len(h.joined))
	}
}

// TestSnapshotOfALargeGameSession: a snapshot in which one game session has 70 MB of player
// sessions, none of which may leave memory yet, can be written, and read again.
func TestSnapshotOfALargeGameSession(t *testing.T) {
	var mu sync.Mutex
	var failed error
	h := newHub(t, withMemory(24*time.Hour), func(w *world) {
		w.config.FinalSnapshot = true
		w.config.Metrics = snapshotHook(func(s shard.SnapshotStats) {
			mu.Lock()
			defer mu.Unlock()
			if s.Err != nil && !errors.Is(s.Err, context.Canceled) { // one that was given up for the last one
				failed = s.Err
			}
		})
	})
	h.visit(8_800, 2000)
	h.restart()
	mu.Lock()
	defer mu.Unlock()
	if failed != nil {
		t.Errorf("a snapshot was not written: %v", failed)
	}
	if g := h.inMemory(); len(g.PastPlayers) != len(h.joined) {
		t.Errorf("%d of %d player sessions are there after a restart", len(g.PastPlayers), len(h.joined))
	}
}
