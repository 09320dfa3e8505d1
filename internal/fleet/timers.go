package fleet

import (
	"container/heap"

	"github.com/muster-gg/muster/internal/event"
)

// timers is the queue of the moments at which a record has to be looked at.
// There is at most one live entry a record, at its earliest deadline or before
// it; entries that were overtaken stay in the heap and are skipped.
type timers struct {
	heap timerHeap
	// The live entry of each record. The two kinds are apart because numbers are
	// found more quickly than texts.
	sessions  map[uint64]event.Time
	processes map[ProcessKey]event.Time
}

func newTimers() timers {
	return timers{sessions: map[uint64]event.Time{}, processes: map[ProcessKey]event.Time{}}
}

// pending is the moment of a record's live entry, or zero.
func (t *timers) pending(key timerKey) event.Time {
	if key.session != 0 {
		return t.sessions[key.session]
	}
	return t.processes[key.process]
}

// setPending notes the live entry of a record; zero: it has none.
func (t *timers) setPending(key timerKey, at event.Time) {
	switch {
	case key.session != 0 && at == 0:
		delete(t.sessions, key.session)
	case key.session != 0:
		t.sessions[key.session] = at
	case at == 0:
		delete(t.processes, key.process)
	default:
		t.processes[key.process] = at
	}
}

// timerKey is a game session or a process.
type timerKey struct {
	session uint64
	process ProcessKey
}

type timerEntry struct {
	at  event.Time
	key timerKey
}

// schedule makes sure that the record is looked at by the given moment; zero
// asks for nothing.
func (t *timers) schedule(key timerKey, at event.Time) {
	if at == 0 {
		return
	}
	if pending := t.pending(key); pending != 0 && pending <= at {
		return
	}
	t.setPending(key, at)
	heap.Push(&t.heap, timerEntry{at, key})
}

// next is the moment of the earliest entry, or zero.
func (t *timers) next() event.Time {
	t.skip()
	if len(t.heap) == 0 {
		return 0
	}
	return t.heap[0].at
}

// due takes the earliest entry out if its moment has come.
func (t *timers) due(now event.Time) (timerEntry, bool) {
	t.skip()
	if len(t.heap) == 0 || t.heap[0].at > now {
		return timerEntry{}, false
	}
	e := heap.Pop(&t.heap).(timerEntry)
	t.setPending(e.key, 0)
	return e, true
}

// skip drops overtaken entries from the front.
func (t *timers) skip() {
	for len(t.heap) > 0 && t.pending(t.heap[0].key) != t.heap[0].at {
		heap.Pop(&t.heap)
	}
}

type timerHeap []timerEntry

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].before(h[j]) }
func (h timerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)        { *h = append(*h, x.(timerEntry)) }
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}

// before orders by time, then by key, so that what is due at one moment is
// always done in the same order.
func (a timerEntry) before(b timerEntry) bool {
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.key.session != b.key.session:
		return a.key.session < b.key.session
	default:
		return a.key.process.before(b.key.process)
	}
}

// maxDue is the number of records that one Expire changes, so that a crowd of
// time-outs does not hold up the commands. Looking at a record whose deadline
// has moved on costs next to nothing and does not count.
const maxDue = 512

// Deadline is when Expire next has something to do, or zero.
func (r *Room) Deadline() event.Time { return earliest(r.timers.next(), r.fleetEventDeadline()) }

// Expire decides and applies what is due, the earliest first and a bounded part
// of it at a time: call it again while Deadline is not after now.
func (r *Room) Expire(now event.Time) []any {
	var events []any
	do := func(more []any) {
		for _, e := range more {
			r.Apply(e)
		}
		events = append(events, more...)
	}
	for changed := 0; changed < maxDue; {
		timer, ok := r.timers.due(now)
		if !ok {
			break
		}
		if r.wake(timer.key) == timer.at {
			do(r.expireRecord(timer.key, now))
			changed++
		}
		r.timers.schedule(timer.key, r.wake(timer.key)) // it may have moved on, or there is a next one
	}
	do(r.expireFleetEvents(now))
	return events
}

// expireRecord gives the events for what is due at a record, which exists.
func (r *Room) expireRecord(key timerKey, now event.Time) []any {
	if key.session != 0 {
		g, _ := r.sessions.Get(key.session)
		return r.expireSession(g, now)
	}
	p, _ := r.process(key.process)
	return r.expireProcess(p, now)
}

// wake is the earliest deadline of a record; zero when it has none or is gone.
func (r *Room) wake(key timerKey) event.Time {
	if key.session != 0 {
		if g, ok := r.sessions.Get(key.session); ok {
			return g.wake()
		}
	} else if p, ok := r.process(key.process); ok {
		return p.wake()
	}
	return 0
}
