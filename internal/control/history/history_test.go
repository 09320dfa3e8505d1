package history

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/control/history/index"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/fault"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A region is some shards, with a history.
type testRegion struct {
	*History
	t       *testing.T
	clock   *clockwork.FakeClock
	shards  []*testShard
	entries journal.History
	dir     string
	stop    func()
}

// A testShard is a shard that is durable at once.
type testShard struct {
	region *testRegion
	level  int

	mu      sync.Mutex
	machine *region.Machine
	fail    func(region.Command) error // nil: nothing fails
	reached region.HistoryReached
}

func (s *testShard) Level() int { return s.level }

func (s *testShard) Read(_ context.Context, read func(*region.Machine)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	read(s.machine)
	return nil
}

func (s *testShard) Do(_ context.Context, c region.Command) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(c); err != nil {
			return nil, err
		}
	}
	_, answer, err := s.machine.Handle(s.region.clock.Now(), c)
	s.reached = s.machine.History()
	return answer, err
}

const (
	inMemory = time.Hour
	kept     = 30 * 24 * time.Hour
)

func newRegion(t *testing.T, shards int) *testRegion {
	t.Helper()
	clock := clockwork.NewFakeClockAt(start)
	r := &testRegion{t: t, clock: clock, entries: memory.NewHistory(clock, kept),
		dir: filepath.Join(t.TempDir(), "index")}
	for i := range shards {
		m := region.New(i, &region.Settings{Shards: shards})
		m.Apply(event.Fact{Room: region.ShardRoom, Body: &region.LevelRaised{Level: region.MaxLevel}})
		r.shards = append(r.shards, &testShard{region: r, level: region.MaxLevel, machine: m})
	}
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

// start runs another history on the same shards.
func (r *testRegion) start() {
	r.t.Helper()
	c := Config{Entries: r.entries, Dir: r.dir, Reached: r.reached, Retention: inMemory, Kept: kept, Clock: r.clock,
		Log: slog.New(slog.DiscardHandler)}
	for _, s := range r.shards {
		c.Shards = append(c.Shards, s)
	}
	r.History = New(c)
	if err := r.Begin(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	})
}

func (r *testRegion) restart() {
	r.t.Helper()
	r.stop()
	r.start()
}

func (r *testRegion) reached() (seq, settled uint64) {
	for _, s := range r.shards {
		s.mu.Lock()
		seq, settled = max(seq, s.reached.Seq), max(settled, s.reached.Settled)
		s.mu.Unlock()
	}
	return seq, settled
}

// end makes placements that have ended, in the shards that have them.
func (r *testRegion) end(data string, ids ...string) {
	r.t.Helper()
	at := event.At(r.clock.Now())
	for _, id := range ids {
		s := r.shards[region.PlacementShardOf(id, len(r.shards))]
		s.mu.Lock()
		for _, body := range []any{
			&placement.PlacementStarted{Request: placement.Request{ID: id, Data: data}, At: at, Deadline: at + 1},
			&placement.PlacementEnded{ID: id, At: at, Status: placement.TimedOut},
		} {
			s.machine.Apply(event.Fact{Room: region.PlacementsRoom, Body: body})
		}
		s.mu.Unlock()
	}
}

// remembered reports whether a placement is in memory.
func (r *testRegion) remembered(id string) (ok bool) {
	_ = r.shards[region.PlacementShardOf(id, len(r.shards))].Read(r.t.Context(), func(m *region.Machine) {
		_, ok = m.Placements().Placement(id)
	})
	return ok
}

// wantPast checks that placements are in the history and nowhere else.
func (r *testRegion) wantPast(ids ...string) {
	r.t.Helper()
	for _, id := range ids {
		if r.remembered(id) {
			r.t.Errorf("%s is in memory", id)
		}
		if p, err := r.Placement(r.t.Context(), id); err != nil || p == nil || p.ID != id {
			r.t.Errorf("%s is %+v, %v in the history", id, p, err)
		}
	}
}

func (r *testRegion) wantNone(ids ...string) {
	r.t.Helper()
	for _, id := range ids {
		if p, err := r.Placement(r.t.Context(), id); err != nil || p != nil {
			r.t.Errorf("%s is %+v, %v in the history", id, p, err)
		}
	}
}

