//go:build linux && diskfull

package crash

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-gg/muster/e2e/damage"
)

const (
	// patience is how long a call may take that the full disk cuts short. An append
	// that nobody answers takes 10 s.
	patience = 5 * time.Second

	diskIsFull = "the disk is full: free some space"
)

// diskSize is the size of a small disk, in MiB.
const diskSize = 64

// A fullDisk is a small disk that is full from time to time.
type fullDisk struct{ *damage.SmallDisk }

// A service whose disk fills up under load tells its callers, stops, and says
// why; it does not start as long as there is no space; then it goes on with
// everything that it had acknowledged.
func TestDiskFull(t *testing.T) {
	for name, p := range map[string]plan{
		"records":   {kills: 2},
		"snapshots": {kills: 1, snapshots: true},
		"archiving": {kills: 1, archiving: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := damage.NewSmallDisk(t, diskSize)
			p.end = fullDisk{disk}.strike
			trial := newTrial(t, p)
			trial.service.data = filepath.Join(disk.Path, "data")
			trial.run()
		})
	}
}

// strike leaves little space, waits for the end of the service, tries to start
// it in vain, and makes space.
func (d fullDisk) strike(t *trial, closeGate func()) string {
	defer closeGate()
	t.calls.reset()
	begin := time.Now()
	d.Fill(rand.Int64N(256 << 10))
	t.service.AwaitFailure(t.ctx, diskIsFull)
	ended := time.Since(begin)
	longest, failed, cut := t.calls.sofar()
	if failed+cut == 0 { // those that wait are answered; who comes later finds no service
		t.found.Lost("no caller was told that something is wrong")
	}
	if longest > patience {
		t.found.Lost("a call took %s when the disk was full", longest)
	}
	d.Full()
	t.service.refuse(t.ctx, "no space left")
	d.Free()
	return fmt.Sprintf(", the disk was full: stopped %d ms later, %d calls were answered 500 or 503 and %d cut, "+
		"the longest took %d ms, no start without space",
		ended.Milliseconds(), failed, cut, longest.Milliseconds())
}

// reset begins anew.
func (c *watchedCalls) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.longest, c.failed, c.cut = 0, 0, 0
}

// sofar is how long the longest call took, and how many failed in which way, since
// the reset.
func (c *watchedCalls) sofar() (longest time.Duration, failed, cut int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.longest, c.failed, c.cut
}
