package quic

import (
	"context"
	"net"
	"sync"

	quicgo "github.com/quic-go/quic-go"
)

// A socket is a UDP socket with what quic-go runs on it. It is closed when the last of its users, a listener and
// connections, has released it: closing it earlier would cut the others.
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

// retain adds a user. Whoever calls it is one.
func (s *socket) retain() {
	s.mu.Lock()
	s.users++
	s.mu.Unlock()
}

// release takes a user away. After the last one the socket is closed and nothing runs any more when it returns.
func (s *socket) release() {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if last {
		// Nobody is left whom it could matter to that something fails here.
		_ = s.transport.Close()
		_ = s.transport.Conn.Close()
	}
}