func names(prefix string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint(prefix, i))
	}
	return ids
}

func (r *testRegion) batches() uint64 {
	r.t.Helper()
	b, err := r.entries.Bounds(r.t.Context(), 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return b.Last
}

// TestMove moves what is due in one batch, and finds it, also after a restart and with a new index.
func TestMove(t *testing.T) {
	defer leaktest.Check(t)()
	r := newRegion(t, 3)
	defer func() { r.stop() }()
	ids := names("p", 40)
	r.end("data", ids...)
	r.Move(t.Context())
	r.clock.Advance(inMemory + time.Second)
	r.end("data", "late")
	r.Move(t.Context())
	if n := r.batches(); n != 0 {
		t.Errorf("%d batches, before there is enough to move", n)
	}
	r.clock.Advance(maxHold)
	r.Move(t.Context())
	if n := r.batches(); n != 1 {
		t.Errorf("%d batches", n)
	}
	r.wantPast(ids...)
	r.wantNone("late", "p40", "")
	if !r.remembered("late") {
		t.Error("what ended a short while ago has moved")
	}
	if _, settled := r.reached(); r.Settled() != endOf(1) || settled != endOf(0) {
		t.Errorf("settled up to %d, the shards say %d", r.Settled(), settled)
	}
	r.restart()
	r.wantPast(ids...)
	r.stop()
	if err := index.Remove(r.dir); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.wantPast(ids...)
	r.wantNone("late", "p40")
}

// TestManyAreMovedAtOnce: those who wait for others are few.
func TestManyAreMovedAtOnce(t *testing.T) {
	r := newRegion(t, 1)
	r.end("", names("p", enough)...)
	r.clock.Advance(inMemory + time.Second)
	r.Move(t.Context())
	r.wantPast(names("p", enough)...)
}

// TestFullBatches: more than a batch takes several, and none is too large.
func TestFullBatches(t *testing.T) {
	r := newRegion(t, 2)
	ids := names("p", 300)
	data := strings.Repeat("0123456789abcdef", 1<<10)
	r.end(data, ids...)
	r.clock.Advance(inMemory + maxHold + time.Second)
	r.Move(t.Context())
	if n := r.batches(); n < 3 {
		t.Errorf("%d batches", n)
	}
	r.wantPast(ids...)
}

// TestNothingMovesBelowTheLevel: a node of a release before could not find it.
func TestNothingMovesBelowTheLevel(t *testing.T) {
	r := newRegion(t, 2)
	r.shards[1].level = BatchLevel - 1
	r.end("", "a")
	r.clock.Advance(2 * inMemory)
	r.Move(t.Context())
	if n := r.batches(); n != 0 || !r.remembered("a") {
		t.Errorf("%d batches", n)
	}
	r.wantNone("a")
}

// TestRefusedEntryBlocksNoOther: a record that is too large for the history stays in memory, and no other one.
func TestRefusedEntryBlocksNoOther(t *testing.T) {
	r := newRegion(t, 1)
	r.end("", "a")
	r.end(strings.Repeat("x", 5<<20), "b")
	r.end("", "c", "d")
	r.clock.Advance(2 * inMemory)
	r.Move(t.Context())
	r.wantPast("a", "c", "d")
	if !r.remembered("b") {
		t.Error("b is lost")
	}
	if p, err := r.Ticket(t.Context(), "a"); p != nil || err != nil {
		t.Errorf("a placement is found as ticket %v, %v", p, err)
	}
}

// TestCrashWhileMoving: what was written and not forgotten is written again, and found once.
func TestCrashWhileMoving(t *testing.T) {
	for name, at := range map[string]region.Command{
		"before the shard knows the batch": region.ReachHistory{},
		"before the shard forgets":         region.PlacementCommand{},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegion(t, 1)
			r.end("", "a", "b")
			r.clock.Advance(2 * inMemory)
			r.shards[0].fail = func(c region.Command) error {
				if reflect.TypeOf(c) == reflect.TypeOf(at) {
					return errors.New("killed")
				}
				return nil
			}
			r.Move(t.Context())
			r.shards[0].fail = nil
			if !r.remembered("a") || r.batches() != 1 || r.Settled() != endOf(0) {
				t.Fatalf("%d batches, settled %d", r.batches(), r.Settled())
			}
			r.restart()
			r.Move(t.Context())
			r.wantPast("a", "b")
			if n := r.batches(); n != 2 {
				t.Errorf("%d batches", n)
			}
			entries := 0
			store, release, err := r.ready(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			count := func(_, _ []byte) bool { entries++; return true }
			err = store.Scan(entryKey(0), after([]byte{keyEntry}), false, count)
			if entries != 2 || err != nil {
				t.Errorf("%d entries, %v", entries, err)
			}
		})
	}
}

