package listen

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// A Replayed is a connection of which something was read already. It gives that to those who read it.
type Replayed struct {
	net.Conn
	unread []byte
}

// Replay returns c as it was before unread was read from it.
func Replay(c net.Conn, unread []byte) *Replayed { return &Replayed{c, unread} }

// Read gives back what was read, then reads on.
func (c *Replayed) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.unread)
	if c.unread = c.unread[n:]; len(c.unread) == 0 {
		c.unread = nil
	}
	return n, nil
}

// NetConn is the connection itself, for who wants to close it without ceremony.
func (c *Replayed) NetConn() net.Conn { return c.Conn }

// SyscallConn gives the system's side of the connection, for writing: what was read is not there to be read.
func (c *Replayed) SyscallConn() (syscall.RawConn, error) {
	return syscallConn(c.Conn)
}

// CloseWrite ends the sending half, which http.Server does before it closes a connection whose request it has not read
// to the end.
func (c *Replayed) CloseWrite() error { return closeWrite(c.Conn) }

// syscallConn is the system's side of a connection, if it has one.
func syscallConn(c net.Conn) (syscall.RawConn, error) {
	conn, ok := c.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return conn.SyscallConn()
}

// closeWrite ends the sending half of a connection that has halves.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

const tlsOnly = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: " +
	"45\r\nConnection: close\r\n\r\n" +
	"This port speaks TLS only: use https or wss.\n"

// refuse tells a plain-text client to use TLS. It reads a little of what the client still sends, because closing with
// unread input would take the answer away from it.
func refuse(c *Replayed) {
	if _, err := io.WriteString(c, tlsOnly); err != nil || c.CloseWrite() != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c, 64<<10)
}
