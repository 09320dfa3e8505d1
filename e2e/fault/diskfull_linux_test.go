//go:build linux && diskfull

package fault

import (
	"path/filepath"

	"github.com/muster-gg/muster/e2e/damage"
)

// diskSize is the size of a node's disk, in MiB.
const diskSize = 64

func init() { faults = append(faults, diskFull()) }

// diskFull has the disk of the first node fill up until that ends, makes space, and starts it
// again.
func diskFull() fault {
	var disk *damage.SmallDisk
	return fault{
		name: "disk full", nodes: 1, budget: takeOver,
		prepare: func(t *trial) {
			disk = damage.NewSmallDisk(t.t, diskSize)
			t.cluster.nodes[0].data = filepath.Join(disk.Path, "data")
		},
		strike: func(t *trial) {
			n := t.cluster.nodes[0]
			disk.Fill(64 << 10)
			n.AwaitFailure(t.ctx, "the disk is full: free some space")
			disk.Free()
			t.cluster.start(t.ctx, n)
		},
	}
}
