package fleet

import (
	"container/heap"

	"github.com/muster-gg/muster/internal/event"
)

// timers is the queue of the deadlines of records. A record has at most one live entry, at or before its earliest
// deadline; replaced entries stay in the heap and are skipped.
type timers struct {
	heap timerHeap
	// The live entry of each record: two maps, because integer keys are faster.
	sessions  map[uint64]event.Time
	processes map[ProcessKey]event.Time
}

func newTimers() timers {
	return timers{sessions: map[uint64]event.Time{}, processes: map[ProcessKey]event.Time{}}
}

// pending returns the time of a record's live entry, or zero.
func (t *timers) pending(key timerKey) event.Time {
	if key.session != 0 {
		return t.sessions[key.session]
	}
	return t.processes[key.process]
}

// setPending sets the live entry of a record; zero removes it.
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

type timerKey struct {
	session uint64
	process ProcessKey
}

type timerEntry struct {
	at  event.Time
	key timerKey
}

// schedule ensures that the record is checked at the given time or earlier; zero does nothing.
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

// next returns the time of the earliest entry, or zero.
func (t *timers) next() event.Time {
	t.skip()
	if len(t.heap) == 0 {
		return 0
	}
	return t.heap[0].at
}

// due removes and returns the earliest entry if it is due.
func (t *timers) due(now event.Time) (timerEntry, bool) {
	t.skip()
	if len(t.heap) == 0 || t.heap[0].at > now {
		return timerEntry{}, false
	}
	e := heap.Pop(&t.heap).(timerEntry)
	t.setPending(e.key, 0)
	return e, true
}

// skip drops replaced entries from the front.
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

// before orders by time, then by key, so that the order is deterministic.
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

// maxDue is the maximum number of records that one Expire changes, so that many timeouts do not delay commands. A
// record whose deadline has moved does not count.
const maxDue = 512

// Deadline returns when Expire must be called next, or zero.
func (r *Room) Deadline() event.Time { return earliest(r.timers.next(), r.fleetEventDeadline()) }

// Expire decides and applies expired deadlines, the earliest first, a bounded number at a time: call it again while
// Deadline is not after now.
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

func (r *Room) expireRecord(key timerKey, now event.Time) []any {
	if key.session != 0 {
		g, _ := r.sessions.Get(key.session)
		return r.expireSession(g, now)
	}
	p, _ := r.process(key.process)
	return r.expireProcess(p, now)
}

// wake returns the earliest deadline of a record; zero if it has none or does not exist.
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
