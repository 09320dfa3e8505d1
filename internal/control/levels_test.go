package control

import (
	"testing"

	"github.com/muster-gg/muster/internal/control/drivers"
	"github.com/muster-gg/muster/internal/region"
)

// allAt reports whether all nodes have all shards at a feature level.
func (n *net) allAt(level int) bool {
	for _, w := range n.worlds {
		for i := range n.shards {
			if w.Level(i) != level {
				return false
			}
		}
	}
	return true
}

// While one node of a region is of an older release, nothing is written that it cannot read, whichever node leads and
// owns the shards. When it is upgraded, or removed, the shards get the new level.
func TestNothingAboveTheOldestNode(t *testing.T) {
	for name, end := range map[string]func(n *net){
		"upgraded": func(n *net) { n.reads["1"] = region.MaxLevel },
		"removed":  func(n *net) { delete(n.reads, "1") },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetOf(t, region.MaxLevel, 1, region.MaxLevel)
			first, last := n.worlds[0], n.worlds[2]
			p := n.worlds[1].poolAt("", 4, "custom-a")
			last.addQueue("q", nil, p)
			defer n.worlds[1].serveAll(p.all()...)()
			for round, w := range n.worlds { // each of them owns all shards, and leads
				if round > 0 {
					for i := range n.shards {
						n.give(i, round)
					}
				}
				id := text(w.startPlace(string(rune('a'+round)), nil), "GameSessionPlacement", "PlacementId")
				first.advance("the placement to be FULFILLED", drivers.LevelPause, func() bool {
					return text(w.place(id), "Status") == "FULFILLED"
				})
				for range 5 {
					first.clock.Advance(2 * drivers.LevelPause)
					w.must("ListLocations", object{})
				}
			}
			if !n.allAt(1) || n.above.Load() > 0 {
				t.Fatalf("all shards at level 1: %v; the older node read %d facts above it", n.allAt(1), n.above.Load())
			}

			n.levelMu.Lock()
			end(n)
			n.levelMu.Unlock()
			first.advance("all shards to have the new level", drivers.LevelPause,
				func() bool { return n.allAt(region.MaxLevel) })
		})
	}
}

// A region without a cluster has the newest level as soon as it serves.
func TestLevelAlone(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		for i := range w.journals {
			if got := w.Level(i); got != region.MaxLevel {
				t.Errorf("shard %d is at level %d", i, got)
			}
		}
		w.restart()
	}
}
