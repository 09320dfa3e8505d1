package search

import (
	"math"
	"sort"

	"github.com/muster-gg/muster/internal/event"
)

// A window is the range of creation times of the docs that a filter can match, inclusive.
type window struct{ first, last event.Time }

// always is the window of a filter without conditions on the creation time.
var always = window{math.MinInt64, math.MaxInt64}

// window computes the bounds from the conditions that every match must meet.
func (f *Filter) window() window {
	w := always
	if f == nil {
		return w
	}
	for _, c := range f.must {
		if c.operand != created || c.comparator == different {
			continue
		}
		if at := event.Time(c.number); c.comparator == equal {
			w.first, w.last = max(w.first, at), min(w.last, at)
		} else if c.comparator == less || c.comparator == atMost {
			w.last = min(w.last, at)
		} else {
			w.first = max(w.first, at)
		}
	}
	return w
}

// passed reports whether a walk has left the window at d.
func (w window) passed(d *Doc, backwards bool) bool {
	if backwards {
		return d.Created < w.first
	}
	return d.Created > w.last
}

// begin finds the key at which a walk in order of creation begins: the first doc in the window and after q.After. ok is
// false if there is none. The position may belong to another index, or to a deleted doc.
func (x *Index) begin(q Query, w window) (from uint64, ok bool) {
	if q.After == nil && w == always {
		return firstKey(q.Sort.descending), true
	}
	oldest := Sort{operand: created}
	age := func(d *Doc) int { // below zero: created before the position
		r, after := oldest.rank(d, q.Source), q.After.rank()
		return oldest.compare(&r, &after)
	}
	i := sort.Search(x.docs.Len(), func(i int) bool {
		_, d, _ := x.docs.GetAt(i)
		if q.Sort.descending {
			return d.Created > w.last || q.After != nil && age(d) >= 0
		}
		return d.Created >= w.first && (q.After == nil || age(d) > 0)
	})
	if q.Sort.descending {
		i--
	}
	from, _, ok = x.docs.GetAt(i)
	return from, ok
}
