package listen

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// peeked is a connection whose first byte was read ahead.
type peeked struct {
	net.Conn
	first  [1]byte
	unread bool // first has not been read yet
}

// Read gives the first byte back, then reads on.
func (c *peeked) Read(p []byte) (int, error) {
	if c.unread && len(p) > 0 {
		c.unread = false
		return copy(p, c.first[:]), nil
	}
	return c.Conn.Read(p)
}

// SyscallConn gives the system's side of the connection, for writing: the first
// byte is not there to be read.
func (c *peeked) SyscallConn() (syscall.RawConn, error) {
	conn, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return conn.SyscallConn()
}

// CloseWrite ends the sending half, which http.Server does before it closes a
// connection whose request it has not read to the end.
func (c *peeked) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

const tlsOnly = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 45\r\nConnection: close\r\n\r\n" +
	"This port speaks TLS only: use https or wss.\n"

// refuse tells a plain-text client to use TLS. It reads a little of what the
// client still sends, because closing with unread input would take the answer
// away from it.
func refuse(c *peeked) {
	if _, err := io.WriteString(c, tlsOnly); err != nil || c.CloseWrite() != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c, 64<<10)
}
