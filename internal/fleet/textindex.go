package fleet

import "slices"

// A textIndex finds game sessions by a text. An entry is one number: the hash of the text and the ordinal of the game
// session. It does not store the texts, so a lookup may return game sessions of another text with the same hash: the
// caller must check. An entry may occur several times.
//
// Entries are in shelves by the first bits of their hash; long shelves are split. A new entry is appended to a short
// unsorted list, which is merged into the sorted one when it is long enough: this avoids a cache miss for each entry. A
// removal is an entry too, and cancels its counterpart when both are sorted.
//
// Copies share what neither has changed.
type textIndex struct {
	shelves []*shelf // by the first bits of the hash; several in a row may be one
	depth   int      // how many bits
	entries int      // in the sorted lists

	generation uint64 // changes with each copy
	made       uint64 // the generation in which shelves was allocated
}

type shelf struct {
	depth  int      // the number of hash bits that its entries have in common
	sorted []uint64 // no removals
	recent []uint64 // in the order of insertion

	generation uint64 // in which the shelf was created: others are shared
	// in which the lists were created; older ones are only appended to, beyond the length that copies see
	lists uint64
}

// An entry is 27 bits of hash, 36 bits of the ordinal, and one that marks a removal, which therefore sorts directly
// after the entry that it removes.
const (
	removal   = 1
	hashShift = 37
	hashBits  = 64 - hashShift
)

const (
	recentEntries = 64   // or a sixteenth of the sorted ones, if that is more
	shelfEntries  = 1024 // before a shelf is split
)

func entryOf(text string, ordinal uint64) uint64 { return hashText(text) | ordinal<<1 }

func newTextIndex() *textIndex { return &textIndex{shelves: []*shelf{{}}} }

// copy returns a copy that may be read concurrently with the writer.
func (x *textIndex) copy() *textIndex {
	c := *x
	x.generation++
	return &c
}

func (x *textIndex) add(text string, ordinal uint64) { x.insert(entryOf(text, ordinal)) }

// remove undoes one add.
func (x *textIndex) remove(text string, ordinal uint64) { x.insert(entryOf(text, ordinal) | removal) }

// appendTo appends the ordinals of the game sessions of a text, unordered.
func (x *textIndex) appendTo(found []uint64, text string) []uint64 {
	hash := hashText(text)
	s := x.shelves[x.slot(hash)]
	first, _ := slices.BinarySearch(s.sorted, hash)
	for _, e := range s.sorted[first:] {
		if e>>hashShift != hash>>hashShift {
			break
		}
		found = append(found, e>>1&maxOrdinal)
	}
	for _, e := range s.recent {
		if e>>hashShift != hash>>hashShift {
			continue
		}
		ordinal := e >> 1 & maxOrdinal
		if e&removal == 0 {
			found = append(found, ordinal)
		} else if i := slices.Index(found, ordinal); i >= 0 {
			found = slices.Delete(found, i, i+1)
		}
	}
	return found
}

// slot returns the position of an entry's shelf.
func (x *textIndex) slot(e uint64) uint64 { return e >> (64 - x.depth) }

func (x *textIndex) insert(e uint64) {
	s := x.writable(e)
	s.recent = append(s.recent, e)
	if len(s.recent) >= max(recentEntries, len(s.sorted)/16) {
		x.sort(s)
	}
}

// writable returns the shelf of an entry, copied if it is shared.
func (x *textIndex) writable(e uint64) *shelf {
	s := x.shelves[x.slot(e)]
	if s.generation == x.generation {
		return s
	}
	c := *s
	c.generation = x.generation
	x.place(&c, e)
	return &c
}

// place stores a shelf at all positions of its prefix.
func (x *textIndex) place(s *shelf, e uint64) {
	if x.made != x.generation {
		x.shelves, x.made = slices.Clone(x.shelves), x.generation
	}
	n := uint64(1) << (x.depth - s.depth)
	first := x.slot(e) &^ (n - 1)
	for i := range n {
		x.shelves[first+i] = s
	}
}

// sort merges the recent entries of a shelf into the sorted ones.
func (x *textIndex) sort(s *shelf) {
	if s.lists != x.generation {
		s.sorted, s.recent, s.lists = slices.Clone(s.sorted), slices.Clone(s.recent), x.generation
	}
	x.entries -= len(s.sorted)
	slices.Sort(s.recent)
	s.sorted = withoutRemoved(merge(s.sorted, s.recent))
	s.recent = s.recent[:0]
	x.entries += len(s.sorted)
	if len(s.sorted) > shelfEntries && s.depth < hashBits && 1<<s.depth <= x.entries/(shelfEntries/4) {
		x.split(s)
	}
}

// merge merges the second of two sorted lists into the first, from the end.
func merge(a, b []uint64) []uint64 {
	i, j := len(a), len(b)
	a = append(a, b...)
	for k := len(a); j > 0; {
		k--
		if i > 0 && a[i-1] > b[j-1] {
			i--
			a[k] = a[i]
		} else {
			j--
			a[k] = b[j]
		}
	}
	return a
}

// withoutRemoved drops removals and the entries that they remove.
func withoutRemoved(sorted []uint64) []uint64 {
	if !slices.ContainsFunc(sorted, func(e uint64) bool { return e&removal != 0 }) {
		return sorted
	}
	left := sorted[:0]
	for _, e := range sorted {
		if e&removal == 0 {
			left = append(left, e)
		} else if n := len(left); n > 0 && left[n-1] == e&^removal {
			left = left[:n-1]
		}
	}
	return slices.Clip(slices.Clone(left))
}

// split divides a shelf in two. The caller limits the number of shelves in proportion to all entries: many entries of
// one text cannot be divided.
func (x *textIndex) split(s *shelf) {
	if s.depth == x.depth {
		x.double()
	}
	bit := uint64(1) << (63 - s.depth)
	middle, _ := slices.BinarySearchFunc(s.sorted, bit, func(e, bit uint64) int {
		if e&bit != 0 {
			return 1
		}
		return -1
	})
	prefix := s.sorted[0] &^ (2*bit - 1)
	upper := &shelf{depth: s.depth + 1, sorted: slices.Clone(s.sorted[middle:]), generation: x.generation,
		lists: x.generation}
	s.depth, s.sorted = s.depth+1, s.sorted[:middle]
	x.place(s, prefix)
	x.place(upper, prefix|bit)
}

// double doubles the number of positions.
func (x *textIndex) double() {
	shelves := make([]*shelf, 0, 2*len(x.shelves))
	for _, s := range x.shelves {
		shelves = append(shelves, s, s)
	}
	x.shelves, x.made = shelves, x.generation
	x.depth++
}

// hashText returns the hash bits of an entry. It has no seed: the same texts give the same index everywhere.
func hashText(s string) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	h ^= h >> 32 // the end of the text does not affect the first bits yet
	h *= 0x9e3779b97f4a7c15
	return h &^ (1<<hashShift - 1)
}
