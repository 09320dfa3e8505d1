package http1

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// rest holds the connections that are passed on.
type rest struct {
	conns  chan net.Conn
	close  sync.Once
	closed chan struct{}
}

// restOf is a rest as a listener.
type restOf struct {
	*rest
	server *Server
}

// Accept waits for a connection that is not for the server. After Close the
// error is net.ErrClosed.
func (l restOf) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses further connections; those that wait are closed.
func (l restOf) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// Addr is the address of the listener that the server serves, or nil before it
// does.
func (l restOf) Addr() net.Addr {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	if l.server.listener == nil {
		return nil
	}
	return l.server.listener.Addr()
}

// replayed is a connection of which something was read already.
type replayed struct {
	net.Conn
	unread []byte
}

// Read gives back what was read, then reads on.
func (c *replayed) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.unread)
	if c.unread = c.unread[n:]; len(c.unread) == 0 {
		c.unread = nil
	}
	return n, nil
}

// NetConn is the connection that was passed on.
func (c *replayed) NetConn() net.Conn { return c.Conn }

// SyscallConn gives the system's side of the connection, for writing: what was
// read is not there to be read.
func (c *replayed) SyscallConn() (syscall.RawConn, error) {
	conn, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return conn.SyscallConn()
}

// CloseWrite ends the sending half, which http.Server does before it closes a
// connection whose request it has not read to the end.
func (c *replayed) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