// TestExpiry: what the history does not have any more is not found.
func TestExpiry(t *testing.T) {
	r := newRegion(t, 1)
	move := func(id string) {
		t.Helper()
		r.end("", id)
		r.clock.Advance(2 * inMemory)
		r.Move(t.Context())
		r.wantPast(id)
	}
	move("a")
	r.clock.Advance(kept / 2)
	move("b")
	r.clock.Advance(kept * 3 / 4)
	if err := r.expireNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.wantNone("a")
	r.wantPast("b")
	r.clock.Advance(kept)
	if err := r.expireNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.wantNone("a", "b")
	move("c")
}

// TestIndexOfAnotherHistory opens an index that was built from another history: it is deleted and rebuilt.
func TestIndexOfAnotherHistory(t *testing.T) {
	for name, before := range map[string]int{"a longer one": 2, "one as long": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRegion(t, 1)
			move := func(id string) {
				t.Helper()
				r.end("", id)
				r.clock.Advance(2 * inMemory)
				r.Move(t.Context())
				r.wantPast(id)
			}
			for i := range before {
				move(fmt.Sprint("before", i))
			}
			r.stop()
			r.entries = memory.NewHistory(r.clock, kept)
			m := region.New(0, &region.Settings{})
			m.Apply(event.Fact{Room: region.ShardRoom, Body: &region.LevelRaised{Level: region.MaxLevel}})
			r.shards[0].machine, r.shards[0].reached = m, region.HistoryReached{}
			r.start()
			move("after")
			r.wantNone("before0")
		})
	}
}

// TestDamageFoundByAQuestion rebuilds the index although no further message arrives.
func TestDamageFoundByAQuestion(t *testing.T) {
	r := newRegion(t, 1)
	r.end("", "a")
	r.clock.Advance(2 * inMemory)
	r.Move(t.Context())
	r.wantPast("a")
	store, release, err := r.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = store.Fail(errors.New("damaged"))
	release()
	r.wantPast("a")
}

// TestReadersWaitForTheIndex: who has seen a shard that relies on a batch waits until the index has it.
func TestReadersWaitForTheIndex(t *testing.T) {
	r := newRegion(t, 1)
	r.shards[0].reached = region.HistoryReached{Seq: 1}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.Placement(ctx, "a"); !fault.Is(err, fault.ServiceUnavailable) || !errors.Is(err, ctx.Err()) {
		t.Errorf("got %v", err)
	}
	found := make(chan error, 1)
	go func() {
		p, err := r.Placement(t.Context(), "a")
		if err == nil && p == nil {
			err = errors.New("not found")
		}
		found <- err
	}()
	r.end("", "a")
	r.clock.Advance(2 * inMemory)
	r.Move(t.Context())
	if err := <-found; err != nil {
		t.Error(err)
	}
}

// oldRecord is the record of a release before the batches.
func oldRecord(t *testing.T, room uint32, body any) []byte {
	t.Helper()
	var p packed
	m := mover{packed: p}
	fact, err := encodeFact(&m.buf, room, body)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(nil), fact...)
}

