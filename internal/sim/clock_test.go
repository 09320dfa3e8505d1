package sim

import (
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
)

// A nodeClock is the clock of one node: what it shows can be set, and timers run on
// regardless, as those of a machine do.
type nodeClock struct {
	clockwork.Clock
	skew atomic.Int64 // nanoseconds
}

func newNodeClock() *nodeClock { return &nodeClock{Clock: clockwork.NewRealClock()} }

// Now is the time of day.
func (c *nodeClock) Now() time.Time {
	return c.Clock.Now().Add(time.Duration(c.skew.Load())).Round(0) // without the monotonic reading
}

// Since is the time of day's difference.
func (c *nodeClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until is the same in the other direction.
func (c *nodeClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

func (c *nodeClock) jump(d time.Duration) { c.skew.Add(int64(d)) }
