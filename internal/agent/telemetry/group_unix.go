//go:build unix

package telemetry

import "golang.org/x/sys/unix"

// groupOf returns the process group of a process: a game server that a script starts is in that of the script. 0: it is
// not known.
func groupOf(pid int) int {
	group, err := unix.Getpgid(pid)
	if err != nil {
		return 0
	}
	return group
}
