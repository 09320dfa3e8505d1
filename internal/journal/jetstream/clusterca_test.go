package jetstream_test

import (
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/listen/localca"
)

// The server keeps to certificates that are not in its configuration but asked for, on both
// sides of a connection.
func TestClusterWithNodeCertificates(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		dir := t.TempDir()
		if err := localca.CreateCA(dir, time.Now()); err != nil {
			t.Fatal(err)
		}
		c := newCluster(t)
		for i := range c.configs {
			node, err := localca.Node(dir, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			c.configs[i].Cluster.TLS = node
		}
		c.startAll()
		w := &writer{t: t, j: c.journal(0, 0)}
		w.append()
		f := follow(t, c.journal(1, 0), 0)
		defer f.end()
		f.await(w.last)
	})
}
