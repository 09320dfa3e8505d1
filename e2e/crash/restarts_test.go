//go:build unix

package crash

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// restarts are those of all trials, for the table at the end.
var restarts struct {
	sync.Mutex
	kinds  []string // in the order of their first restart
	ready  map[string][]time.Duration
	rest   map[string][]time.Duration
	totals totals
}

// totals count over all trials.
type totals struct{ acknowledged, lost, doubled, resumed int }

// noteRestart notes how long a start took until the service was ready, and until
// the sockets were back and at rest.
func noteRestart(kind string, ready, rest time.Duration) {
	restarts.Lock()
	defer restarts.Unlock()
	if restarts.ready == nil {
		restarts.ready, restarts.rest = map[string][]time.Duration{}, map[string][]time.Duration{}
	}
	if restarts.ready[kind] == nil {
		restarts.kinds = append(restarts.kinds, kind)
	}
	restarts.ready[kind] = append(restarts.ready[kind], ready)
	restarts.rest[kind] = append(restarts.rest[kind], rest)
}

func noteTotals(t totals) {
	restarts.Lock()
	defer restarts.Unlock()
	sum := &restarts.totals
	sum.acknowledged += t.acknowledged
	sum.lost += t.lost
	sum.doubled += t.doubled
	sum.resumed += t.resumed
}

// printRestarts prints the table; nothing when there was no restart.
func printRestarts(w io.Writer) {
	restarts.Lock()
	defer restarts.Unlock()
	if len(restarts.kinds) == 0 {
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "ended\ttimes\tready p50\tp90\tmax\tat rest p50\tp90\tmax\t")
	for _, kind := range restarts.kinds {
		ready, rest := restarts.ready[kind], restarts.rest[kind]
		fmt.Fprintf(table, "%s\t%d\t", kind, len(ready))
		for _, times := range [][]time.Duration{ready, rest} {
			for _, q := range []float64{0.5, 0.9, 1} {
				fmt.Fprintf(table, "%d ms\t", quantile(times, q).Milliseconds())
			}
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush() // to a terminal or a test's output
	t := restarts.totals
	fmt.Fprintf(w, "%d acknowledged, %d lost, %d doubled, %d sockets resumed\n", t.acknowledged, t.lost, t.doubled,
		t.resumed)
}

// quantile is the smallest of the times that a share q of them does not exceed.
func quantile(times []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(0, int(q*float64(len(sorted))+0.999)-1)]
}
