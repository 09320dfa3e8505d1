package fleet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// entriesOf lists what an index holds, in order.
func entriesOf(x *textIndex) []uint64 {
	var all []uint64
	for i := 0; i < len(x.shelves); i += 1 << (x.depth - x.shelves[i].depth) {
		s := x.shelves[i]
		list := slices.Concat(s.sorted, s.recent)
		slices.Sort(list)
		all = append(all, withoutRemoved(list)...)
	}
	return all
}

// modelIndex is what a textIndex has to be: by text, how often each ordinal was added.
type modelIndex map[string]map[uint64]int

func (m modelIndex) add(text string, ordinal uint64, n int) {
	if m[text] == nil {
		m[text] = map[uint64]int{}
	}
	if m[text][ordinal] += n; m[text][ordinal] <= 0 {
		delete(m[text], ordinal)
	}
}

func (m modelIndex) clone() modelIndex {
	c := modelIndex{}
	for text, ordinals := range m {
		for o, n := range ordinals {
			c.add(text, o, n)
		}
	}
	return c
}

// compare looks for every text of the model in the index.
func (m modelIndex) compare(x *textIndex) error {
	total := 0
	for text, ordinals := range m {
		found := x.appendTo(nil, text)
		slices.Sort(found)
		found = slices.Compact(found)
		for _, n := range ordinals {
			total += n
		}
		for o := range ordinals {
			if !slices.Contains(found, o) {
				return fmt.Errorf("game session %d is not found by %q", o, text)
			}
		}
		if len(found) > len(ordinals)+2 { // by accident another text may have the same hash
			return fmt.Errorf("by %q are found %d game sessions instead of %d", text, len(found), len(ordinals))
		}
	}
	if all := entriesOf(x); len(all) != total {
		return fmt.Errorf("the index holds %d entries and should have %d", len(all), total)
	}
	return soundIndex(x)
}

// soundIndex looks at how an index is made.
func soundIndex(x *textIndex) error {
	if len(x.shelves) != 1<<x.depth {
		return fmt.Errorf("%d shelves at depth %d", len(x.shelves), x.depth)
	}
	sorted := 0
	for i, s := range x.shelves {
		if n := 1 << (x.depth - s.depth); s != x.shelves[i&^(n-1)] {
			return fmt.Errorf("shelf %d of depth %d is not in %d places", i, s.depth, n)
		} else if i%n == 0 {
			sorted += len(s.sorted)
		}
		if !slices.IsSorted(s.sorted) || slices.ContainsFunc(s.sorted, func(e uint64) bool { return e&removal != 0 }) {
			return fmt.Errorf("shelf %d is not sorted", i)
		}
		for _, e := range slices.Concat(s.sorted, s.recent) {
			if x.shelves[x.slot(e)] != s {
				return fmt.Errorf("entry %x is on shelf %d instead of %d", e, i, x.slot(e))
			}
		}
	}
	if sorted != x.entries {
		return fmt.Errorf("%d entries are sorted and %d counted", sorted, x.entries)
	}
	return nil
}

// TestTextIndex adds and removes at random, with some texts that are under many
// game sessions, and holds the index and copies of it to a map.
func TestTextIndex(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		x, model := newTextIndex(), modelIndex{}
		var copies []*textIndex
		var models []modelIndex
		for range 12_000 {
			text, ordinal := fmt.Sprint("player-", rng.IntN(2000)), rng.Uint64N(50)
			switch n := rng.IntN(100); {
			case n < 20: // a player who is everywhere
				text, ordinal = fmt.Sprint("bot-", n%2), maxOrdinal-rng.Uint64N(400)
				fallthrough
			case n < 70:
				x.add(text, ordinal)
				model.add(text, ordinal, 1)
			case n < 75 && seed%2 == 0:
				text, ordinal = fmt.Sprint("bot-", n%2), maxOrdinal-rng.Uint64N(400)
				fallthrough
			case n < 99:
				if model[text][ordinal] > 0 {
					x.remove(text, ordinal)
					model.add(text, ordinal, -1)
				}
			case len(copies) < 20:
				copies, models = append(copies, x.copy()), append(models, model.clone())
			}
		}
		if x.depth < 2 {
			t.Errorf("seed %d: %d shelves show nothing", seed, len(x.shelves))
		}
		for i, c := range append(copies, x) {
			if err := append(models, model)[i].compare(c); err != nil {
				t.Fatalf("seed %d, copy %d: %v", seed, i, err)
			}
		}
		for text, ordinals := range model {
			for o, n := range ordinals {
				for range n {
					x.remove(text, o)
				}
			}
		}
		if left := entriesOf(x); len(left) > 0 {
			t.Errorf("seed %d: %x are left when all was removed", seed, left)
		}
	}
}

// TestTextIndexSpreads: texts that differ in little fill the shelves evenly.
func TestTextIndexSpreads(t *testing.T) {
	for _, format := range []string{"player-%012d", "%d", "%016x-a", "gsess-00000000-0000-4000-8000-%012d"} {
		x := newTextIndex()
		for i := range 100_000 {
			x.add(fmt.Sprintf(format, i), 1)
		}
		for i, s := range x.shelves {
			if len(s.sorted) > shelfEntries+recentEntries || len(s.sorted) < shelfEntries/4 {
				t.Errorf("%s: shelf %d of %d has %d entries", format, i, len(x.shelves), len(s.sorted))
			}
		}
		different := slices.Compact(entriesOf(x))
		if len(different) < 99_900 {
			t.Errorf("%s: 100,000 texts have %d hashes", format, len(different))
		}
	}
}

// TestTextIndexOfOneText does not look for more bits where there are none.
func TestTextIndexOfOneText(t *testing.T) {
	x := newTextIndex()
	for i := range uint64(100_000) {
		x.add("bot", i)
	}
	if found := x.appendTo(nil, "bot"); len(found) != 100_000 || len(x.shelves) > 1024 {
		t.Errorf("%d game sessions on %d shelves", len(found), len(x.shelves))
	}
	for i := range uint64(100_000) {
		x.remove("bot", i)
	}
	if found := x.appendTo(nil, "bot"); len(found) > 0 {
		t.Errorf("%d game sessions are left", len(found))
	}
}

// BenchmarkTextIndex adds a million players.
func BenchmarkTextIndex(b *testing.B) {
	players := make([]string, 1_000_000)
	for i := range players {
		players[i] = fmt.Sprintf("player-%012d", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		x := newTextIndex()
		for i, p := range players {
			x.add(p, uint64(i/200))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(players)), "ns/player")
}
