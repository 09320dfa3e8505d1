package sim

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

var (
	seeds = flag.Int("seeds", 200, "number of simulations")
	seed  = flag.Uint64("seed", 0, "run this one alone, and print its trace")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSim runs seeds. To see one again: SEED=17 make sim
func TestSim(t *testing.T) {
	if *seed != 0 {
		r := Run(t, *seed, Options{Trace: true})
		t.Log("\n" + strings.Join(r.Trace, "\n"))
		if r.Err != nil {
			t.Fatalf("seed %d: %v", *seed, r.Err)
		}
		return
	}
	var mu sync.Mutex
	seen := Seen{}
	t.Run("seeds", func(t *testing.T) {
		for n := range uint64(*seeds) {
			t.Run(fmt.Sprintf("seed=%d", n+1), func(t *testing.T) {
				t.Parallel()
				r := Run(t, n+1, Options{})
				if r.Err != nil {
					t.Errorf("seed %d: %v\n%s", n+1, r.Err, strings.Join(r.Trace, "\n"))
				}
				mu.Lock()
				defer mu.Unlock()
				seen.Add(r.Seen)
			})
		}
	})
	t.Log(seen)
}

// TestSameSeedSameRun: a seed gives the same run to the byte, whatever the
// goroutines of the shards do meanwhile.
func TestSameSeedSameRun(t *testing.T) {
	for n := range uint64(20) {
		t.Run(fmt.Sprintf("seed=%d", n+1), func(t *testing.T) {
			t.Parallel()
			first, second := Run(t, n+1, Options{Trace: true}), Run(t, n+1, Options{Trace: true})
			for i := range min(len(first.Trace), len(second.Trace)) {
				if first.Trace[i] != second.Trace[i] {
					t.Fatalf("line %d is\n%s\nand then\n%s", i, first.Trace[i], second.Trace[i])
				}
			}
			if len(first.Trace) != len(second.Trace) || len(first.Trace) < 100 {
				t.Errorf("%d lines, and then %d", len(first.Trace), len(second.Trace))
			}
		})
	}
}
