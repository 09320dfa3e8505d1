package cluster

import (
	"time"

	"golang.org/x/sys/unix"
)

func bootTime() time.Duration { return readClock(unix.CLOCK_BOOTTIME) }
