package search

// A Query is one search of one index.
type Query struct {
	Filter *Filter // nil matches everything
	Sort   Sort
	Limit  int       // at most so many hits; none when 0 or less
	After  *Position // the last hit of the page before; nil for the first page
	Source uint32    // tells apart the indexes that are searched together; the same on every page
}

// A Hit is a doc that was found, and its place.
type Hit struct {
	Doc      *Doc
	Position Position
}

// Search returns the first docs behind q.After that pass the filter, in the
// sort's order; equal values come in order of Key. It only reads: any number
// of goroutines may search an index that nobody writes.
func (x *Index) Search(q Query) []Hit {
	if q.Limit <= 0 {
		return nil
	}
	if q.Sort.operand == created {
		return x.walk(q)
	}
	return x.best(q)
}

// walk answers a sort by creation: it goes along the keys, from the first moment
// that the filter leaves open, and stops when it has enough or at the last one.
func (x *Index) walk(q Query) []Hit {
	w := q.Filter.window()
	from, ok := x.begin(q, w)
	if !ok {
		return nil
	}
	var hits []Hit
	x.visit(x.plan(q.Filter, stoppingEarly), from, q.Sort.descending, func(d *Doc) bool {
		if w.passed(d, q.Sort.descending) {
			return false
		}
		if q.Filter.Match(d) {
			r := q.Sort.rank(d, q.Source)
			hits = append(hits, Hit{d, r.position()})
		}
		return len(hits) < q.Limit
	})
	return hits
}

// best answers any other sort: it looks at every candidate and keeps the first
// q.Limit of them.
func (x *Index) best(q Query) []Hit {
	top := top{sort: q.Sort, limit: q.Limit}
	var after rank
	if q.After != nil {
		after = q.After.rank()
	}
	sets := x.plan(q.Filter, readingAll)
	sets = sets[:min(len(sets), 1)] // reading the smallest beats comparing it with others
	x.visit(sets, 0, false, func(d *Doc) bool {
		r := q.Sort.rank(d, q.Source)
		if (q.After == nil || q.Sort.compare(&r, &after) > 0) && top.wants(&r) && q.Filter.Match(d) {
			top.add(candidate{r, d})
		}
		return true
	})
	return top.hits()
}
