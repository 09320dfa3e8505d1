//go:build linux || darwin

package cluster

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// readClock reads a clock that exists in every kernel that Go supports.
func readClock(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(fmt.Sprintf("clock_gettime(%d): %v", clock, err))
	}
	return time.Duration(t.Nano())
}
