package listen

import (
	"net"
	"sync"
)

// rest holds the connections that are passed on.
type rest struct {
	conns  chan net.Conn
	close  sync.Once
	closed chan struct{}
}

// restOf is the listener of a rest.
type restOf struct {
	*rest
	server *Server
}

// Accept waits for a connection that is not for the server. After Close the error is net.ErrClosed.
func (l restOf) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close rejects further connections, and closes those that wait.
func (l restOf) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// Addr returns the address of the listener that the server serves; nil before Serve.
func (l restOf) Addr() net.Addr {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	if l.server.listener == nil {
		return nil
	}
	return l.server.listener.Addr()
}
