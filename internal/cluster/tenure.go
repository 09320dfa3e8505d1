package cluster

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Tenure is the time for which this process owns a shard.
type Tenure struct {
	Done  <-chan struct{} // closed when it is over: the owner finishes what it has and steps down
	Holds func() bool     // whether the lease holds at this moment by Config.Elapsed: asked before anything is answered that no append has fenced
	Ended func()          // called once when the owner has stepped down: nothing is answered by it any more
}

// grant is until when a life holds what it owns, in nanoseconds since the node's
// beginning.
type grant struct{ until atomic.Int64 }

// tenure is this package's side of a Tenure.
type tenure struct {
	stop  func() // both are idempotent
	ended func()
}

// begin hands a tenure to whoever runs the shard.
func (n *Node) begin(shard int) {
	var over atomic.Bool
	g := n.grant
	done := make(chan struct{})
	t := &tenure{stop: sync.OnceFunc(func() { close(done) })}
	t.ended = sync.OnceFunc(func() {
		over.Store(true)
		n.post(func() { n.finish(shard) })
	})
	holds := func() bool { return !over.Load() && n.elapsed() < time.Duration(g.until.Load()) }
	n.tenures[shard] = t
	n.owning[shard].Store(true)
	n.offers[shard] <- Tenure{Done: done, Holds: holds, Ended: t.ended} // has room: the one before has ended
	n.cfg.Log.Info("the node owns a shard", "shard", shard)
}

// end lets a tenure end. When nobody has taken it yet, it has ended.
func (n *Node) end(shard int) {
	n.cfg.Log.Info("the node gives up a shard", "shard", shard)
	n.owning[shard].Store(false)
	t := n.tenures[shard]
	t.stop()
	select {
	case <-n.offers[shard]:
		n.workers.Go(t.ended) // not at once: the loop takes the next step when it hears of it
	default:
	}
}

// finish notes that nothing is left of a tenure.
func (n *Node) finish(shard int) {
	n.tenures[shard] = nil
	n.owning[shard].Store(false)
	n.machine.Ended(shard)
}
