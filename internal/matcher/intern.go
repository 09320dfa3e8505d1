package matcher

// A table gives strings small numbers, so that the search compares numbers. It
// counts who uses each string: a pool lives for months and strings come with
// every ticket.
type table struct {
	numbers map[string]int32
	strings []interned
	free    []int32 // numbers that nobody uses
}

type interned struct {
	s     string
	users int
}

// number is that of s, which then has one more user.
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

// text is the string of a number in use.
func (t *table) text(n int32) string { return t.strings[n].s }
