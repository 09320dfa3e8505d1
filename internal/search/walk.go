package search

import (
	"math"

	"github.com/tidwall/btree"
)

// visit calls f with the docs whose keys are in all sets, in order of Key or backwards, beginning at from, until f
// returns false. Without sets it visits all docs.
func (x *Index) visit(sets []keySet, from uint64, backwards bool, f func(*Doc) bool) {
	if len(sets) == 0 {
		x.visitAll(from, backwards, f)
		return
	}
	read := reader{docs: x.docs.Iter(), backwards: backwards}
	x.visitKeys(sets, from, backwards, func(key uint64) bool {
		d, ok := read.get(key)
		return !ok || f(d)
	})
}

func (x *Index) visitAll(from uint64, backwards bool, f func(*Doc) bool) {
	direction := x.docs.Ascend
	if backwards {
		direction = x.docs.Descend
	}
	direction(from, func(_ uint64, d *Doc) bool { return f(d) })
}

// visitKeys calls f with the keys that are in all sets. With several sets it asks each in turn for the first key not
// before the last one found, which skips long runs of keys that one set lacks.
func (x *Index) visitKeys(sets []keySet, from uint64, backwards bool, f func(key uint64) bool) {
	if len(sets) == 1 {
		x.each(sets[0], from, backwards, f)
		return
	}
	var found uint64
	var ok bool
	first := func(key uint64) bool {
		found, ok = key, true
		return false
	}
	for agreed, i := 0, 0; ; i = (i + 1) % len(sets) {
		ok = false
		x.each(sets[i], from, backwards, first)
		switch {
		case !ok:
			return
		case found == from:
			agreed++
		default:
			from, agreed = found, 1
		}
		if agreed < len(sets) {
			continue
		}
		if !f(from) || from == lastKey(backwards) {
			return
		}
		if agreed = 0; backwards {
			from--
		} else {
			from++
		}
	}
}

// each calls f with the keys of one set.
func (x *Index) each(set keySet, from uint64, backwards bool, f func(key uint64) bool) {
	ofTerm := func(p posting) bool { return p.hash == set.hash && f(p.key) }
	switch {
	case set.term && backwards:
		x.terms.postings.Descend(posting{set.hash, from}, ofTerm)
	case set.term:
		x.terms.postings.Ascend(posting{set.hash, from}, ofTerm)
	case backwards:
		x.free.Descend(from, f)
	default:
		x.free.Ascend(from, f)
	}
}

// firstKey returns the key at which a walk over everything begins.
func firstKey(backwards bool) uint64 { return lastKey(!backwards) }

// lastKey returns the last possible key.
func lastKey(backwards bool) uint64 {
	if backwards {
		return 0
	}
	return math.MaxUint64
}

// A reader gets docs by ordered keys. To nearby docs it steps along the tree, which is faster than searching from the
// root.
type reader struct {
	docs      btree.MapIter[uint64, *Doc]
	backwards bool
	started   bool
}

// closeBy is how many steps cost about as much as one search.
const closeBy = 16

// get returns the doc with the key, which must be after the previous one.
func (r *reader) get(key uint64) (*Doc, bool) {
	if r.started {
		for range closeBy {
			if !r.step() {
				break
			}
			if r.docs.Key() == key {
				return r.docs.Value(), true
			}
		}
	}
	r.started = r.docs.Seek(key)
	if !r.started || r.docs.Key() != key {
		return nil, false
	}
	return r.docs.Value(), true
}

// step moves to the neighbour in the reader's direction.
func (r *reader) step() bool {
	if r.backwards {
		return r.docs.Prev()
	}
	return r.docs.Next()
}
