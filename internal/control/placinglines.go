package control

import (
	"fmt"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// A placement tries the rooms of its choice in their order. Where it cannot take a
// process it stands in line, and goes on to the next room when this one is known to
// be full. So it holds a place in the line of every room that it has passed, and is
// served where a process comes free first.
//
// Nothing is asked at intervals. A room is asked how many processes are free when
// somebody came into its line and it is not known to be full, and when a fact
// of it says that one may have come free. The answer serves the oldest ones, as many
// as are free: without those processes that attempts under way will take.

// A line is the placements that wait for one room, with what is known of it.
type line struct {
	room     fleet.RoomID
	waiting  *btree.BTreeG[*pending] // the oldest first
	frontier []*pending              // those of them that go on when the room is full; some may have left
	underway int                     // attempts that are to take a process, and have not yet
	wakes    uint64                  // counts the facts that say that a process may have come free
	full     bool                    // no process was free, and none came free since
	asking   bool                    // the room is asked how many are
	limits   fleetLimits
}

// line is the line of a room, made on first use.
func (d *placing) line(room fleet.RoomID) *line {
	l, ok := d.lines[room]
	if !ok {
		l = &line{room: room, waiting: btree.NewBTreeGOptions((*pending).older, btree.Options{NoLocks: true})}
		d.lines[room] = l
	}
	return l
}

// optimism is how many attempts may be under way to a room of which it is not known
// how many processes are free there. The others ask first: a crowd of attempts that
// are refused costs more than the question.
const optimism = 256

// open reports whether an attempt in the room is worth a try without a question.
func (l *line) open(p *pending) bool {
	if l.full || l.underway >= optimism {
		return false
	}
	oldest, ok := l.waiting.Min()
	return !ok || p != nil && p.older(oldest)
}

// place looks for a room for a placement that has no attempt, from the first of its
// choice on.
func (d *placing) place(p *pending) {
	d.leave(p)
	p.stage = searching
	if !d.cataloged {
		return // resolve places it
	}
	now := d.plane.now()
	switch p.queue = d.queueOf(p.request); {
	case p.queue == nil:
		d.fail(p)
		return
	case now >= p.deadline:
		return // it is about to be TIMED_OUT
	}
	p.choice = p.queue.choose(p.request, now.Sub(p.started))
	p.stage, p.next = waiting, 0
	if p.choice.Next > 0 {
		p.step = p.started.Add(p.choice.Next)
		d.steps.Set(p)
		if first, _ := d.steps.Min(); first == p {
			wake(d.news)
		}
	}
	d.advance(p)
}

// advance tries the rooms of the choice that come next.
func (d *placing) advance(p *pending) {
	for p.next < len(p.choice.Rooms) {
		l := d.line(p.choice.Rooms[p.next])
		l.limits = p.queue.fleets[l.room.Fleet]
		if l.open(p) {
			d.begin(p, l)
			return
		}
		p.next++
		p.lines = append(p.lines, l)
		l.waiting.Set(p)
		if !l.full {
			l.frontier = append(l.frontier, p)
			d.check(l)
			return
		}
	}
}

// leave takes a placement out of all lines.
func (d *placing) leave(p *pending) {
	for _, l := range p.lines {
		l.waiting.Delete(p)
	}
	clear(p.lines)
	p.lines = p.lines[:0]
	if p.step != 0 {
		d.steps.Delete(p)
		p.step = 0
	}
}

// fail ends a placement whose queue is gone. An attempt that runs is given up.
func (d *placing) fail(p *pending) {
	d.leave(p)
	d.say(p, placement.Fail{ID: p.request.ID, Reason: fmt.Sprintf("Game session queue %s was deleted", p.request.Queue)}, nil)
}

// wake says that a process may have come free.
func (d *placing) wake(l *line) {
	l.wakes++
	l.full = false
	d.check(l)
}

// freed is wake for a fact of a room. activation: an activation is over, which frees
// a process where their number is limited.
func (d *placing) freed(room fleet.RoomID, activation bool) {
	d.mu.Lock()
	defer d.unlock()
	if l, ok := d.lines[room]; ok && (!activation || l.limits.limited()) {
		d.wake(l)
	}
}

// check asks how many processes are free, if somebody waits for the answer.
func (d *placing) check(l *line) {
	if l.full || l.asking || l.waiting.Len() == 0 {
		return
	}
	l.asking = true
	wakes, limits, free := l.wakes, l.limits, 0
	d.posts = append(d.posts, post{
		shard: d.shardOf(l.room),
		read: func(m *region.Machine) {
			if r, ok := m.Room(l.room); ok {
				free = r.FreeFor(limits.activations)
			}
		},
		looked: func(err error) {
			d.mu.Lock()
			defer d.unlock()
			l.asking = false
			if err == nil { // else the recovery of the room's shard wakes the line
				d.counted(l, wakes, free)
			}
		},
	})
}

// counted serves those who wait, the oldest first. free is how many processes were
// free when everything was done that is not counted in underway, and wakes what the
// line had counted before that.
func (d *placing) counted(l *line, wakes uint64, free int) {
	for free -= l.underway; free > 0; free-- {
		p, ok := l.waiting.Min()
		if !ok {
			l.frontier = nil
			return
		}
		d.begin(p, l)
	}
	l.full = l.wakes == wakes
	d.passOn(l)
	d.check(l)
}

// passOn lets those go on to their next rooms who waited to hear that this one is full.
func (d *placing) passOn(l *line) {
	frontier := l.frontier
	l.frontier = nil
	for _, p := range frontier {
		if p.stage == waiting && len(p.lines) > 0 && p.lines[len(p.lines)-1] == l {
			d.advance(p)
		}
	}
}

// first picks the room for the first attempt of a new placement, if one is worth a
// try; else it begins by waiting. That this is a guess does no harm: see refused.
func (d *placing) first(c *placement.Choice) *fleet.RoomID {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range c.Rooms {
		l, known := d.lines[c.Rooms[i]]
		switch {
		case !known || l.open(nil):
			return &c.Rooms[i]
		case !l.full:
			return nil // it waits to hear of this one
		}
	}
	return nil
}

// closed forgets a room that is no more.
func (d *placing) closed(room fleet.RoomID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l, ok := d.lines[room]; ok && l.underway == 0 && l.waiting.Len() == 0 {
		delete(d.lines, room)
	}
}
