package region

import (
	"cmp"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// live is the state that only the writer needs: with thousands of rooms it finds the next deadline, and freezes,
// without visiting all of them.
type live struct {
	queue     *btree.BTreeG[deadline] // of the rooms that have one
	deadlines map[uint16]event.Time   // position of each room in queue
	frozen    map[uint16]*fleet.Room  // copies that are still equal to their rooms
}

// A deadline is when a room must expire next.
type deadline struct {
	at   event.Time
	room uint16
}

func (a deadline) before(b deadline) bool {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.room, b.room)) < 0
}

func newLive() *live {
	return &live{
		queue:     btree.NewBTreeGOptions(deadline.before, btree.Options{NoLocks: true}),
		deadlines: map[uint16]event.Time{},
		frozen:    map[uint16]*fleet.Room{},
	}
}

// changed updates live after a room changed.
func (m *Machine) changed(number uint16) {
	delete(m.frozen, number)
	next, old := m.rooms[number].Deadline(), m.deadlines[number]
	if next == old {
		return
	}
	m.queue.Delete(deadline{old, number})
	delete(m.deadlines, number)
	if next != 0 {
		m.queue.Set(deadline{next, number})
		m.deadlines[number] = next
	}
}

func (m *Machine) dropLive(number uint16) {
	delete(m.frozen, number)
	m.queue.Delete(deadline{m.deadlines[number], number})
	delete(m.deadlines, number)
}

// earliest returns the first deadline of all rooms, or zero.
func (m *Machine) earliest() event.Time {
	first, _ := m.queue.Min()
	return first.at
}

// due returns the room with the earliest deadline, if that has passed.
func (m *Machine) due(now event.Time) (number uint16, ok bool) {
	first, ok := m.queue.Min()
	return first.room, ok && first.at <= now
}

// frozenRoom returns a copy of a room, cached until the room changes.
func (m *Machine) frozenRoom(number uint16, room *fleet.Room) *fleet.Room {
	frozen, ok := m.frozen[number]
	if !ok {
		frozen = room.Freeze()
		m.frozen[number] = frozen
	}
	return frozen
}
