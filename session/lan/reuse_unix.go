//go:build unix && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package lan

import (
	"errors"
	"syscall"
)

// reuse lets several hosts of one machine bind the same port, so that each receives multicast and broadcast packets.
// Linux delivers these to all sockets that have SO_REUSEADDR, and unicast to one of them.
func reuse(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	})
	return errors.Join(err, failed)
}
