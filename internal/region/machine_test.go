package region

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestShardOfIsForEver: a changed hash would look for every room in a wrong place.
func TestShardOfIsForEver(t *testing.T) {
	for _, c := range []struct {
		id    fleet.RoomID
		n     int
		shard int
	}{
		{fleet.RoomID{Fleet: "fleet-1", Location: "custom-home"}, 1, 0},
		{fleet.RoomID{Fleet: "fleet-1", Location: "custom-home"}, 4, 3},
		{fleet.RoomID{Fleet: "fleet-1", Location: "custom-home"}, 32, 31},
		{fleet.RoomID{Fleet: "fleet-1", Location: "custom-away"}, 32, 18},
		{fleet.RoomID{Fleet: "fleet-2", Location: "custom-home"}, 32, 22},
		{fleet.RoomID{Fleet: "fleet-1", Location: "custom-home"}, MaxShards, 63},
	} {
		if got := ShardOf(c.id, c.n); got != c.shard {
			t.Errorf("%v of %d shards is in %d, want %d", c.id, c.n, got, c.shard)
		}
	}
}

func TestShardsAreUsedAlike(t *testing.T) {
	const rooms, shards = 6400, 32
	var used [shards]int
	for i := range rooms {
		used[ShardOf(roomID(i), shards)]++
	}
	for shard, n := range used {
		if n < rooms/shards/2 || n > rooms/shards*2 {
			t.Errorf("shard %d has %d rooms of %d", shard, n, rooms)
		}
	}
}

