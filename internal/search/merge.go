package search

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

// before reports whether a comes before b.
func (s Sort) before(a, b Hit) bool {
	ra, rb := a.Position.rank(), b.Position.rank()
	return s.compare(&ra, &rb) < 0
}
