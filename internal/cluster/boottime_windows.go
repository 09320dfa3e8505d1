package cluster

import (
	"time"

	"golang.org/x/sys/windows"
)

// bootTime counts in steps of up to 16 ms, which is nothing beside a lease.
func bootTime() time.Duration { return windows.DurationSinceBoot() }
