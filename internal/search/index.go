package search

import (
	"slices"

	"github.com/tidwall/btree"
)

// An Index holds the ACTIVE game sessions of one fleet location. It has one writer; readers use a Copy.
type Index struct {
	docs  *btree.Map[uint64, *Doc] // by Key
	free  *btree.Set[uint64]       // keys of the docs with free slots
	terms terms
}

// NewIndex returns an empty index.
func NewIndex() *Index {
	return &Index{docs: &btree.Map[uint64, *Doc]{}, free: &btree.Set[uint64]{}, terms: newTerms()}
}

// Put adds d, or replaces the doc with its Key. Created must not be before that of a doc with a smaller Key, nor change
// in a replacement. Put touches only the parts of the index whose values changed: a player who joins or leaves costs
// one tree update, and one more if the session becomes full or free.
func (x *Index) Put(d *Doc) {
	old, replaced := x.docs.Set(d.Key, d)
	switch wasFree := replaced && old.free(); {
	case d.free() && !wasFree:
		x.free.Insert(d.Key)
	case !d.free() && wasFree:
		x.free.Delete(d.Key)
	}
	if replaced {
		if sameTerms(old, d) {
			return
		}
		x.terms.remove(old)
	}
	x.terms.add(d)
}

// Delete removes the doc with the key, if there is one.
func (x *Index) Delete(key uint64) {
	old, ok := x.docs.Delete(key)
	if !ok {
		return
	}
	if old.free() {
		x.free.Delete(key)
	}
	x.terms.remove(old)
}

// Get finds a document.
func (x *Index) Get(key uint64) (*Doc, bool) { return x.docs.Get(key) }

// Len is the number of documents.
func (x *Index) Len() int { return x.docs.Len() }

// Copy returns an independent index with the same docs, in constant time: both share what neither changed. Only the
// writer may call it.
func (x *Index) Copy() *Index {
	return &Index{docs: x.docs.Copy(), free: x.free.Copy(), terms: x.terms.copy()}
}

// sameTerms reports whether the docs have the same id, name and properties. Shared strings and slices compare in
// constant time.
func sameTerms(a, b *Doc) bool {
	return a.ID == b.ID && a.Prefix == b.Prefix && a.Name == b.Name &&
		(sameSlice(a.Properties, b.Properties) || slices.Equal(a.Properties, b.Properties))
}

// sameSlice reports whether two slices are one in memory.
func sameSlice(a, b []Property) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
