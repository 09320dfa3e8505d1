package replica

import (
	"slices"

	"github.com/muster-gg/muster/internal/shard"
)

// A waiter waits until a record is applied: for a read, or for an answer that is
// there already.
type waiter[M any] struct {
	seq  uint64
	read func(M) // nil: of an answer
	done func(err error)
}

// give ends the waiting. err is for a read alone: an answer is true, whatever becomes
// of this replica.
func (w *waiter[M]) finish(err error) {
	if w.read == nil {
		err = nil
	}
	w.done(err)
}

// A waitingList holds waiters by their record.
type waitingList[M any] struct{ list []waiter[M] }

func (l *waitingList[M]) len() int { return len(l.list) }

// add keeps the order; nearly always the new one is the last.
func (l *waitingList[M]) add(w waiter[M]) {
	i := len(l.list)
	for i > 0 && l.list[i-1].seq > w.seq {
		i--
	}
	l.list = slices.Insert(l.list, i, w)
}

// take returns those who need no record after seq.
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

// await lets w wait for its record.
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

// look carries out the read of a waiter. mu is held.
func (r *Replica[C, M]) read(w waiter[M]) (err error) {
	if w.read == nil {
		return nil
	}
	defer shard.Catch("caller's read", &err)
	w.read(r.machine)
	return nil
}

// giveDue ends the waiting of all whose record is applied and observed.
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
