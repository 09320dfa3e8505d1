package search

import "slices"

// A candidate is a doc with its rank.
type candidate struct {
	rank rank
	doc  *Doc
}

// top keeps the first limit candidates, in a heap with the last of them at the root.
type top struct {
	sort  Sort
	limit int
	heap  []candidate
}

// wants reports whether a candidate of this rank would be kept.
func (t *top) wants(r *rank) bool {
	return len(t.heap) < t.limit || t.sort.compare(r, &t.heap[0].rank) < 0
}

// add adds a wanted candidate, which replaces the last one if top is full.
func (t *top) add(c candidate) {
	if len(t.heap) == t.limit {
		t.heap[0] = c
		t.down()
		return
	}
	t.heap = append(t.heap, c)
	for i := len(t.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !t.later(i, parent) {
			return
		}
		t.heap[i], t.heap[parent] = t.heap[parent], t.heap[i]
		i = parent
	}
}

// down restores the heap after the root changed.
func (t *top) down() {
	for i := 0; ; {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.heap); child++ {
			if t.later(child, last) {
				last = child
			}
		}
		if last == i {
			return
		}
		t.heap[i], t.heap[last] = t.heap[last], t.heap[i]
		i = last
	}
}

// later reports whether candidate i sorts after candidate j.
func (t *top) later(i, j int) bool { return t.sort.compare(&t.heap[i].rank, &t.heap[j].rank) > 0 }

// hits returns the candidates in order.
func (t *top) hits() []Hit {
	slices.SortFunc(t.heap, func(a, b candidate) int { return t.sort.compare(&a.rank, &b.rank) })
	hits := make([]Hit, len(t.heap))
	for i := range t.heap {
		hits[i] = Hit{t.heap[i].doc, t.heap[i].rank.position()}
	}
	return hits
}
