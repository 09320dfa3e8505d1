package e2e

import (
	"testing"
	"time"

	"github.com/muster-gg/muster"
)

// TestClusterBackupUnderLoad takes backups of a cluster, from one node and another, while clients
// work through all nodes. It is TestBackupUnderLoad otherwise.
func TestClusterBackupUnderLoad(t *testing.T) {
	dir, names := t.TempDir(), []string{"n1", "n2", "n3"}
	if _, err := muster.InitCluster(dir, names, time.Now()); err != nil {
		t.Fatal(err)
	}
	nodes := startNodes(t, dir, names...)
	loads := newBackupLoads(t, nodes...)
	for i, asked := range nodes[1:] {
		players, placements, aliases := loads.await(t, 10*(1+i))
		file := asked.backup(t)
		restored := start(t, func(c *muster.Config) { c.Data, c.Shards = restore(t, file), 0 })
		restored.AccessKey, restored.SecretKey = asked.AccessKey, asked.SecretKey
		restored.holds(t, players, placements, aliases)
		restored.stop()
	}
	loads.stop()
}
