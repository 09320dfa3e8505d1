//go:build unix

package fault

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/e2e/report"
)

// A row is what came of one fault.
type row struct {
	fault         string
	nodes         int
	calls         int // acknowledged
	lost, doubled int
	failures      map[string]int // calls, by kind
	longest       time.Duration  // without an answer in a location
	resumed       int            // game servers
	back          time.Duration  // from the first answers after the fault until all game servers were at rest
	checked       int            // operations of the history
}

// String is the row in words.
func (r row) String() string {
	return fmt.Sprintf("%s, %d nodes: %d calls acknowledged, %d lost, %d doubled, failed: %s, at most %s without "+
		"an answer, %d game servers resumed %s later, %d operations linearizable",
		r.fault, r.nodes, r.calls, r.lost, r.doubled, r.failed(), r.gap(), r.resumed, r.back.Round(10*time.Millisecond),
		r.checked)
}

// gap is the longest time without an answer, as people read it.
func (r row) gap() time.Duration { return r.longest.Round(10 * time.Millisecond) }

// failed lists the failed calls.
func (r row) failed() string {
	if len(r.failures) == 0 {
		return "none"
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(r.failures)) {
		kinds = append(kinds, fmt.Sprintf("%d × %s", r.failures[kind], kind))
	}
	return strings.Join(kinds, ", ")
}

// judge holds a cluster to its budgets. A node alone has none: what ends it ends its answers.
func (r row) judge(t *testing.T, f fault) {
	if !*strict || r.nodes < 3 {
		return
	}
	if f.budget > 0 && r.longest > f.budget {
		t.Errorf("%s without an answer; at most %s are allowed", r.longest, f.budget)
	}
	if f.noFails && len(r.failures) > 0 {
		t.Errorf("failed calls: %s; none is allowed", r.failed())
	}
}

// outcome prints the table, and writes it into the documents if asked to.
func outcome(t *testing.T, rows []row) {
	table := report.Table{{"fault", "nodes", "calls acknowledged", "lost", "doubled", "failed calls",
		"longest time without an answer", "game servers resumed", "later", "operations linearizable"}}
	for _, r := range rows {
		table = append(table, []string{
			r.fault, fmt.Sprint(r.nodes), fmt.Sprint(r.calls), fmt.Sprint(r.lost), fmt.Sprint(r.doubled), r.failed(),
			fmt.Sprintf("%.2f s", r.longest.Seconds()), fmt.Sprint(r.resumed), fmt.Sprintf("%.1f s", r.back.Seconds()),
			fmt.Sprint(r.checked),
		})
	}
	t.Logf("%s\n%s", report.Machine(), table)
	if *docs != "" && !t.Failed() {
		report.ReplaceBlock(t, filepath.Join(*docs, "faults.md"), "faults",
			fmt.Sprintf("%s.\n\n%s", report.Machine(), table))
	}
}
