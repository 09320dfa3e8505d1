package replica

import (
	"slices"

	"github.com/muster-gg/muster/internal/shard"
)

// A waiter waits for a record to be applied: a read, or an answer that has arrived.
type waiter[M any] struct {
	seq  uint64
	read func(M) // nil: an answer
	done func(err error)
}

// finish completes the waiter. Only a read gets err: an answer is valid whatever happens to this replica.
func (w *waiter[M]) finish(err error) {
	if w.read == nil {
		err = nil
	}
	w.done(err)
}

// A waitingList holds waiters by their record.
type waitingList[M any] struct{ list []waiter[M] }

func (l *waitingList[M]) len() int { return len(l.list) }

// add keeps the order; usually the new one is the last.
func (l *waitingList[M]) add(w waiter[M]) {
	i := len(l.list)
	for i > 0 && l.list[i-1].seq > w.seq {
		i--
	}
	l.list = slices.Insert(l.list, i, w)
}

// take removes and returns the waiters that need no record after seq.
func (l *waitingList[M]) take(seq uint64) []waiter[M] {
	n := 0
	for n < len(l.list) && l.list[n].seq <= seq {
		n++
	}
	if n == 0 {
		return nil
	}
	taken := slices.Clone(l.list[:n])
	l.list = slices.Delete(l.list, 0, n)
	return taken
}

func (l *waitingList[M]) takeAll() []waiter[M] {
	taken := l.list
	l.list = nil
	return taken
}

func (r *Replica[C, M]) await(w waiter[M]) {
	r.mu.Lock()
	switch s := r.owned.Load(); {
	case r.ended:
		r.mu.Unlock()
		w.finish(shard.Stopped())
	case s != nil:
		r.mu.Unlock()
		r.finishOn(s, w)
	case !r.usable || r.observed < w.seq:
		r.waiting.add(w)
		r.mu.Unlock()
	default:
		err := r.read(w)
		r.mu.Unlock()
		w.finish(err)
	}
}

// read runs the read of a waiter. mu is held.
func (r *Replica[C, M]) read(w waiter[M]) (err error) {
	if w.read == nil {
		return nil
	}
	defer shard.Catch("caller's read", &err)
	w.read(r.machine)
	return nil
}

// finishDue completes all waiters whose record is applied and observed.
func (r *Replica[C, M]) finishDue() {
	r.mu.Lock()
	due := r.waiting.take(r.observed)
	errs := make([]error, len(due))
	for i := range due {
		errs[i] = r.read(due[i])
	}
	r.mu.Unlock()
	for i := range due {
		due[i].finish(errs[i])
	}
}
