package bench

import (
	"syscall"
	"time"
)

// OwnCPU returns the processor time that this program has used; 0 if unknown.
func OwnCPU() time.Duration {
	var created, exited, kernel, user syscall.Filetime
	self, err := syscall.GetCurrentProcess()
	if err != nil || syscall.GetProcessTimes(self, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	return ticks(kernel) + ticks(user)
}

// ticks converts a duration in units of 100 ns.
func ticks(t syscall.Filetime) time.Duration {
	return time.Duration(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) * 100
}

// openFiles returns the limit of open files: Windows has none.
func openFiles() uint64 { return 1 << 62 }
