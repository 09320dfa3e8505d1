// Package leaktest fails tests that leave goroutines behind.
package leaktest

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long goroutines may take to end after what they work for, on a busy machine.
const patience = 10 * time.Second

// Main runs the tests of a package, as its TestMain, and fails if a goroutine is left behind the last of them. Ignored
// functions are those of Check.
func Main(m *testing.M, ignored ...string) {
	status := m.Run()
	if status == 0 {
		if left := await(nil, ignored, patience); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "goroutines are left behind:\n\n%s\n", strings.Join(left, "\n\n"))
			status = 1
		}
	}
	os.Exit(status)
}

// Check returns a function that fails the test if a goroutine is left that did not run at the call of Check. Those with
// an ignored function on their stack, such as "example.org/pkg.(*T).loop", do not count.
func Check(t testing.TB, ignored ...string) (end func()) {
	before := map[string]bool{}
	for _, stack := range others() {
		before[id(stack)] = true
	}
	return func() {
		t.Helper()
		if left := await(before, ignored, patience); len(left) > 0 {
			t.Errorf("goroutines are left behind:\n\n%s", strings.Join(left, "\n\n"))
		}
	}
}

// await waits until no goroutine is left, and returns the stacks of those that are left after some time.
func await(before map[string]bool, ignored []string, limit time.Duration) []string {
	ignored = append([]string{
		"testing.(*T).Run", "testing.(*T).Parallel", "testing.runTests", "testing.(*M).Run",
		"os/signal.loop", "runtime.ensureSigM", "runtime/pprof.profileWriter",
	}, ignored...)
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		left := slices.DeleteFunc(others(), func(stack string) bool {
			calls := func(function string) bool { return strings.Contains(stack, "\n"+function+"(") }
			return before[id(stack)] || slices.ContainsFunc(ignored, calls)
		})
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(pause)
	}
}

// others returns the stacks of all goroutines but the one that calls.
func others() []string {
	text := make([]byte, 64<<10)
	for {
		if n := runtime.Stack(text, true); n < len(text) {
			return strings.Split(strings.TrimSpace(string(text[:n])), "\n\n")[1:]
		}
		text = make([]byte, 2*len(text))
	}
}

// id returns the number of a goroutine: a stack begins with "goroutine 7 [running]:".
func id(stack string) string { return strings.Fields(stack)[1] }
