package metrics

import "strings"

// A run is equal values in consecutive frames: from is the first, to the one after the last.
type run struct {
	from, to int64
	values   string
}

// runSize is the memory of a run besides its values.
const runSize = 32

// A timeline is the values of one entity, oldest first.
type timeline struct{ runs []run }

// add adds the values of a frame, unless it has one at or after that time. It returns by how many bytes it has grown.
func (t *timeline) add(at int64, values string) (grown int) {
	if n := len(t.runs); n > 0 {
		last := &t.runs[n-1]
		switch {
		case at < last.to:
			return 0
		case at == last.to && values == last.values:
			last.to++
			return 0
		}
	}
	// The values are a part of a larger text, which must not stay in memory.
	t.runs = append(t.runs, run{at, at + 1, strings.Clone(values)})
	return runSize + len(values)
}

// trim removes the frames before a time.
func (t *timeline) trim(before int64) {
	n := 0
	for n < len(t.runs) && t.runs[n].to <= before {
		n++
	}
	if n > 0 {
		t.runs = append([]run(nil), t.runs[n:]...)
	}
}

// visit calls visit with the runs in [from, to), cut to it.
func (t *timeline) visit(from, to int64, visit func(run)) {
	for _, r := range t.runs[t.search(from):] {
		if r.from >= to {
			return
		}
		r.from, r.to = max(r.from, from), min(r.to, to)
		visit(r)
	}
}

// search returns the first run that ends after a time.
func (t *timeline) search(from int64) int {
	low, high := 0, len(t.runs)
	for low < high {
		middle := (low + high) / 2
		if t.runs[middle].to <= from {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// A history is the timelines of the entities that some nodes have recorded.
type history map[string]map[entity]*timeline // by node

// add adds a frame. It returns by how many bytes the history has grown.
func (h history) add(at int64, f *frame) (grown int) {
	entities := h[f.node]
	if entities == nil {
		entities = map[entity]*timeline{}
		h[strings.Clone(f.node)] = entities
	}
	for _, e := range f.entities {
		t := entities[e.entity]
		if t == nil {
			t = &timeline{}
			entities[entity{e.set, strings.Clone(e.a), strings.Clone(e.b)}] = t
			grown += 128 + len(e.a) + len(e.b)
		}
		grown += t.add(at, e.values)
	}
	return grown
}

// trim removes what is before a time.
func (h history) trim(before int64) {
	for node, entities := range h {
		for e, t := range entities {
			if t.trim(before); len(t.runs) == 0 {
				delete(entities, e)
			}
		}
		if len(entities) == 0 {
			delete(h, node)
		}
	}
}

// gather adds a column of an entity to frames, of which the first has number from: what all nodes have recorded.
func (h history) gather(frames []aggregate, from int64, e entity, column int, full float64) {
	f := e.family()
	k := f.columns[column].kind
	for _, entities := range h {
		t := entities[e]
		if t == nil {
			continue
		}
		t.visit(from, from+int64(len(frames)), func(r run) {
			v := valueAt(r.values, f, column)
			for i := r.from; i < r.to; i++ {
				frames[i-from] = frames[i-from].beside(v, k, full)
			}
		})
	}
}
