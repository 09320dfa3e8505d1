package placer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// A placement tries the rooms of its choice in their order. Where it cannot take a process it joins the waiting list of
// the room, and goes on to the next room when this one is known to be full. So it is in the list of every room that it
// has passed, and is served where a process becomes free first.
//
// Nothing is asked at intervals. A room is asked how many processes are free when a placement has joined its list and
// the room is not known to be full, and when a fact says that a process may have become free. The answer serves the
// oldest placements, as many as processes are free: without those that calls under way will take.

// A waitlist is the placements that wait for one room, with what is known of it. Those that need a process of another
// build than the fleet's own have a list for each build: such a process is requested in the slot of an idle one.
type waitlist struct {
	room     fleet.RoomID
	build    string                  // its id; "": the fleet's own
	waiting  *btree.BTreeG[*pending] // the oldest first
	frontier []*pending              // those of them that go on when the room is full; some may have left
	calls    int                     // attempts that are to take a process, and have not yet
	freed    uint64                  // counts the facts that say that a process may have become free
	full     bool                    // no process was free, and none became free since
	asking   bool                    // the room is asked how many are
	limits   fleetLimits
}

// waitlist is that of a room and a build, made on first use.
func (m *Machine) waitlist(room fleet.RoomID, build string) *waitlist {
	w := m.find(room, build)
	if w == nil {
		w = &waitlist{room: room, build: build,
			waiting: btree.NewBTreeGOptions((*pending).older, btree.Options{NoLocks: true})}
		if build == "" {
			m.waitlists[room] = w
			return w
		}
		if m.versions[room] == nil {
			m.versions[room] = map[string]*waitlist{}
		}
		m.versions[room][build] = w
	}
	return w
}

// find returns the list of a room and a build; nil: there is none.
func (m *Machine) find(room fleet.RoomID, build string) *waitlist {
	if build == "" {
		return m.waitlists[room]
	}
	return m.versions[room][build]
}

// forget drops a list, unless it is in use.
func (m *Machine) forget(w *waitlist) {
	if w.calls != 0 || w.waiting.Len() != 0 {
		return
	}
	if w.build == "" {
		delete(m.waitlists, w.room)
		return
	}
	if delete(m.versions[w.room], w.build); len(m.versions[w.room]) == 0 {
		delete(m.versions, w.room)
	}
}

// maxCalls is how many calls may be under way to a room of which it is not known how many processes are free. The
// others ask first: a crowd of attempts that are refused costs more than the question.
const maxCalls = 256

// open reports whether an attempt in the room is worth a try without a question. p is nil for a new placement.
func (w *waitlist) open(p *pending) bool {
	if w.full || w.calls >= maxCalls {
		return false
	}
	oldest, ok := w.waiting.Min()
	return !ok || p != nil && p.older(oldest)
}

// place looks for a room for a placement that has no attempt, from the first of its choice on.
func (m *Machine) place(p *pending) {
	m.leave(p)
	p.stage = searching
	if m.catalog == nil {
		return // the recovery places it
	}
	switch p.queue = m.queueOf(p.request); {
	case p.queue == nil:
		m.fail(p)
		return
	case m.now >= p.deadline:
		return // it is about to be TIMED_OUT
	}
	p.choice = p.queue.Choose(p.request, m.now.Sub(p.started))
	p.stage, p.next = waiting, 0
	if p.choice.Next > 0 {
		p.step = p.started.Add(p.choice.Next)
		m.steps.Set(p)
	}
	m.advance(p)
}

// advance tries the rooms of the choice that come next.
func (m *Machine) advance(p *pending) {
	for p.next < len(p.choice.Rooms) {
		room := p.choice.Rooms[p.next]
		limits := p.queue.fleets[room.Fleet]
		w := m.waitlist(room, limits.buildFor(p.request))
		w.limits = limits
		if w.open(p) {
			m.begin(p, w)
			return
		}
		p.next++
		p.lists = append(p.lists, w)
		w.waiting.Set(p)
		if !w.full {
			w.frontier = append(w.frontier, p)
			m.check(w)
			return
		}
	}
}

// leave takes a placement out of all waiting lists.
func (m *Machine) leave(p *pending) {
	for _, w := range p.lists {
		w.waiting.Delete(p)
	}
	clear(p.lists)
	p.lists = p.lists[:0]
	if p.step != 0 {
		m.steps.Delete(p)
		p.step = 0
	}
}

// fail ends a placement whose queue was deleted. An attempt that runs is given up.
func (m *Machine) fail(p *pending) {
	m.leave(p)
	m.tell(p, placement.Fail{
		ID: p.request.ID, Reason: fmt.Sprintf("Game session queue %s was deleted", p.request.Queue),
	}, nil)
}

