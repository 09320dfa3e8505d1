package cluster

import (
	"sync/atomic"
	"testing"
	"time"
)

// TestSuspendedNodeHoldsNothing: a node whose machine was suspended for longer than a lease does
// not answer reads when it wakes, before anything else of it has run. Its heartbeats are so far
// apart here that none is written meanwhile.
func TestSuspendedNodeHoldsNothing(t *testing.T) {
	var suspended atomic.Int64
	var book ledger
	m := start(t, connect(t, engine(t)), &book, "n1", func(c *Config) {
		c.Lease = time.Hour
		c.Elapsed = func() time.Duration { return time.Duration(suspended.Load()) }
	}, nil)
	holds := func() bool {
		m.tenants[0].mu.Lock()
		defer m.tenants[0].mu.Unlock()
		return m.tenants[0].holds()
	}
	await(t, "the shard to be held", holds)
	suspended.Store(int64(49 * time.Minute)) // others wait for an hour
	if !holds() {
		t.Error("it does not hold the shard while nobody can have taken it")
	}
	suspended.Store(int64(time.Hour))
	if holds() {
		t.Error("it still holds the shard, which others may have taken")
	}
	m.Ready() // wakes the loop, which writes a heartbeat
	await(t, "the shard to be held again", holds)
}
