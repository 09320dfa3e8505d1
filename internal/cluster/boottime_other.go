//go:build !linux && !darwin && !windows

package cluster

import "time"

var begin = time.Now()

// bootTime is the monotonic clock, which may stop while the machine is suspended.
func bootTime() time.Duration { return time.Since(begin) }
