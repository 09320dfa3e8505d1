package sim

import (
	"container/heap"
	"time"
)

// An agenda is what will happen, by time and then in the order in which it was
// planned.
type agenda struct {
	planned []appointment
	serial  uint64
}

type appointment struct {
	at     time.Time
	serial uint64
	do     func()
}

func (a *agenda) add(at time.Time, do func()) {
	a.serial++
	heap.Push((*agendaHeap)(a), appointment{at, a.serial, do})
}

// next is when the first appointment is; ok is false when there is none.
func (a *agenda) next() (at time.Time, ok bool) {
	if len(a.planned) == 0 {
		return time.Time{}, false
	}
	return a.planned[0].at, true
}

// due takes the first appointment out, if its time has come.
func (a *agenda) due(now time.Time) (do func(), ok bool) {
	if at, ok := a.next(); !ok || at.After(now) {
		return nil, false
	}
	return heap.Pop((*agendaHeap)(a)).(appointment).do, true
}

type agendaHeap agenda

func (h *agendaHeap) Len() int { return len(h.planned) }
func (h *agendaHeap) Less(i, j int) bool {
	a, b := &h.planned[i], &h.planned[j]
	return a.at.Before(b.at) || a.at.Equal(b.at) && a.serial < b.serial
}
func (h *agendaHeap) Swap(i, j int) { h.planned[i], h.planned[j] = h.planned[j], h.planned[i] }
func (h *agendaHeap) Push(x any)    { h.planned = append(h.planned, x.(appointment)) }
func (h *agendaHeap) Pop() any {
	last := len(h.planned) - 1
	x := h.planned[last]
	h.planned = h.planned[:last]
	return x
}
