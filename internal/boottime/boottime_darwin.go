package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// now reads a clock that, on macOS alone, goes on during sleep.
func now() time.Duration { return read(unix.CLOCK_MONOTONIC) }
