//go:build unix

package bench

import (
	"syscall"
	"time"
)

// OwnCPU is the processor time that this program has used; 0 when the system does
// not tell.
func OwnCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// openFiles raises the limit of open files as far as this program may, and
// returns it. Programs that it starts inherit the limit.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 1 << 62 // unknown: the system says when it is reached
	}
	raised := limit
	if raised.Cur = raised.Max; syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised) == nil {
		limit = raised
	}
	return uint64(limit.Cur)
}
