//go:build unix

package bench

import (
	"syscall"
	"time"
)

// OwnCPU returns the processor time that this program has used; 0 if unknown.
func OwnCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// openFiles raises the limit of open files as far as possible, and returns it. Started programs inherit it.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 1 << 62 // unknown
	}
	raised := limit
	if raised.Cur = raised.Max; syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised) == nil {
		limit = raised
	}
	return uint64(limit.Cur)
}
