package hasher

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// slice is how long a thread may keep a processor that one of higher priority waits for: the least that Linux allows.
// Its default, some 3 ms, is longer than most calls take. Linux before 6.12 ignores it.
const slice = 100 * time.Microsecond

// lowerPriority lowers the priority of each thread: Linux has one for each. Threads that begin later inherit it.
func lowerPriority() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL,
				Nice: niceness, Runtime: uint64(slice)}, 0)
		}
	}
}
