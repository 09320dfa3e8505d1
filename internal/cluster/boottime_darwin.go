package cluster

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime reads a clock that, on macOS only, continues during sleep.
func bootTime() time.Duration { return readClock(unix.CLOCK_MONOTONIC) }
