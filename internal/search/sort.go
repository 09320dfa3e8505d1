package search

import (
	"cmp"
	"slices"
	"strings"
)

// A Sort is a parsed sort expression. The zero Sort is by creation, ascending.
type Sort struct {
	operand    operand
	key        string // of a property
	descending bool
}

// ByCreation reports whether the order is that of creation, which is the cheapest.
func (s Sort) ByCreation() bool { return s.operand == created }

// ParseSort parses a sort expression: an operand, then ASC (optional) or DESC. "" is the order of creation. Errors are
// as for ParseFilter.
func ParseSort(expression string) (Sort, error) {
	if expression == "" {
		return Sort{}, nil
	}
	p, err := newParser("sort", expression)
	if err != nil {
		return Sort{}, err
	}
	var s Sort
	if s.operand, s.key, err = p.operand(p.next); err != nil {
		return Sort{}, err
	}
	if err := p.advance(); err != nil {
		return Sort{}, err
	}
	s.descending = p.keyword("DESC")
	if s.descending || p.keyword("ASC") {
		if err := p.advance(); err != nil {
			return Sort{}, err
		}
	} else if p.next.kind != end {
		return Sort{}, p.fail(p.next, "expected ASC, DESC or the end, found %s", p.next)
	}
	if p.next.kind != end {
		return Sort{}, p.fail(p.next, "expected the end, found %s: only one operand sorts", p.next)
	}
	return s, nil
}

// maxSortText is how many bytes of a text are used for sorting, so that a position fits in a paging token. Longer texts
// with the same prefix are sorted by Key.
const maxSortText = 512

// A rank is the sort position of a doc. Its text is in two parts, like game session ids, so that ranking does not
// allocate.
type rank struct {
	missing    bool // the doc has no value: it is last in either direction
	number     int64
	head, tail string
	key        uint64
	source     uint32
}

func (s Sort) rank(d *Doc, source uint32) rank {
	r := rank{key: d.Key, source: source}
	switch s.operand {
	case id:
		r.head, r.tail = d.Prefix, d.ID
	case name:
		r.tail, r.missing = d.Name, d.Name == ""
	case property:
		value, ok := d.property(s.key)
		r.tail, r.missing = value, !ok
	default:
		r.number = d.number(s.operand)
	}
	r.head = r.head[:min(len(r.head), maxSortText)]
	r.tail = r.tail[:min(len(r.tail), maxSortText-len(r.head))]
	return r
}

// compare orders two ranks: by value, then Key, then source, reversed if descending; without a value last.
func (s Sort) compare(a, b *rank) int {
	if a.missing != b.missing {
		if a.missing {
			return 1
		}
		return -1
	}
	order := cmp.Compare(a.number, b.number)
	if order == 0 {
		order = compareJoined(a.head, a.tail, b.head, b.tail)
	}
	if order == 0 {
		order = cmp.Compare(a.key, b.key)
	}
	if order == 0 {
		order = cmp.Compare(a.source, b.source)
	}
	if s.descending {
		return -order
	}
	return order
}

// compareJoined compares aHead+aTail with bHead+bTail without joining them.
func compareJoined(aHead, aTail, bHead, bTail string) int {
	if aHead == bHead {
		return strings.Compare(aTail, bTail)
	}
	for {
		if aHead == "" {
			aHead, aTail = aTail, ""
		}
		if bHead == "" {
			bHead, bTail = bTail, ""
		}
		n := min(len(aHead), len(bHead))
		if n == 0 {
			return cmp.Compare(len(aHead), len(bHead))
		}
		if order := strings.Compare(aHead[:n], bHead[:n]); order != 0 {
			return order
		}
		aHead, bHead = aHead[n:], bHead[n:]
	}
}

// Merge merges hits, each list in the order of s, into one list of at most limit hits. The lists must come from the
// same Query but for its Source.
func Merge(s Sort, limit int, lists ...[]Hit) []Hit {
	total := 0
	for _, hits := range lists {
		total += len(hits)
	}
	merged := make([]Hit, 0, min(total, max(limit, 0)))
	next := make([]int, len(lists)) // per list, the first hit not yet merged
	for len(merged) < cap(merged) {
		best := -1
		for i, hits := range lists {
			if next[i] < len(hits) && (best < 0 || s.before(hits[next[i]], lists[best][next[best]])) {
				best = i
			}
		}
		merged = append(merged, lists[best][next[best]])
		next[best]++
	}
	return merged
}

// First sorts hits, and returns the first ones up to the limit.
func (s Sort) First(limit int, hits []Hit) []Hit {
	slices.SortFunc(hits, func(a, b Hit) int {
		ra, rb := a.Position.rank(), b.Position.rank()
		return s.compare(&ra, &rb)
	})
	return hits[:min(limit, len(hits))]
}

func (s Sort) before(a, b Hit) bool {
	ra, rb := a.Position.rank(), b.Position.rank()
	return s.compare(&ra, &rb) < 0
}
