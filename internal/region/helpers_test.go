package region

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
	"github.com/muster-gg/muster/internal/fleet"
)

// start is the moment at which every test begins.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func settings() *Settings {
	return &Settings{Fleet: fleet.DefaultSettings("us-west-2"), Catalog: catalog.DefaultLimits()}
}

func roomID(n int) fleet.RoomID {
	return fleet.RoomID{Fleet: fleet.ID(fmt.Sprint("fleet-", n)), Location: "custom-home"}
}

// register is a command that opens a room.
func register(room fleet.RoomID) RoomCommand {
	return RoomCommand{Room: room, Command: fleet.RegisterCompute{Name: "host-1", IPAddress: "10.0.0.1"}, Open: true}
}

// connect starts a process, which gives the room a deadline five minutes later.
func connect(room fleet.RoomID, id string) RoomCommand {
	return RoomCommand{Room: room, Command: fleet.ConnectProcess{ProcessKey: fleet.ProcessKey{Compute: "host-1",
		ID: id}}}
}

func do(t testing.TB, m *Machine, now time.Time, c Command) ([]event.Fact, any) {
	t.Helper()
	facts, answer, err := m.Handle(now, c)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	return facts, answer
}

func encode(t testing.TB, facts []event.Fact) []byte {
	t.Helper()
	var buf bytes.Buffer
	for _, f := range facts {
		if err := Events.Append(&buf, f); err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

// snapshotOf is the state of a machine in bytes.
func snapshotOf(t testing.TB, m *Machine) []byte {
	t.Helper()
	var facts []event.Fact
	if err := m.Snapshot(func(f event.Fact) error { facts = append(facts, f); return nil }); err != nil {
		t.Fatal(err)
	}
	return encode(t, facts)
}

// restored makes a machine of a snapshot and of the journal behind it.
func restored(t testing.TB, shard int, s *Settings, snapshot, journal []byte) *Machine {
	t.Helper()
	m := New(shard, s)
	for _, f := range eventtest.Facts(t, Events, snapshot) {
		if err := m.Restore(f); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range eventtest.Facts(t, Events, journal) {
		m.Apply(f)
	}
	return m
}

// check compares what a machine remembers of its rooms with the rooms.
func check(m *Machine) error {
	var first event.Time
	deadlines := 0
	for number, room := range m.rooms {
		at := room.Deadline()
		if at != 0 {
			deadlines++
			if first == 0 || at < first {
				first = at
			}
		}
		if _, queued := m.queue.Get(deadline{at, number}); queued != (at != 0) || m.deadlines[number] != at {
			return fmt.Errorf("room %d has the deadline %d and stands at %d", number, at, m.deadlines[number])
		}
		if m.numbers[room.ID()] != number || room.Address() != (fleet.Address{Shard: m.shard, Room: number}) ||
			m.level < reuseLevel && number > m.header.Rooms {
			return fmt.Errorf("room %d is at %v, found as %d, and the last number is %d", number, room.Address(),
				m.numbers[room.ID()], m.header.Rooms)
		}
	}
	if len(m.numbers) != len(m.rooms) || m.queue.Len() != deadlines || len(m.deadlines) != deadlines {
		return fmt.Errorf("%d rooms, %d names, %d deadlines, %d in the queue, %d noted", len(m.rooms), len(m.numbers),
			deadlines, m.queue.Len(), len(m.deadlines))
	}
	if m.catalog != nil {
		if at := m.catalog.Deadline(); at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	if got := m.Deadline(); got != first.Time() {
		return fmt.Errorf("the deadline is %v instead of %v", got, first.Time())
	}
	for number := range m.frozen {
		if m.rooms[number] == nil {
			return fmt.Errorf("a copy of room %d is kept, which is closed", number)
		}
	}
	return nil
}
