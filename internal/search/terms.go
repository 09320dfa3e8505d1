package search

import (
	"strings"

	"github.com/tidwall/btree"
)

// maxPropertyKeys is the maximum number of indexed property keys. Queries for others scan. Source: API reference,
// SearchGameSessions (searchable property keys).
const maxPropertyKeys = 500

// terms finds the docs with an id, a name, or a value of a property.
//
// A term is an operand with a value, represented by its hash: a posting is a hash and a Key, 16 bytes in one tree for
// all terms. A hash collision only makes a lookup slower, because the whole filter is applied to every doc found.
type terms struct {
	postings *btree.BTreeG[posting]
	counts   *btree.Map[uint64, int] // postings by hash, without ids: those are unique
	keys     *btree.Map[string, int] // indexed property keys, and how many docs have each
	strays   int                     // number of searchable properties whose key is not indexed
}

// A posting records that a doc has a term.
type posting struct{ hash, key uint64 }

func before(a, b posting) bool {
	return a.hash < b.hash || a.hash == b.hash && a.key < b.key
}

func newTerms() terms {
	return terms{
		postings: btree.NewBTreeGOptions(before, btree.Options{NoLocks: true}),
		counts:   &btree.Map[uint64, int]{},
		keys:     &btree.Map[string, int]{},
	}
}

func (t *terms) copy() terms {
	return terms{postings: t.postings.Copy(), counts: t.counts.Copy(), keys: t.keys.Copy(), strays: t.strays}
}

func (t *terms) add(d *Doc) {
	t.postings.Set(posting{hashID(d.Prefix, d.ID), d.Key})
	if d.Name != "" {
		t.insert(hashName(d.Name), d.Key)
	}
	for _, p := range d.Properties {
		if searchable(p.Key) && t.follow(p.Key) {
			t.insert(hashProperty(p.Key, p.Value), d.Key)
		}
	}
}

// remove removes the terms of d, which were added before.
func (t *terms) remove(d *Doc) {
	t.postings.Delete(posting{hashID(d.Prefix, d.ID), d.Key})
	if d.Name != "" {
		t.delete(hashName(d.Name), d.Key)
	}
	for _, p := range d.Properties {
		if searchable(p.Key) && t.unfollow(p.Key) {
			t.delete(hashProperty(p.Key, p.Value), d.Key)
		}
	}
}

func (t *terms) insert(hash, key uint64) {
	if _, was := t.postings.Set(posting{hash, key}); !was {
		n, _ := t.counts.Get(hash)
		t.counts.Set(hash, n+1)
	}
}

func (t *terms) delete(hash, key uint64) {
	if _, was := t.postings.Delete(posting{hash, key}); !was {
		return
	}
	if n, _ := t.counts.Get(hash); n > 1 {
		t.counts.Set(hash, n-1)
	} else {
		t.counts.Delete(hash)
	}
}

// follow counts one more doc with the property key and reports whether the key is indexed. A new key is indexed only if
// there are no strays: then no doc has it yet, and an indexed key is indexed for every doc.
func (t *terms) follow(key string) bool {
	n, ok := t.keys.Get(key)
	if !ok && (t.keys.Len() == maxPropertyKeys || t.strays > 0) {
		t.strays++
		return false
	}
	t.keys.Set(key, n+1)
	return true
}

// unfollow counts one doc less with the property key and reports whether the key was indexed.
func (t *terms) unfollow(key string) bool {
	n, ok := t.keys.Get(key)
	switch {
	case !ok:
		t.strays--
	case n > 1:
		t.keys.Set(key, n-1)
	default:
		t.keys.Delete(key)
	}
	return ok
}

// searchable reports whether an expression can name the property key.
func searchable(key string) bool { return !strings.ContainsAny(key, breaks+".") }

// lookup finds the term of a condition: its hash and about how many docs have it. ok is false if the terms cannot
// answer the condition.
func (t *terms) lookup(c *condition) (hash uint64, size int, ok bool) {
	if c.comparator != equal {
		return 0, 0, false
	}
	switch {
	case c.operand == id:
		return hashID("", c.text), 1, true
	case c.operand == name && c.text != "":
		hash = hashName(c.text)
	case c.operand == property:
		if _, ok := t.keys.Get(c.key); !ok && t.strays > 0 {
			return 0, 0, false
		}
		hash = hashProperty(c.key, c.text)
	default:
		return 0, 0, false
	}
	size, _ = t.counts.Get(hash)
	return hash, size, true
}

// The hash is 64-bit FNV-1a over the operand, the key of a property, and the value. It is not seeded, so that equal
// inputs give equal trees everywhere.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func hashID(prefix, rest string) uint64 {
	return hashText(hashText(hashByte(fnvOffset, byte(id)), prefix), rest)
}

func hashName(value string) uint64 { return hashText(hashByte(fnvOffset, byte(name)), value) }

func hashProperty(key, value string) uint64 {
	return hashText(hashByte(hashText(hashByte(fnvOffset, byte(property)), key), '='), value)
}

func hashText(h uint64, s string) uint64 {
	for i := range len(s) {
		h = hashByte(h, s[i])
	}
	return h
}

func hashByte(h uint64, c byte) uint64 { return (h ^ uint64(c)) * fnvPrime }
