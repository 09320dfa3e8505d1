package matcher

// A table interns strings as small numbers, which the search compares. It counts the uses of each string, because a
// pool lives for months.
type table struct {
	numbers map[string]int32
	strings []interned
	free    []int32 // unused numbers
}

type interned struct {
	s     string
	users int
}

// number returns the number of s and counts one more use.
func (t *table) number(s string) int32 {
	n, ok := t.numbers[s]
	if !ok {
		n = t.take()
		t.strings[n].s = s
		if t.numbers == nil {
			t.numbers = map[string]int32{}
		}
		t.numbers[s] = n
	}
	t.strings[n].users++
	return n
}

func (t *table) take() int32 {
	if last := len(t.free) - 1; last >= 0 {
		n := t.free[last]
		t.free = t.free[:last]
		return n
	}
	t.strings = append(t.strings, interned{})
	return int32(len(t.strings) - 1) //nolint:gosec // bounded by the tickets in memory
}

// release ends one use of a number.
func (t *table) release(n int32) {
	in := &t.strings[n]
	in.users--
	if in.users > 0 {
		return
	}
	delete(t.numbers, in.s)
	in.s = ""
	t.free = append(t.free, n)
}

// text returns the string of a number in use.
func (t *table) text(n int32) string { return t.strings[n].s }
