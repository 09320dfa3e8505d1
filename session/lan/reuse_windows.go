package lan

import (
	"errors"
	"syscall"
)

// reuse lets several hosts of one machine bind the same port, so that each receives multicast and broadcast packets.
func reuse(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(syscall.Handle(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	})
	return errors.Join(err, failed)
}
