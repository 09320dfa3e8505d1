//go:build unix

package outbox

import (
	"net"
	"syscall"
)

// rawOf returns the system's connection for non-blocking writes; nil if there is none, as for TLS.
func rawOf(c net.Conn) syscall.RawConn {
	conn, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil // closed: the next write fails
	}
	return raw
}

// An instantWriter writes to connections without blocking.
type instantWriter struct {
	try  func(fd uintptr) bool // send, allocated once
	data []byte
	sent int
	err  error
}

func newInstantWriter() *instantWriter {
	i := &instantWriter{}
	i.try = i.send
	return i
}

// write sends as much as the connection accepts at once.
func (i *instantWriter) write(raw syscall.RawConn, data []byte) (sent int, err error) {
	i.data = data
	err = raw.Write(i.try)
	i.data = nil
	if err == nil {
		sent, err = i.sent, i.err
	}
	return sent, err
}

// send always returns true, so that RawConn.Write does not wait.
func (i *instantWriter) send(fd uintptr) bool {
	for {
		i.sent, i.err = syscall.Write(int(fd), i.data)
		switch i.err {
		case nil:
			return true
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			i.err = nil
		}
		i.sent = 0
		return true
	}
}
