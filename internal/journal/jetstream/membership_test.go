package jetstream_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/journal/jetstream"
)

// complete waits until nodes, and no others, have so many copies.
func (c *testCluster) complete(copies int, names ...string) {
	c.t.Helper()
	c.await("copies are complete", func() bool {
		members, err := c.nodes[0].Members(c.t.Context())
		whole := 0
		for _, m := range members {
			if m.Behind > 0 || !slices.Contains(names, m.Name) {
				return false
			}
			whole += m.Copies
		}
		return err == nil && whole == copies && len(members) == len(names)
	})
}

// missed waits until a node is known to be away.
func (c *testCluster) missed(name string) {
	c.t.Helper()
	c.await(name+" is missed", func() bool {
		members, _ := c.nodes[0].Members(c.t.Context())
		for _, m := range members {
			if m.Name == name {
				return m.Copies > 0 && m.Copies == m.Behind
			}
		}
		return false
	})
}

func (c *testCluster) await(what string, ok func() bool) {
	c.t.Helper()
	// Between two looks at a condition.
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("in vain waited for: %s", what)
		}
	}
}

// A node that is removed does not count any more, and others keep what it kept.
func TestClusterRemovesNode(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		const shards = 6
		c := newClusterOf(t, 4)
		c.startAll()
		var writers []*writer
		for i := range shards {
			w := &writer{t: t, j: c.journal(0, i)}
			w.append()
			writers = append(writers, w)
		}
		copies := 3 * len(jetstream.Streams(t, c.nodes[0]))
		c.complete(copies, "n1", "n2", "n3", "n4")
		for name, want := range map[string]error{
			"n1": jetstream.ErrNodeIsUp, "n4": jetstream.ErrNodeIsUp, "n5": jetstream.ErrNotMember,
		} {
			if err := c.nodes[0].Remove(t.Context(), name); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", name, err, want)
			}
		}

		c.stop(3)
		c.missed("n4")
		if err := c.nodes[0].Remove(t.Context(), "n4"); err != nil {
			t.Fatal(err)
		}
		c.complete(copies, "n1", "n2", "n3")
		if err := c.nodes[0].Remove(t.Context(), "n3"); !errors.Is(err, jetstream.ErrNodeIsUp) {
			t.Errorf("n3: got %v", err)
		}
		c.stop(2)
		c.missed("n3")
		if err := c.nodes[0].Remove(t.Context(), "n3"); !errors.Is(err, jetstream.ErrTooFew) {
			t.Errorf("n3: got %v", err)
		}

		c.stop(0) // two of three are a majority, of four they would not be
		c.start(0)
		for i, w := range writers {
			w.j = c.journal(0, i)
			w.append()
		}
	})
}
