package search

import (
	"cmp"
	"slices"
)

// A keySet identifies an ordered set of keys: those with free slots, or those with a term.
type keySet struct {
	term bool
	hash uint64 // of the term
	size int    // approximate
}

// Finding a doc by its key costs more than reading the docs in order, so a set of keys is used only if it is smaller
// than this share of all docs, in sixteenths. Measured with BenchmarkSearch.
const (
	readingAll    = 4  // when every candidate is read
	stoppingEarly = 15 // when the first hits end the search
)

// plan returns the sets of keys that contain every doc that f can match, the smallest first. If none is small enough,
// all docs must be read.
func (x *Index) plan(f *Filter, share int) []keySet {
	if f == nil {
		return nil
	}
	limit := x.docs.Len() * share / 16
	var sets []keySet
	for i := range f.must {
		if set, ok := x.keySet(&f.must[i]); ok && set.size <= limit {
			sets = append(sets, set)
		}
	}
	slices.SortStableFunc(sets, func(a, b keySet) int { return cmp.Compare(a.size, b.size) })
	return sets
}

// keySet finds the keys of all docs for which c holds; hash collisions may add others. ok is false if the index has no
// such set.
func (x *Index) keySet(c *condition) (set keySet, ok bool) {
	if c.operand == available {
		return keySet{size: x.free.Len()}, c.wantsFree()
	}
	hash, size, ok := x.terms.lookup(c)
	return keySet{term: true, hash: hash, size: size}, ok
}

// wantsFree reports whether a condition on hasAvailablePlayerSessions holds for exactly the docs with free slots.
func (c *condition) wantsFree() bool { return (c.comparator == equal) == (c.number == 1) }
