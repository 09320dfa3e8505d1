package sessions

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
)

// An item is one line of the walk-through.
type item struct {
	number    int
	name      string // of its test
	statement string // what holds if the test passes
	check     func(*testing.T)
}

// marks says of each item whose test has run if it has passed.
var marks struct {
	sync.Mutex
	passed map[int]bool
}

// walk runs the tests of the items, some at a time.
func walk(t *testing.T, items []item) {
	t.Helper()
	for _, i := range items {
		t.Run(fmt.Sprintf("%d %s", i.number, i.name), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() { mark(i.number, !t.Failed()) }) // the last one, when the others have had their say
			i.check(t)
		})
	}
}

func mark(number int, passed bool) {
	marks.Lock()
	defer marks.Unlock()
	if marks.passed == nil {
		marks.passed = map[int]bool{}
	}
	before, ran := marks.passed[number]
	marks.passed[number] = passed && (before || !ran)
}

// listMarks prints the items with their marks. One that was not run has not passed.
func listMarks(out io.Writer, items []item) {
	marks.Lock()
	defer marks.Unlock()
	passed := 0
	for _, i := range slices.SortedFunc(slices.Values(items), func(a, b item) int { return a.number - b.number }) {
		sign := "✗"
		if marks.passed[i.number] {
			sign = "✓"
			passed++
		}
		fmt.Fprintf(out, "%s %2d  %s\n", sign, i.number, i.statement)
	}
	fmt.Fprintf(out, "%d of %d items hold\n", passed, len(items))
}
