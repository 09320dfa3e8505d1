package event

import (
	"maps"
	"slices"
)

// OptNumbers writes numbers by their names, if there are any, in the order of the
// names. The library writes such a map in any order; everything reads both.
func (w *MapWriter) OptNumbers(key byte, numbers map[string]float64) {
	if len(numbers) == 0 {
		return
	}
	w.key(key)
	w.buf = appendHead(w.buf, majorMap, uint64(len(numbers)))
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		w.buf = appendText(w.buf, &name)
		w.buf = appendFloat(w.buf, numbers[name])
	}
}

// Numbers reads numbers by their names. Names that are not in order are left to the
// library: one may stand there twice.
func (r *MapReader) Numbers() map[string]float64 {
	n := r.head(majorMap)
	if n > r.left() { // an item is a byte or more
		r.failed = true
	}
	if r.failed {
		return nil
	}
	numbers := make(map[string]float64, n)
	for last := ""; n > 0 && !r.failed; n-- {
		name := r.Text()
		if len(numbers) > 0 && name <= last {
			r.failed = true
		}
		last = name
		numbers[name] = r.Float()
	}
	return numbers
}
