package gameserver

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// writeLimit is how long writing one message may take.
	writeLimit = 10 * time.Second
	// maxSilent is how many requests in a row may time out, with nothing at all received, before the connection counts
	// as dead.
	// Source: server SDK 5, Go edition since 5.4.1.
	maxSilent = 2
)

// A socket is one connection to the service. One goroutine reads it, until it is down; any may write.
type socket struct {
	ws     *websocket.Conn
	down   chan struct{} // closed when nothing more will be read
	silent atomic.Int32  // requests that timed out since the last message

	writing sync.Mutex
}

func newSocket(ws *websocket.Conn) *socket { return &socket{ws: ws, down: make(chan struct{})} }

// write sends one message. After an error the socket is closed.
func (s *socket) write(message []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	// The network's deadlines are in real time, whatever clock is configured.
	err := s.ws.SetWriteDeadline(time.Now().Add(writeLimit))
	if err == nil {
		err = s.ws.WriteMessage(websocket.TextMessage, message)
	}
	if err != nil {
		s.close()
	}
	return err
}

// timedOut notes a request that got no reply.
func (s *socket) timedOut() {
	if s.silent.Add(1) >= maxSilent {
		s.close()
	}
}

// isDown reports whether the socket's reader has ended.
func (s *socket) isDown() bool {
	select {
	case <-s.down:
		return true
	default:
		return false
	}
}

// close closes TCP, without a Close frame, as the official Go SDK does.
func (s *socket) close() { _ = s.ws.Close() } // closing twice is no failure
