package boottime

import (
	"time"

	"golang.org/x/sys/windows"
)

// now counts in steps of up to 16 ms, which is nothing beside a lease.
func now() time.Duration { return windows.DurationSinceBoot() }