func TestRoomsOpenAndClose(t *testing.T) {
	m := New(5, settings())
	before := snapshotOf(t, m)
	closed := register(roomID(1))
	closed.Open = false
	if _, _, err := m.Handle(start, closed); !fault.Is(err, fault.NotFound) {
		t.Errorf("a command for a closed room gave %v", err)
	}
	refused := RoomCommand{Room: roomID(1), Command: fleet.DeregisterCompute{Name: "host-1"}, Open: true}
	if _, _, err := m.Handle(start, refused); !fault.Is(err, fault.NotFound) {
		t.Errorf("a refused command for a new room gave %v", err)
	}
	if !bytes.Equal(snapshotOf(t, m), before) || len(m.Rooms()) != 0 {
		t.Error("refused commands have left something behind")
	}

	facts, answer := do(t, m, start, register(roomID(1)))
	if len(facts) != 2 || facts[0].Room != 1 || *facts[0].Body.(*RoomOpened) != (RoomOpened{Fleet: "fleet-1",
		Location: "custom-home"}) {
		t.Errorf("opening gave %+v", facts)
	}
	if compute := answer.(*fleet.Compute); compute.Name != "host-1" {
		t.Errorf("the answer is %+v", compute)
	}
	room, ok := m.Room(roomID(1))
	at, atOK := m.RoomAt(1)
	if !ok || !atOK || room != at || room.Address() != (fleet.Address{Shard: 5, Room: 1}) {
		t.Error("the room is not found")
	}
	if facts, _ := do(t, m, start, CloseRoom{roomID(1)}); len(facts) != 0 {
		t.Error("a room with a compute was closed")
	}
	do(t, m, start, RoomCommand{Room: roomID(1), Command: fleet.Clear{}})
	if facts, _ := do(t, m, start, CloseRoom{roomID(1)}); len(facts) != 1 || facts[0].Room != 1 {
		t.Errorf("closing gave %+v", facts)
	}
	if facts, _ := do(t, m, start, CloseRoom{roomID(1)}); len(facts) != 0 {
		t.Error("a room was closed twice")
	}
	// A number that was just given back rests.
	do(t, m, start, register(roomID(1)))
	if room, _ := m.Room(roomID(1)); room.Address().Room != 2 {
		t.Errorf("the room came back as number %d", room.Address().Room)
	}
	if err := check(m); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheFirstShardHoldsTheCatalog(t *testing.T) {
	command := CatalogCommand{catalog.CreateLocation{Name: "custom-home"}}
	first, second := New(CatalogShard, settings()), New(1, settings())
	facts, answer := do(t, first, start, command)
	if len(facts) != 1 || facts[0].Room != 0 || answer != nil || first.Catalog() == nil {
		t.Errorf("the catalog gave %+v, %v", facts, answer)
	}
	if _, _, err := first.Handle(start, command); !fault.Is(err, fault.Conflict) {
		t.Errorf("the same again gave %v", err)
	}
	if _, _, err := second.Handle(start, command); err == nil || second.Catalog() != nil {
		t.Errorf("a shard without catalog gave %v", err)
	}
	snapshot := snapshotOf(t, first)
	other := New(1, settings())
	var err error
	for _, f := range eventtest.Facts(t, Events, snapshot) {
		err = errors.Join(err, other.Restore(f))
	}
	if err == nil {
		t.Error("a shard without catalog has taken a record of one")
	}
}

// TestCatalogExpires: what is due in the catalog is done, once.
func TestCatalogExpires(t *testing.T) {
	m := New(CatalogShard, settings())
	do(t, m, start, CatalogCommand{catalog.CreateLocation{Name: "custom-home"}})
	create := catalog.CreateFleet{ID: "fleet-1", ComputeType: "ANYWHERE", Locations: []string{"custom-home"}}
	create.Name = "game"
	create.EventIDs = []string{"a", "b", "c"}
	do(t, m, start, CatalogCommand{create})
	due := m.Deadline()
	if due.IsZero() {
		t.Fatal("the catalog has no deadline, so this shows nothing")
	}
	before := snapshotOf(t, m)
	if facts := m.Expire(due.Add(-time.Millisecond)); len(facts) > 0 {
		t.Errorf("%d facts before the deadline", len(facts))
	}
	facts := m.Expire(due)
	if len(facts) == 0 || facts[0].Room != 0 {
		t.Errorf("expired %+v", facts)
	}
	if next := m.Deadline(); !next.IsZero() && !next.After(due) {
		t.Errorf("the deadline stays at %v", next)
	}
	if !bytes.Equal(snapshotOf(t, restored(t, CatalogShard, settings(), before, encode(t, facts))), snapshotOf(t, m)) {
		t.Error("the replayed machine differs from the live one")
	}
}

// A room may look up for a deadline that has moved on. When two do so at the same
// moment, the first must not pass for a deadline about which nothing is done.
func TestRoomsThatLookUpForNothing(t *testing.T) {
	m := New(1, settings())
	for i := range 2 {
		do(t, m, start, register(roomID(i)))
		do(t, m, start, connect(roomID(i), "a"))
	}
	due := m.Deadline()
	for i := range 2 {
		key := fleet.ProcessKey{Compute: "host-1", ID: "a"}
		do(t, m, start, RoomCommand{Room: roomID(i), Command: fleet.ReadyProcess{ProcessKey: key, Port: 7777}})
		do(t, m, due.Add(-time.Second), RoomCommand{Room: roomID(i),
			Command: fleet.ReportHealth{ProcessKey: key, Healthy: true}})
	}
	for !m.Deadline().IsZero() && !m.Deadline().After(due) {
		before := m.Deadline()
		if facts := m.Expire(due); len(facts) > 0 || m.Deadline().Equal(before) {
			t.Fatalf("%d facts at %v, and the deadline is %v", len(facts), due, m.Deadline())
		}
	}
}

// TestTheRoomThatWaitedLongestExpiresFirst, one at a time.
func TestTheRoomThatWaitedLongestExpiresFirst(t *testing.T) {
	m := New(1, settings())
	if !m.Deadline().IsZero() {
		t.Error("an empty machine has a deadline")
	}
	for i := range 3 {
		do(t, m, start, register(roomID(i)))
	}
	for i, seconds := range []int{2, 1, 3} {
		do(t, m, start.Add(time.Duration(seconds)*time.Second), connect(roomID(i), "a"))
	}
	if want := start.Add(5*time.Minute + time.Second); m.Deadline() != want {
		t.Errorf("the deadline is %v, want %v", m.Deadline(), want)
	}
	late := start.Add(5*time.Minute + 2*time.Second)
	var order []uint32
	for !m.Deadline().After(late) {
		facts := m.Expire(late)
		order = append(order, facts[0].Room)
		for _, f := range facts {
			if f.Room != facts[0].Room {
				t.Error("two rooms in one record")
			}
		}
	}
	if fmt.Sprint(order) != "[2 1]" {
		t.Errorf("expired in the order %v", order)
	}
	if facts := m.Expire(late); len(facts) > 0 {
		t.Errorf("expired %d facts that were not due", len(facts))
	}
}

func TestRecoveredLosesAllSockets(t *testing.T) {
	m := New(1, settings())
	for i := range 3 {
		do(t, m, start, register(roomID(i)))
	}
	do(t, m, start, connect(roomID(2), "a"))
	do(t, m, start, connect(roomID(0), "a"))
	facts := m.Recovered(start.Add(time.Second))
	if len(facts) != 2 || facts[0].Room != 1 || facts[1].Room != 3 {
		t.Errorf("noted %+v", facts)
	}
	if want := start.Add(201 * time.Second); m.Deadline() != want {
		t.Errorf("the deadline is %v, want %v", m.Deadline(), want)
	}
	if err := check(m); err != nil {
		t.Error(err)
	}
}

// TestFrozenMachinesNeverChange, and share the rooms that have not changed.
func TestFrozenMachinesNeverChange(t *testing.T) {
	m := New(CatalogShard, settings())
	do(t, m, start, CatalogCommand{catalog.CreateLocation{Name: "custom-home"}})
	for i := range 3 {
		do(t, m, start, register(roomID(i)))
	}
	first := m.Freeze()
	state := snapshotOf(t, first)
	do(t, m, start, connect(roomID(1), "a"))
	do(t, m, start, CatalogCommand{catalog.DeleteLocation{Name: "custom-home"}})
	second := m.Freeze()
	do(t, m, start, RoomCommand{Room: roomID(0), Command: fleet.Clear{}})
	do(t, m, start, CloseRoom{roomID(0)})
	do(t, m, start, register(roomID(9)))
	m.Expire(start.Add(time.Hour))

	if !bytes.Equal(snapshotOf(t, first), state) {
		t.Error("a frozen machine has changed")
	}
	if first.rooms[1] != second.rooms[1] || first.rooms[2] == second.rooms[2] {
		t.Error("a copy was made of a room that has not changed, or not of one that has")
	}
	if _, ok := second.Room(roomID(0)); !ok || len(second.Rooms()) != 3 {
		t.Error("a frozen machine has lost a room")
	}
	if process, ok := second.rooms[2].Process(fleet.ProcessKey{Compute: "host-1", ID: "a"}); !ok ||
		process.Status != fleet.ProcessInitializing {
		t.Errorf("the process in the frozen room is %+v", process)
	}
}

func TestSnapshotReportsEveryError(t *testing.T) {
	m := New(CatalogShard, settings())
	do(t, m, start, CatalogCommand{catalog.CreateLocation{Name: "custom-home"}})
	do(t, m, start, register(roomID(1)))
	full := errors.New("disk full")
	records := len(eventtest.Facts(t, Events, snapshotOf(t, m)))
	for n := range records {
		written := 0
		err := m.Snapshot(func(event.Fact) error {
			if written++; written > n {
				return full
			}
			return nil
		})
		if err != full || written != n+1 {
			t.Errorf("a failure at record %d of %d came back as %v at %d", n, records, err, written-1)
		}
	}
}

func TestRestoreRefusesRecordsOfNoRoom(t *testing.T) {
	m := New(1, settings())
	if err := m.Restore(event.Fact{Room: 3, Body: &fleet.Compute{Name: "host-1"}}); err == nil {
		t.Error("a record of a room that was not opened was taken")
	}
	do(t, m, start, register(roomID(1)))
	if err := m.Restore(event.Fact{Room: 1, Body: &fleet.ProcessLost{}}); err == nil {
		t.Error("an event was taken for a record")
	}
}
