package region

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// open opens a room and returns its number.
func open(t *testing.T, m *Machine, room fleet.RoomID) uint16 {
	t.Helper()
	do(t, m, start, register(room))
	r, _ := m.Room(room)
	return r.Address().Room
}

// host starts a process in a room that is open, and a game session on it.
func host(t *testing.T, m *Machine, room fleet.RoomID, process string) *fleet.GameSession {
	t.Helper()
	key := fleet.ProcessKey{Compute: "host-1", ID: process}
	do(t, m, start, connect(room, process))
	do(t, m, start, RoomCommand{Room: room, Command: fleet.ReadyProcess{ProcessKey: key, Port: 7777}})
	_, answer := do(t, m, start, RoomCommand{Room: room,
		Command: fleet.CreateGameSession{ID: "game-" + process, Maximum: 4, ActivationTimeout: time.Minute,
			MaxActivations: 9}})
	return answer.(*fleet.GameSession)
}

// closeRoom empties a room and closes it.
func closeRoom(t *testing.T, m *Machine, room fleet.RoomID) []event.Fact {
	t.Helper()
	do(t, m, start, RoomCommand{Room: room, Command: fleet.Clear{}})
	if r, _ := m.Room(room); !r.Empty() {
		var ended []uint64
		r.GameSessions(0, func(g *fleet.GameSession) bool { ended = append(ended, g.Ordinal); return true })
		do(t, m, start, RoomCommand{Room: room, Command: fleet.ForgetGameSessions{Ordinals: ended}})
		for later := start.Add(time.Hour); !r.Empty() && len(m.Expire(later)) > 0; { // processes are forgotten
		}
	}
	facts, _ := do(t, m, start, CloseRoom{room})
	if len(facts) != 1 {
		t.Fatalf("room of %v not closed", room)
	}
	return facts
}

// A CI run makes and deletes more fleet locations than there are numbers. No number is given to two of
// them at a time, and no place, which is what the ids of player sessions lead to, is given twice.
func TestRoomNumbersAreReused(t *testing.T) {
	m := raised(t, 0, settings())
	kept := map[uint16]bool{}
	for i := range 3 {
		kept[open(t, m, roomID(i))] = true
	}
	places, reused := map[[2]uint64]bool{}, 0
	seen := map[uint16]bool{}
	for i := range 70_000 {
		room := roomID(10 + i)
		number := open(t, m, room)
		if kept[number] || number == 0 {
			t.Fatalf("location %d has number %d", i, number)
		}
		if seen[number] {
			reused++
		}
		seen[number] = true
		r, _ := m.RoomAt(number)
		for place := r.FirstNumber(); place <= r.FirstNumber()+1; place++ {
			if at := [2]uint64{uint64(number), place}; places[at] {
				t.Fatalf("place %v is given twice", at)
			} else {
				places[at] = true
			}
		}
		closeRoom(t, m, room)
	}
	if want := 70_000 - (MaxRooms - 3); reused != want {
		t.Errorf("%d numbers were given again, want %d", reused, want)
	}
	if err := check(m); err != nil {
		t.Error(err)
	}
	snapshot := snapshotOf(t, m)
	if again := restored(t, 0, settings(), snapshot, nil); !bytes.Equal(snapshotOf(t, again), snapshot) ||
		open(t, again, roomID(1)) != open(t, m, roomID(1)) {
		t.Error("a snapshot gives another state")
	}
}

func TestReplayOfReusedNumbers(t *testing.T) {
	m := raised(t, 0, settings())
	m.header.Rooms = MaxRooms - 2
	before := snapshotOf(t, m)
	var journal []event.Fact
	keep := func(facts []event.Fact, _ any) { journal = append(journal, facts...) }
	for i := range 5 {
		keep(do(t, m, start, register(roomID(i))))
		if i < 4 {
			keep(do(t, m, start, RoomCommand{Room: roomID(i), Command: fleet.Clear{}}))
			keep(do(t, m, start, CloseRoom{roomID(i)}))
		}
	}
	if r, _ := m.Room(roomID(4)); r.Address().Room != 3 || r.FirstNumber() != 5 {
		t.Errorf("the last room has number %d and begins with game session %d", r.Address().Room, r.FirstNumber())
	}
	for name, again := range map[string]*Machine{
		"a replay":   restored(t, 0, settings(), before, encode(t, journal)),
		"a snapshot": restored(t, 0, settings(), snapshotOf(t, m), nil),
	} {
		if !bytes.Equal(snapshotOf(t, again), snapshotOf(t, m)) {
			t.Errorf("%s gives another state", name)
		}
	}
}

// Below its feature level numbers run out as they did in the release before.
func TestRoomNumbersRunOutBelowTheLevel(t *testing.T) {
	m := New(1, settings())
	m.header.Rooms = MaxRooms - 1
	do(t, m, start, register(roomID(1)))
	if _, _, err := m.Handle(start, register(roomID(2))); !fault.Is(err, fault.LimitExceeded) {
		t.Errorf("got %v", err)
	}
	closeRoom(t, m, roomID(1))
	if m.header.After != 0 {
		t.Error("what the release before does not note is noted")
	}
	do(t, m, start, RaiseLevel{Level: MaxLevel})
	if number := open(t, m, roomID(2)); number != 1 {
		t.Errorf("number %d was given", number)
	}
	// How many game sessions the closed rooms had is not known.
	if r, _ := m.Room(roomID(2)); r.FirstNumber() != maxEarlierNumbers+1 {
		t.Errorf("its game sessions begin with %d", r.FirstNumber())
	}
}

// A shard in which no room was closed before numbers game sessions from 1, and those of new rooms behind
// those of closed ones.
func TestPlacesAreNotReused(t *testing.T) {
	m := New(1, settings())
	open(t, m, roomID(1))
	host(t, m, roomID(1), "p-1")
	do(t, m, start, RaiseLevel{Level: MaxLevel})
	if g := host(t, m, roomID(1), "p-2"); g.Ordinal != 2 {
		t.Errorf("the second game session has number %d", g.Ordinal)
	}
	open(t, m, roomID(2))
	if g := host(t, m, roomID(2), "p-3"); g.Ordinal != 1 {
		t.Errorf("in another room the first game session has number %d", g.Ordinal)
	}
	m.header.Rooms = MaxRooms
	closeRoom(t, m, roomID(1))
	if number := open(t, m, roomID(3)); number != 1 {
		t.Fatalf("the number of the closed room is not given again, but %d", number)
	}
	if g := host(t, m, roomID(3), "p-4"); g.Ordinal != 4 { // the life of a room counts as one
		t.Errorf("the next one there has number %d", g.Ordinal)
	}
}

func TestAllRoomNumbersInUse(t *testing.T) {
	m := raised(t, 1, settings())
	open(t, m, roomID(1))
	for number := range MaxRooms {
		m.rooms[uint16(number+1)] = m.rooms[1]
	}
	_, _, err := m.Handle(start, register(roomID(2)))
	if !fault.Is(err, fault.LimitExceeded) || !strings.Contains(err.Error(), "65535 fleet locations") ||
		!strings.Contains(err.Error(), "Delete fleets") {
		t.Errorf("got %v", err)
	}
	delete(m.rooms, 77)
	if number := open(t, m, roomID(2)); number != 77 {
		t.Errorf("number %d was given", number)
	}
}
