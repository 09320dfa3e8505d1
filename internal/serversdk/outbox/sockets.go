package outbox

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/gorilla/websocket"
)

// Sockets are the open sockets of an endpoint, with the goroutines that open, read and write them.
type Sockets[S comparable] struct {
	Running sync.WaitGroup
	Writers Writers

	closeOne func(S)
	mu       sync.Mutex
	closed   bool
	open     map[S]struct{}
}

// Init sets how a socket is closed: its TCP connection, without a Close frame. Call it before any other method.
func (s *Sockets[S]) Init(closeOne func(S)) {
	s.closeOne, s.open = closeOne, map[S]struct{}{}
	s.Writers.Running = &s.Running
}

// Enter counts a handshake in Running, unless the endpoint is closed.
func (s *Sockets[S]) Enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.Running.Add(1)
	}
	return !s.closed
}

// Start adds a socket, opens its outbox, and counts its reader in Running. If the endpoint was closed meanwhile, the
// socket is closed.
func (s *Sockets[S]) Start(socket S, out *Outbox, ws *websocket.Conn) {
	out.answer(ws)
	s.Running.Add(1) // before writers may start
	out.Open(ws.NetConn())
	if !s.add(socket) {
		s.closeOne(socket)
	}
}

func (s *Sockets[S]) add(socket S) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.open[socket] = struct{}{}
	}
	return !s.closed
}

// Remove removes a socket.
func (s *Sockets[S]) Remove(socket S) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, socket)
}

// Len returns the number of open sockets.
func (s *Sockets[S]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// CloseSockets closes all sockets without a Close frame, so that the peers reconnect, to another node if they are
// routed there.
func (s *Sockets[S]) CloseSockets() {
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, each := range open {
		s.closeOne(each)
	}
}

// Close accepts no more peers, closes all sockets, and waits for all goroutines. The error is ctx's.
func (s *Sockets[S]) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.CloseSockets()
	return s.Writers.Wait(ctx)
}
