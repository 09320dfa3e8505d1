package quic

import (
	"context"
	"fmt"
	"net"
	"sync"

	quicgo "github.com/quic-go/quic-go"

	"github.com/muster-gg/muster/gamenet"
)

// A listener takes in connections whose QUIC handshake is done.
type listener struct {
	quic   *quicgo.Listener
	socket *socket

	mu     sync.Mutex
	closed bool
}

func (l *listener) Accept() (gamenet.Conn, error) {
	// The connection's hold on the socket begins here: otherwise Close could cut one that is between quic-go and us,
	// without a word to its client.
	if !l.retain() {
		return nil, fmt.Errorf("quic: accept: %w", net.ErrClosed)
	}
	quic, err := l.quic.Accept(context.Background())
	if err != nil { // only when it is closed
		l.socket.release()
		return nil, fmt.Errorf("quic: accept: %w", err)
	}
	return &Conn{quic: quic, socket: l.socket}, nil
}

// retain makes whoever calls it a user of the socket, unless the listener is closed.
func (l *listener) retain() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.socket.retain()
	}
	return !l.closed
}

// Close implements gamenet.Listener. Handshakes under way are refused, and so are connections that nobody has accepted;
// an Accept that waits may still get one. The port is free when the last connection that was accepted has been closed.
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
		quic, err := l.quic.Accept(context.Background()) // does not wait any more
		if err != nil {
			break
		}
		_ = quic.CloseWithError(codeClosed, "the server is closing") // it cannot fail
	}
	l.socket.release()
	return nil
}

func (l *listener) Addr() net.Addr { return l.quic.Addr() }