// freed notes that a process may have become free.
func (m *Machine) freed(w *waitlist) {
	w.freed++
	w.full = false
	m.check(w)
}

// processFreed is freed for a fact of a room. activation: an activation is over, which frees a process where their
// number is limited.
func (m *Machine) processFreed(room fleet.RoomID, activation bool) {
	if w, ok := m.waitlists[room]; ok && (!activation || w.limits.limited()) {
		m.freed(w)
	}
	for _, w := range m.versionsOf(room) {
		if !activation || w.limits.limited() {
			m.freed(w)
		}
	}
}

// versionsOf returns the lists of a room for builds besides the fleet's own.
func (m *Machine) versionsOf(room fleet.RoomID) (lists []*waitlist) {
	for _, build := range slices.Sorted(maps.Keys(m.versions[room])) {
		lists = append(lists, m.versions[room][build])
	}
	return lists
}

// check asks how many processes are free, if a placement waits for the answer.
func (m *Machine) check(w *waitlist) {
	if w.full || w.asking || w.waiting.Len() == 0 || m.find(w.room, w.build) != w {
		return
	}
	w.asking = true
	freed, limits, free := w.freed, w.limits, 0
	m.requests = append(m.requests, Request{
		Shard: m.shardOf(w.room),
		Read: func(state *region.Machine) {
			r, ok := state.Room(w.room)
			switch {
			case !ok:
			case w.build == "":
				free = r.FreeFor(limits.activations)
			default:
				free = r.RequestableFor(w.build, limits.activations)
			}
		},
		Answer: func(_ any, err error) {
			w.asking = false
			if err == nil && m.find(w.room, w.build) == w { // else the recovery of the room's shard has it asked again
				m.counted(w, freed, free)
			}
		},
	})
}

// counted serves those who wait, the oldest first. free is how many processes were free when everything was done that
// is not counted in calls, and freed what the waiting list had counted before that.
func (m *Machine) counted(w *waitlist, freed uint64, free int) {
	for free -= w.calls; free > 0; free-- {
		p, ok := w.waiting.Min()
		if !ok {
			w.frontier = nil
			return
		}
		m.begin(p, w)
	}
	w.full = w.freed == freed
	m.passOn(w)
	m.check(w)
}

// passOn lets those go on to their next rooms who waited for the news that this one is full.
func (m *Machine) passOn(w *waitlist) {
	frontier := w.frontier
	w.frontier = nil
	for _, p := range frontier {
		if p.stage == waiting && len(p.lists) > 0 && p.lists[len(p.lists)-1] == w {
			m.advance(p)
		}
	}
}

// First is the room for the first attempt of a new placement without a build version, if one is worth a try; nil: it
// begins by waiting. It is a guess, which does no harm: see call.refused.
func (m *Machine) First(c *placement.Choice) *fleet.RoomID {
	for i := range c.Rooms {
		w, known := m.waitlists[c.Rooms[i]]
		switch {
		case !known || w.open(nil):
			return &c.Rooms[i]
		case !w.full:
			return nil // it waits for the news of this one
		}
	}
	return nil
}

// closed forgets a room that was deleted.
func (m *Machine) closed(room fleet.RoomID) {
	if w, ok := m.waitlists[room]; ok {
		m.forget(w)
	}
	for _, w := range m.versionsOf(room) {
		m.forget(w)
	}
}

// A Position is the place of a placement in the waiting list of a room.
type Position struct {
	Room   fleet.RoomID
	Number int // 1: served next
	Length int // of the list
}

// Waits reports the waiting lists that a placement is in, and when its choice changes by itself (0: never). ok is false
// if it does not wait.
func (m *Machine) Waits(id string) (positions []Position, next event.Time, ok bool) {
	p := m.placements[id]
	if p == nil || p.stage != waiting {
		return nil, 0, false
	}
	for _, w := range p.lists {
		at := Position{Room: w.room, Number: 1, Length: w.waiting.Len()}
		w.waiting.Scan(func(other *pending) bool {
			at.Number += asInt(other != p)
			return other != p
		})
		positions = append(positions, at)
	}
	return positions, p.step, true
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Idle reports whether the machine has nothing under way.
func (m *Machine) Idle() bool {
	for _, w := range m.sortedWaitlists() {
		if w.calls != 0 || w.waiting.Len() != 0 || w.asking {
			return false
		}
	}
	return len(m.placements) == 0 && m.steps.Len() == 0
}
