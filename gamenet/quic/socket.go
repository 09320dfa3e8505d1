package quic

import (
	"context"
	"net"
	"sync"

	quicgo "github.com/quic-go/quic-go"
)

// A socket is a UDP socket with its quic-go transport. It is closed when the last of its users, a listener and
// connections, has released it: closing it earlier would end the others.
type socket struct {
	transport *quicgo.Transport

	mu    sync.Mutex
	users int
}

// openSocket opens a UDP socket for one user.
func openSocket(ctx context.Context, address string) (*socket, error) {
	conn, err := new(net.ListenConfig).ListenPacket(ctx, "udp", address)
	if err != nil {
		return nil, err
	}
	return &socket{transport: &quicgo.Transport{Conn: conn}, users: 1}, nil
}

// retain adds a user. Only a user may call it.
func (s *socket) retain() {
	s.mu.Lock()
	s.users++
	s.mu.Unlock()
}

// release removes a user. The last one closes the socket; all its goroutines have then ended.
func (s *socket) release() {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if last {
		// No user is left to receive an error.
		_ = s.transport.Close()
		_ = s.transport.Conn.Close()
	}
}
