package quic

import (
	"context"
	"fmt"
	"net"
	"sync"

	quicgo "github.com/quic-go/quic-go"

	"github.com/muster-gg/muster/gamenet"
)

// A listener accepts connections whose QUIC handshake is complete.
type listener struct {
	quic   *quicgo.Listener
	socket *socket

	mu     sync.Mutex
	closed bool
}

func (l *listener) Accept() (gamenet.Conn, error) {
	// Retain the socket for the connection first: otherwise Close could close the socket between quic-go's Accept and
	// ours, without notifying the client.
	if !l.retain() {
		return nil, fmt.Errorf("quic: accept: %w", net.ErrClosed)
	}
	quic, err := l.quic.Accept(context.Background())
	if err != nil { // only after Close
		l.socket.release()
		return nil, fmt.Errorf("quic: accept: %w", err)
	}
	return &connection{quic: quic, socket: l.socket}, nil
}

// retain adds a user of the socket. It reports false if the listener is closed.
func (l *listener) retain() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.socket.retain()
	}
	return !l.closed
}

// Close implements gamenet.Listener. It refuses unfinished handshakes and connections not accepted yet; a waiting
// Accept may still return one. The port is free when the last accepted connection is closed.
func (l *listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return fmt.Errorf("quic: close: %w", net.ErrClosed)
	}
	l.closed = true
	l.mu.Unlock()
	_ = l.quic.Close() // it cannot fail
	for {
		quic, err := l.quic.Accept(context.Background()) // does not wait after Close
		if err != nil {
			break
		}
		_ = quic.CloseWithError(codeClosed, "the server is closing") // it cannot fail
	}
	l.socket.release()
	return nil
}

func (l *listener) Addr() net.Addr { return l.quic.Addr() }
