package replica

import (
	"errors"

	"github.com/muster-gg/muster/internal/shard"
)

// A barrier collects reads: those before a request to the owner share its answer, later ones share the next one.
type barrier[M any] struct {
	next   []pendingRead[M]
	asking bool
}

// A pendingRead is a read that does not know its record yet.
type pendingRead[M any] struct {
	read func(M)
	done func(err error)
}

func (b *barrier[M]) take() []pendingRead[M] {
	taken := b.next
	b.next = nil
	return taken
}

// submitRead reads here, after a barrier.
func (r *Replica[C, M]) submitRead(read func(M), done func(err error)) {
	r.mu.Lock()
	r.barrier.next = append(r.barrier.next, pendingRead[M]{read, done})
	r.mu.Unlock()
	r.askBarrier()
}

// askBarrier asks the owner, if reads wait and no request is in progress.
func (r *Replica[C, M]) askBarrier() {
	r.mu.Lock()
	if r.barrier.asking || len(r.barrier.next) == 0 {
		r.mu.Unlock()
		return
	}
	r.barrier.asking = true
	reads := r.barrier.take()
	r.mu.Unlock()
	r.cfg.Peer.Barrier(func(seq uint64, err error) {
		r.mu.Lock()
		r.barrier.asking = false
		if errors.Is(err, shard.ErrOutcomeUnknown) && !r.ended {
			r.barrier.next = append(reads, r.barrier.next...) // the owner failed: ask the next one
			reads = nil
		}
		r.mu.Unlock()
		r.askBarrier()
		for _, read := range reads {
			if err != nil {
				read.done(failure(err))
				continue
			}
			r.await(waiter[M]{seq: seq, read: read.read, done: read.done})
		}
	})
}
