package cluster

import (
	"testing"
	"time"
)

// step is how coarse the clock may be.
const step = 20 * time.Millisecond

// The clock never goes back, and is never slower than the monotonic clock.
func TestBootTime(t *testing.T) {
	begin, clock := bootTime(), time.Now()
	if begin <= 0 {
		t.Errorf("it begins with %v", begin)
	}
	last := begin
	for time.Since(clock) < 2*step {
		next := bootTime()
		if next < last {
			t.Fatalf("it went from %v back to %v", last, next)
		}
		last = next
	}
	passed := time.Since(clock)
	if counted := bootTime() - begin; counted < passed-step {
		t.Errorf("it counted %v in %v", counted, passed)
	}
}
