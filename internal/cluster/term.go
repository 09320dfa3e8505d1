package cluster

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Term is the time during which this process owns a shard.
type Term struct {
	Done <-chan struct{} // closed at its end: the owner completes its work and stops
	// Holds reports whether the lease is valid now, by Config.Elapsed. It is checked before each response that no
	// append has fenced.
	Holds func() bool
	Ended func() // called once when the owner has stopped: it sends no more responses
}

// grant is the end of the validity of a run's leases, in nanoseconds since the node's start.
type grant struct{ until atomic.Int64 }

// term is this package's side of a Term.
type term struct {
	stop  func() // both are idempotent
	ended func()
}

// begin offers a term to the shard's owner.
func (n *Node) begin(shard int) {
	var over atomic.Bool
	g := n.grant
	done := make(chan struct{})
	t := &term{stop: sync.OnceFunc(func() { close(done) })}
	t.ended = sync.OnceFunc(func() {
		over.Store(true)
		n.post(func() { n.finish(shard) })
	})
	holds := func() bool { return !over.Load() && n.elapsed() < time.Duration(g.until.Load()) }
	n.terms[shard] = t
	n.owning[shard].Store(true)
	n.offers[shard] <- Term{Done: done, Holds: holds, Ended: t.ended} // does not block: the one before has ended
	n.cfg.Log.Info("shard acquired", "shard", shard)
}

// end ends a term. If the owner has not received it yet, it has ended.
func (n *Node) end(shard int) {
	n.cfg.Log.Info("shard released", "shard", shard)
	n.owning[shard].Store(false)
	t := n.terms[shard]
	t.stop()
	select {
	case <-n.offers[shard]:
		n.workers.Go(t.ended) // it posts to the loop, which is the caller
	default:
	}
}

// finish records that a term has ended completely.
func (n *Node) finish(shard int) {
	n.terms[shard] = nil
	n.owning[shard].Store(false)
	n.machine.Ended(shard)
}
