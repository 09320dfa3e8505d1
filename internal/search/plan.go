package search

import (
	"cmp"
	"slices"
)

// A keySet names keys of docs that the index keeps in order: those with free
// places, or those with a term.
type keySet struct {
	term bool
	hash uint64 // of the term
	size int    // about how many keys
}

// A set of keys helps only when it is clearly smaller than all docs, because
// finding a doc by its key costs more than reading the docs in order. These are
// the shares of all docs, in sixteenths, up to which it paid in BenchmarkSearch.
const (
	readingAll    = 4  // when every candidate is read
	stoppingEarly = 15 // when the first hits end the search: skipping a long run of docs is worth much
)

// plan finds the sets of keys that hold every doc that f can match, the
// smallest first. Without any that is small enough, all docs must be read.
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

// keySet finds the keys of all docs for which c holds; other keys may be among
// them where hashes collide. ok is false when the index does not follow them.
func (x *Index) keySet(c *condition) (set keySet, ok bool) {
	if c.operand == available {
		return keySet{size: x.free.Len()}, c.wantsFree()
	}
	hash, size, ok := x.terms.lookup(c)
	return keySet{term: true, hash: hash, size: size}, ok
}

// wantsFree reports whether a condition on hasAvailablePlayerSessions holds for
// the docs with free places, and for no other.
func (c *condition) wantsFree() bool { return (c.comparator == equal) == (c.number == 1) }
