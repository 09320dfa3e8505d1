package cluster

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime reads a clock that, on macOS alone, goes on during sleep.
func bootTime() time.Duration { return readClock(unix.CLOCK_MONOTONIC) }
