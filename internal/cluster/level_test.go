package cluster

import (
	"testing"
)

// levels are the levels that a node knows of, by name; negative of those that are gone.
func (m *member) levels() map[string]int {
	levels := map[string]int{}
	for _, k := range m.Known() {
		if levels[k.Node] = k.Level; k.Gone {
			levels[k.Node] = -k.Level
		}
	}
	return levels
}

// Each node sees which feature level the others read, also of one that is stopped or was lost, until
// it is forgotten. One of a release without levels announces none.
func TestLevelsAreKnown(t *testing.T) {
	var book ledger
	s := engine(t)
	n1 := start(t, connect(t, s), &book, "n1", func(c *Config) { c.Level = 2 }, nil)
	n2 := start(t, connect(t, s), &book, "n2", nil, nil)
	n3 := start(t, connect(t, s), &book, "n3", func(c *Config) { c.Level = 3 }, nil)
	want := func(what string, levels map[string]int) {
		t.Helper()
		await(t, what, func() bool {
			got := n1.levels()
			for node, level := range levels {
				if got[node] != level {
					return false
				}
			}
			return len(got) == len(levels)
		})
	}
	want("all levels", map[string]int{"n1": 2, "n2": 0, "n3": 3})
	if err := n3.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-n3.result; err != nil {
		t.Error(err)
	}
	n2.stop()
	want("those of nodes that are gone", map[string]int{"n1": 2, "n2": 0, "n3": -3})
	await(t, "the lost node to be gone", func() bool { return len(n1.Members()) == 1 })
	for range 2 {
		if _, err := n1.Forget(t.Context(), "n3"); err != nil {
			t.Fatal(err)
		}
	}
	want("one to be forgotten", map[string]int{"n1": 2, "n2": 0})
	again := start(t, connect(t, s), &book, "n3", func(c *Config) { c.Level = 4 }, nil)
	want("it to be back", map[string]int{"n1": 2, "n2": 0, "n3": 4})
	again.stop()
	await(t, "it to be lost", func() bool { return len(n1.Members()) == 1 })
	want("its level to be kept", map[string]int{"n1": 2, "n2": 0, "n3": -4})
}
