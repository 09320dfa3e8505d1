//go:build linux

package load

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dial connects a socket that does not block from then on. When it is closed, or the process ends, the connection is
// reset, so that no port waits.
func dial(address netip.AddrPort) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	err = errors.Join(
		unix.Connect(fd, &unix.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()}),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}),
		unix.SetNonblock(fd, true),
	)
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("connecting to %s: %w", address, err)
	}
	return fd, nil
}

// read reads what is there; 0 bytes without an error when nothing is. The call never blocks, so the scheduler need not
// know of it.
func read(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return 0, nil
	case errno != 0:
		return 0, fmt.Errorf("read: %w", errno)
	case n == 0:
		return 0, fmt.Errorf("read: the server has closed the connection: %w", io.ErrUnexpectedEOF)
	}
	return int(n), nil
}

// errFull: a socket has no place for what is to be sent.
var errFull = errors.New("write: the server does not read")

// write writes all of b, which is much smaller than what a socket holds.
func write(fd int, b []byte) error {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	switch {
	case errno == unix.EAGAIN || errno == 0 && int(n) < len(b):
		return errFull
	case errno != 0:
		return fmt.Errorf("write: %w", errno)
	}
	return nil
}

// wait waits for events, and at most for a number of milliseconds. It looks once without waiting: under load something
// is always there, and then the scheduler need not know of the call.
func wait(epoll int, events []unix.EpollEvent, milliseconds int) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), 0, 0, 0)
	if errno == 0 && n > 0 {
		return int(n), nil
	}
	some, err := unix.EpollWait(epoll, events, milliseconds)
	if errors.Is(err, unix.EINTR) {
		return 0, nil
	}
	return some, err
}
