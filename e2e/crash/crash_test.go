//go:build unix

package crash

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/muster-gg/muster/e2e/binary"
)

var (
	kills = flag.Int("kills", usualKills,
		"how often TestKill kills the service; the other tests do so in proportion")
	seed     = flag.Uint64("seed", 0, "seed of the load and of the moments of the kills; 0 draws one")
	interval = flag.Int("interval", 500, "acknowledged calls between two kills, on average; at least 1")
)

// binaryDir holds the binary for all tests of this package.
var binaryDir string

func TestMain(m *testing.M) {
	var err error
	if binaryDir, err = os.MkdirTemp("", "muster-crash-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if testing.Verbose() {
			printRestarts(os.Stdout)
		}
		if err := os.RemoveAll(binaryDir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))
}

// build makes the binary, once.
var build = sync.OnceValues(func() (string, error) { return binary.Build(context.Background(), binaryDir) })

// draw gives the test its source of chance, and says with which seed to run the
// same load again. Where the calls of several workers interleave is up to the
// machine.
func draw(t *testing.T) *rand.Rand {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("load as of -seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}

// usualKills is the default of the flag.
const usualKills = 10

// share is what is usually so many kills, in proportion to those of TestKill.
func share(usual int) int { return max(usual, usual**kills/usualKills) }

// A service that is killed under load loses and doubles nothing.
func TestKill(t *testing.T) {
	t.Parallel()
	newTrial(t, plan{kills: *kills}).run()
}

// So does one that is killed while it writes a snapshot.
func TestKillDuringSnapshot(t *testing.T) {
	t.Parallel()
	newTrial(t, plan{kills: share(3), snapshots: true}).run()
}

// So does one that is killed while game sessions that are over leave its memory.
func TestKillDuringArchiving(t *testing.T) {
	t.Parallel()
	newTrial(t, plan{kills: share(2), archiving: true}).run()
}

// So does one that is stopped in between.
func TestKillAndStop(t *testing.T) {
	t.Parallel()
	newTrial(t, plan{kills: share(2), stops: share(2)}).run()
}
