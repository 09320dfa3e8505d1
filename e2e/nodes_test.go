package e2e

import (
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/muster-gg/muster"
)

// newNodes configures the nodes of a cluster, each with its data directory in dir.
func newNodes(t *testing.T, dir string, names []string, change ...func(*muster.Config)) (nodes []*service) {
	t.Helper()
	peers := freeAddresses(t, len(names))
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

// freeAddresses are some on which nobody listens.
func freeAddresses(t *testing.T, n int) (free []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		free = append(free, l.Addr().String())
	}
	return free
}
