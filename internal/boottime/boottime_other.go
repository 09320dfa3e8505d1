//go:build !linux && !darwin && !windows

package boottime

import "time"

var begin = time.Now()

// now is the monotonic clock, which may stand still while the machine is suspended.
func now() time.Duration { return time.Since(begin) }
