package cluster

import (
	"time"

	"golang.org/x/sys/windows"
)

// bootTime has a resolution of up to 16 ms, which is negligible for a lease.
func bootTime() time.Duration { return windows.DurationSinceBoot() }
