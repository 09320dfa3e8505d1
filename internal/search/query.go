package search

import "iter"

// A Query selects and sorts documents.
type Query struct {
	Filter *Filter // nil matches everything
	Sort   Sort
	Limit  int       // maximum number of hits; 0 or less: none
	After  *Position // the last hit of the previous page; nil for the first page
	Until  *Position // hits after it are not needed; nil: all are
	Source uint32    // identifies an index among those searched together; the same on every page
}

// A Hit is a found doc with its position.
type Hit struct {
	Doc      *Doc
	Position Position
}

// Search returns the first docs after q.After that pass the filter, in the sort's order; equal values are in order of
// Key. It only reads: concurrent searches are safe without a writer.
func (x *Index) Search(q Query) []Hit {
	if q.Limit <= 0 {
		return nil
	}
	if q.Sort.ByCreation() {
		return x.walk(q)
	}
	return x.best(q)
}

// walk searches in order of creation: it visits the keys in the filter's window until it has enough hits.
func (x *Index) walk(q Query) []Hit {
	w := q.Filter.window()
	from, ok := x.begin(q, w)
	if !ok {
		return nil
	}
	var hits []Hit
	_, until := q.bounds()
	x.visit(x.plan(q.Filter, stoppingEarly), from, q.Sort.descending, func(d *Doc) bool {
		if w.passed(d, q.Sort.descending) {
			return false
		}
		if q.Filter.Match(d) {
			r := q.Sort.rank(d, q.Source)
			if q.Until != nil && q.Sort.compare(&r, &until) > 0 {
				return false
			}
			hits = append(hits, Hit{d, r.position()})
		}
		return len(hits) < q.Limit
	})
	return hits
}

// best searches in any other order: it visits every candidate and keeps the first q.Limit.
func (x *Index) best(q Query) []Hit {
	sets := x.plan(q.Filter, readingAll)
	sets = sets[:min(len(sets), 1)] // reading the smallest is faster than intersecting sets
	return q.Among(func(visit func(*Doc) bool) { x.visit(sets, 0, false, visit) })
}

// Among is Search among docs in any order, which may be in no index.
func (q *Query) Among(docs iter.Seq[*Doc]) []Hit {
	top := top{sort: q.Sort, limit: q.Limit}
	after, until := q.bounds()
	for d := range docs {
		r := q.Sort.rank(d, q.Source)
		if (q.After == nil || q.Sort.compare(&r, &after) > 0) && (q.Until == nil || q.Sort.compare(&r, &until) <= 0) &&
			top.wants(&r) && q.Filter.Match(d) {
			top.add(candidate{r, d})
		}
	}
	return top.hits()
}

// bounds returns the ranks of After and Until, if they are set.
func (q *Query) bounds() (after, until rank) {
	if q.After != nil {
		after = q.After.rank()
	}
	if q.Until != nil {
		until = q.Until.rank()
	}
	return after, until
}
