//go:build !windows

package server

import "syscall"

// openFiles returns the limit of open files. The Go runtime has raised it as far as possible.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(limit.Cur, 1<<30)) // "unlimited" overflows an int
}
