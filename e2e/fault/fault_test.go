//go:build unix

package fault

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/muster-gg/muster/e2e/binary"
	chromium "github.com/muster-gg/muster/e2e/browser"
)

var (
	nodes  = flag.Int("nodes", 3, "how many nodes the cluster has")
	full   = flag.Bool("full", false, "all faults, and not those of the short form alone")
	strict = flag.Bool("strict", false,
		"hold a cluster to its budgets of time and failed calls; needs a machine that does nothing else")
	lasts  = flag.Duration("lasts", 4*time.Second, "how long a node is stopped, or cut off")
	arenas = flag.Int("arenas", 1, "how many arenas run as processes of their own")
	docs   = flag.String("docs", "", "directory of the documents; the table is written into faults.md there")
)

// binaryDir holds the binary for all tests of this package.
var binaryDir string

func TestMain(m *testing.M) {
	var err error
	if binaryDir, err = os.MkdirTemp("", "muster-fault-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(tests{m}, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(binaryDir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))
}

// tests are those of this package, which may have started a browser.
type tests struct{ *testing.M }

// Run runs them, and closes the browser.
func (t tests) Run() int {
	status := t.M.Run()
	if err := chromium.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = max(status, 1)
	}
	return status
}

// build makes the binary, once.
var build = sync.OnceValues(func() (string, error) { return binary.Build(context.Background(), binaryDir) })

// A service survives each fault: nothing that it acknowledged is lost or doubled, and its
// answers are those of one service.
func TestFaults(t *testing.T) {
	var rows []row
	for _, f := range faults {
		if f.nodes > *nodes || !f.short && !*full {
			continue
		}
		t.Run(strings.ReplaceAll(f.name, " ", "-"), func(t *testing.T) {
			trial := newTrial(t, *nodes)
			r, err := trial.run(f)
			if err != nil {
				t.Error(err)
			}
			trial.found.Tell(t)
			t.Log(r)
			r.judge(t, f)
			rows = append(rows, r)
		})
	}
	outcome(t, rows)
}
