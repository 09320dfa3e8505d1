//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package lan

import (
	"errors"
	"syscall"
)

// reuse lets several hosts of one machine bind the same port, so that each receives multicast and broadcast packets.
// These systems require SO_REUSEPORT for that.
func reuse(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = errors.Join(
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEPORT, 1))
	})
	return errors.Join(err, failed)
}
