package e2e

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/child"
)

// newNodes configures the nodes of a cluster, each with its data directory in dir.
func newNodes(t *testing.T, dir string, names []string, change ...func(*muster.Config)) (nodes []*service) {
	t.Helper()
	random := rand.New(rand.NewPCG(rand.Uint64(), 0))
	var peers []string
	for len(peers) < len(names) {
		if free := child.FreeAddress(t, random); !slices.Contains(peers, free) {
			peers = append(peers, free)
		}
	}
	for i, name := range names {
		nodes = append(nodes, newService(t, append([]func(*muster.Config){func(c *muster.Config) {
			c.Data, c.Shards, c.SnapshotEvery = filepath.Join(dir, name), 0, 100
			c.Cluster.Node, c.Cluster.Listen, c.Cluster.Peers = name, peers[i], peers
		}}, change...)...))
	}
	t.Cleanup(func() { stopNodes(nodes) })
	return nodes
}

// runNodes starts nodes at once, and waits until all of them answer.
func runNodes(t *testing.T, nodes []*service) {
	t.Helper()
	var ready []func()
	for _, s := range nodes {
		ready = append(ready, s.begin())
	}
	for _, await := range ready {
		await()
	}
}

// stopNodes stops nodes at once.
func stopNodes(nodes []*service) {
	var stopping sync.WaitGroup
	for _, s := range nodes {
		stopping.Go(s.stop)
	}
	stopping.Wait()
}