// TestOldEntries are found from the first moment on, and moved into batches.
func TestOldEntries(t *testing.T) {
	r := newRegion(t, 1)
	old := r.entries.(*memory.History)
	put := func(subject string, room uint32, body any) {
		t.Helper()
		var data []byte
		if body != nil {
			data = oldRecord(t, room, body)
		}
		if _, err := old.AppendEntry(t.Context(), subject, data); err != nil {
			t.Fatal(err)
		}
	}
	room := fleet.RoomID{Fleet: "fleet-1", Location: "custom-a"}
	player := &fleet.PlayerSession{ID: fleet.PlayerSessionID{1}, PlayerID: "ann", Status: fleet.Completed}
	g := &fleet.GameSession{Ordinal: 9, ID: "g", Status: fleet.Terminated, PastPlayers: []*fleet.PlayerSession{player}}
	put("s.fleet-1.custom-a.g.2-3-9", 3, g)
	put("p.hash.fleet-1.custom-a.g.2-3-9", 0, nil)
	put("q.a", region.PlacementsRoom, &placement.Placement{Request: placement.Request{ID: "a"}})
	put("z.unknown", 0, nil)
	put("s.short", 3, g)
	put("q.a", region.PlacementsRoom, &placement.Placement{Request: placement.Request{ID: "a", Data: "again"}})
	check := func() {
		t.Helper()
		r.wantPast("a")
		if p, err := r.Placement(t.Context(), "a"); err != nil || p.Data != "again" {
			t.Errorf("got %+v, %v", p, err)
		}
		at, found, err := r.GameSessionAt(t.Context(), fleet.Address{Shard: 2, Room: 3}, 9)
		if err != nil || at != room || found == nil || found.ID != "g" {
			t.Errorf("got %v, %+v, %v", at, found, err)
		}
		var numbers []uint64
		err = r.OfPlayer(t.Context(), "ann", "fleet-1", 0, func(e Entry) bool {
			numbers = append(numbers, e.Seq)
			return true
		})
		if err != nil || len(numbers) != 1 || numbers[0] != 1<<numberBits {
			t.Errorf("the player is in %v, %v", numbers, err)
		}
	}
	r.restart() // to wait for what is there
	check()
	r.Move(t.Context())
	if newest, err := old.NewestEntry(t.Context()); newest != 0 || err != nil {
		t.Errorf("entry %d is left, %v", newest, err)
	}
	r.restart()
	check()
	if state, err := r.State(t.Context()); err != nil || state.Entries != 2 {
		t.Errorf("%d entries, %v; want a game session and a placement", state.Entries, err)
	}
	if err := r.expireNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	check()
	r.stop()
	if err := index.Remove(r.dir); err != nil {
		t.Fatal(err)
	}
	r.start()
	check()
}

// TestUnreadableBatch is logged, and keeps nothing else from being found.
func TestUnreadableBatch(t *testing.T) {
	r := newRegion(t, 1)
	for _, data := range []string{"", "\x02", "\x01garbage"} {
		if _, err := r.entries.Append(t.Context(), []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	r.end("", "a")
	r.clock.Advance(2 * inMemory)
	r.Move(t.Context())
	r.wantPast("a")
}

// TestInspect reads batches as backups have them, with their subjects, and entries of earlier releases.
func TestInspect(t *testing.T) {
	r := newRegion(t, 1)
	r.end("", "a", "b")
	r.clock.Advance(2 * inMemory)
	r.Move(t.Context())
	var found []string
	note := func(e Inspected) error {
		found = append(found, e.Record.(*placement.Placement).ID)
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := r.entries.Follow(ctx, 0, func(s journal.Stored) error {
		s.Subject = "batch.X"
		cancel()
		return Inspect(s, note)
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	old := journal.Stored{Seq: 9, Subject: "q.c",
		Data: oldRecord(t, region.PlacementsRoom, &placement.Placement{Request: placement.Request{ID: "c"}})}
	for _, s := range []journal.Stored{old, {Seq: 10, Subject: "p.x.y"}, {Seq: 11, Subject: "filler"}} {
		if err := Inspect(s, note); err != nil {
			t.Errorf("%s: %v", s.Subject, err)
		}
	}
	if want := "a b c"; strings.Join(found, " ") != want {
		t.Errorf("found %q, want %s", found, want)
	}
	if err := Inspect(journal.Stored{Subject: "batch.X", Data: []byte("broken")}, note); err == nil {
		t.Error("a broken batch was read")
	}
}
