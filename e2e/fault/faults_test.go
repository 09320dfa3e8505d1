//go:build unix

package fault

import (
	"fmt"
	"time"

	"github.com/muster-gg/muster/e2e/damage"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
)

// The budgets of a cluster.
const (
	takeOver = 12 * time.Second       // from the loss of an owner to the next one's answers: decision 36 has the sum
	handOver = 500 * time.Millisecond // when an owner leaves in order
)

// A fault is what happens to a service under load.
type fault struct {
	name    string
	nodes   int            // at least
	short   bool           // of the short form too
	prepare func(t *trial) // before the nodes start; nil for nothing
	strike  func(t *trial) // the fault and its end: all nodes run afterwards

	budget  time.Duration // for the longest time without an answer, of a cluster; 0: none
	noFails bool          // no call may fail, of a cluster
}

// faults are all, but for those that only some systems can make.
var faults = []fault{
	{name: "SIGKILL of a shard's owner", nodes: 1, short: true, budget: takeOver,
		strike: func(t *trial) { t.kill(t.ownerOf(playLocations[0])) }},
	{name: "SIGKILL of another node", nodes: 2, budget: takeOver,
		strike: func(t *trial) { t.kill(t.cluster.others(t.ownerOf(playLocations[0]))[0]) }},
	{name: "SIGKILL of all nodes", nodes: 2, strike: func(t *trial) { t.kill(t.cluster.nodes...) }},
	{name: "SIGSTOP of a shard's owner", nodes: 1, budget: takeOver, strike: func(t *trial) {
		n := t.ownerOf(playLocations[0])
		n.Freeze()
		t.hold()
		n.Thaw()
		t.cluster.awaitReady(t.ctx, n)
	}},
	{name: "network cut, both ways", nodes: 3, short: true, budget: takeOver,
		strike: func(t *trial) { t.cut(sends | receives) }},
	{name: "network cut, owner sends nothing", nodes: 3, budget: takeOver, strike: func(t *trial) { t.cut(sends) }},
	{name: "network cut, owner receives nothing", nodes: 3, budget: takeOver,
		strike: func(t *trial) { t.cut(receives) }},
	{name: "rolling restart", nodes: 1, short: true, budget: handOver, noFails: true, strike: func(t *trial) {
		for _, n := range t.cluster.nodes {
			n.Stop()
			n.AwaitEnd()
			t.cluster.start(t.ctx, n) // until /readyz says so: operators are told to wait for no more
		}
	}},
	{name: "corrupted tail of a stream", nodes: 1, strike: corruptTail},
}

// ownerOf is the node that owns the shard of a location.
func (t *trial) ownerOf(location string) *node {
	return t.cluster.owner(t.ctx, region.ShardOf(fleet.RoomID{Fleet: fleet.ID(t.fleet), Location: location},
		t.cluster.shards))
}

// kill kills nodes, lets the others serve for a while, if there are any, and starts them
// again.
func (t *trial) kill(nodes ...*node) {
	for _, n := range nodes {
		n.Kill()
	}
	if len(nodes) < len(t.cluster.nodes) {
		t.awaitAnswers(further)
	}
	t.cluster.start(t.ctx, nodes...)
}

// hold lets a fault last.
func (t *trial) hold() { pause(t.ctx, *lasts) }

// cut cuts the owner of a shard off from the others for a while.
func (t *trial) cut(s side) {
	n := t.ownerOf(playLocations[0])
	t.cluster.cut(n, s)
	t.hold()
	t.cluster.mend(n, s)
	t.cluster.awaitReady(t.ctx, n)
}

// corruptTail kills the owner of a shard and damages the end of that shard's stream. What is
// alone finds a record that was being written when it was killed, which nobody was told of;
// of a cluster's node the last record that it had confirmed is cut too, and the others have
// it.
func corruptTail(t *trial) {
	shard := region.ShardOf(fleet.RoomID{Fleet: fleet.ID(t.fleet), Location: playLocations[0]}, t.cluster.shards)
	n := t.cluster.owner(t.ctx, shard)
	n.Kill()
	store := damage.Store{T: t.t, Dir: n.data}
	store.Change(streamOf(shard), func(data []byte, all []damage.Message) []byte {
		last := all[len(all)-1]
		if len(t.cluster.nodes) > 1 {
			return data[:last.Offset+last.Size/2]
		}
		return append(data, data[last.Offset:last.Offset+last.Size/2]...)
	})
	t.cluster.start(t.ctx, n)
}

// streamOf is the stream of a shard's journal.
func streamOf(shard int) string { return fmt.Sprintf("MUSTER_SHARD_%d", shard) }
