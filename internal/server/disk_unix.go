//go:build !windows

package server

import "golang.org/x/sys/unix"

// diskOf returns the size of the file system of a directory, and what this process can still use of it; 0: unknown.
func diskOf(dir string) (size, free uint64) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0
	}
	block := uint64(s.Bsize)                          //nolint:gosec,unconvert // its type differs between systems
	return s.Blocks * block, uint64(s.Bavail) * block //nolint:gosec,unconvert // likewise
}
