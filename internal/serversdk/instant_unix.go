//go:build unix

package serversdk

import (
	"net"
	"syscall"
)

// rawOf is the system's side of a connection, for writes that do not wait; nil if
// it has none, as TLS has none.
func rawOf(c net.Conn) syscall.RawConn {
	conn, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil // it is closed: the next write will tell
	}
	return raw
}

// An instant writes to connections without waiting.
type instant struct {
	try  func(fd uintptr) bool // is send, made once
	data []byte
	sent int
	err  error
}

func newInstant() *instant {
	i := &instant{}
	i.try = i.send
	return i
}

// write sends as much as the connection takes at once.
func (i *instant) write(raw syscall.RawConn, data []byte) (sent int, err error) {
	i.data = data
	err = raw.Write(i.try)
	i.data = nil
	if err == nil {
		sent, err = i.sent, i.err
	}
	return sent, err
}

// send always reports that it is done, so that nobody waits.
func (i *instant) send(fd uintptr) bool {
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
