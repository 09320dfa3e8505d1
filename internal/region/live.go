package region

import (
	"cmp"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// live is what only the writer needs, so that a shard with thousands of rooms
// finds the next deadline, and freezes, without a look at each of them.
type live struct {
	queue     *btree.BTreeG[deadline] // of the rooms that have one
	deadlines map[uint16]event.Time   // where each stands in queue
	frozen    map[uint16]*fleet.Room  // copies that are still as their rooms are
}

// A deadline is when a room next has work.
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

// changed keeps up with a room after each change of it.
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

// forget lets go of a room that is no more.
func (m *Machine) dropLive(number uint16) {
	delete(m.frozen, number)
	m.queue.Delete(deadline{m.deadlines[number], number})
	delete(m.deadlines, number)
}

// earliest is the first deadline of all rooms, or zero.
func (m *Machine) earliest() event.Time {
	first, _ := m.queue.Min()
	return first.at
}

// due is the room that has waited for longest, if one has to wait no more.
func (m *Machine) due(now event.Time) (number uint16, ok bool) {
	first, ok := m.queue.Min()
	return first.room, ok && first.at <= now
}

// frozenRoom is a copy of a room, made if the last one is out of date.
func (m *Machine) frozenRoom(number uint16, room *fleet.Room) *fleet.Room {
	frozen, ok := m.frozen[number]
	if !ok {
		frozen = room.Freeze()
		m.frozen[number] = frozen
	}
	return frozen
}
