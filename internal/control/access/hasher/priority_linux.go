package hasher

import (
	"os"
	"strconv"
	"syscall"
)

// lowerPriority lowers the priority of each thread: Linux has one for each. Threads that begin later inherit it.
func lowerPriority() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness)
		}
	}
}
