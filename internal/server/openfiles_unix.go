//go:build !windows

package server

import "syscall"

// openFiles is how many files this process may have open. The Go runtime has raised the
// limit to what the process may set itself.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(limit.Cur, 1<<30)) // "unlimited" is more than an int holds
}
