package serversdk

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"
	"github.com/mailru/easyjson/jlexer"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/serversdk/outbox"
)

const (
	// maxMessage is the maximum size of a message from a process, in bytes.
	maxMessage = 2 << 20
	// linger is how long an unneeded socket stays open for its process to close it. After TerminateServerProcess the Go
	// edition reconnects on a Close frame; after a RefreshConnection it reads replies from the old socket for 5 s.
	linger = 30 * time.Second
	// maxDelay is how long pushes are delayed after an activation if no heartbeat arrives.
	maxDelay = 2 * time.Second
)

// A socket is one connection of a server process. One goroutine reads; the shared writers write.
type socket struct {
	endpoint *Endpoint
	process  processKey

	// Set by open, then read only.
	connection processes.Connection
	memory     *process
	ws         *websocket.Conn

	// Used by the reader alone.
	loggedIgnored bool   // an invalid message has been logged
	hosted        string // game session of the last request

	out outbox.Outbox

	mu      sync.Mutex
	retired bool            // another socket has replaced it, or the process has ended
	closed  bool            // by close
	timer   clockwork.Timer // closes after linger; nil if not set

	delaying clockwork.Timer // see delayPushes; nil while pushes are not delayed
	held     [][]byte        // delayed pushes
}

// open starts serving the socket. Pushes may have been queued before.
func (s *socket) open(ws *websocket.Conn, connection processes.Connection) {
	s.connection, s.ws = connection, ws
	s.memory = s.endpoint.processes.attach(s.process)
	s.endpoint.metrics.Opened()
	s.endpoint.sockets.Start(s, &s.out, ws)
	go s.read()
}

// read receives messages until the socket is closed. It never waits for the effect of a message, so that a Ping is
// answered at once: the C# edition sends one before every message and treats the connection as broken after 5 s without
// a Pong.
func (s *socket) read() {
	defer s.endpoint.sockets.Running.Done()
	defer s.leave()
	for {
		kind, message, err := s.ws.NextReader()
		if err != nil {
			return
		}
		if kind != websocket.TextMessage {
			s.logIgnored("binary message", 0)
			continue
		}
		if !s.receive(message) {
			return
		}
	}
}

// receive reads one message and starts its request; false ends the socket.
func (s *socket) receive(message io.Reader) bool {
	buf := outbox.NewBuffer()
	defer buf.Free()
	if err := buf.ReadMessage(message, maxMessage); err != nil {
		return false
	}
	if len(buf.Bytes) > maxMessage {
		s.logger().Warn("socket closed: message too long", "limit_bytes", maxMessage)
		return false
	}
	r, err := decodeRequest(buf.Bytes, s.hosted)
	if err != nil {
		s.logIgnored(reasonOf(err), len(buf.Bytes))
		return true
	}
	s.hosted = r.GameSessionID
	s.handle(&r)
	return true
}

// reasonOf returns the error of a decoder without the quoted data.
func reasonOf(err error) string {
	if l, ok := errors.AsType[*jlexer.LexerError](err); ok {
		return l.Reason
	}
	return err.Error()
}

// logIgnored logs a message that cannot be answered, as a warning for the first of a socket.
func (s *socket) logIgnored(reason string, size int) {
	level := slog.LevelWarn
	if s.loggedIgnored {
		level = slog.LevelDebug
	}
	s.loggedIgnored = true
	s.logger().Log(context.Background(), level, "message ignored", "reason", reason, "bytes", size)
}

// leave cleans up after the reader has ended.
func (s *socket) leave() {
	if !s.out.Finishing() { // else the writer closes
		s.close()
	}
	s.connection.Disconnected()
	s.endpoint.processes.detach(s.memory)
	s.endpoint.sockets.Remove(s)
	s.endpoint.metrics.Closed()
	s.logInfo("server process disconnected")
}

// push sends a push, unless another socket has replaced this one.
func (s *socket) push(p processes.Push) {
	action, data := encodePush(p)
	s.mu.Lock()
	retired, delaying := s.retired, s.delaying != nil
	if delaying && !retired {
		s.held = append(s.held, data)
	}
	s.mu.Unlock()
	if !retired && (delaying || s.out.Enqueue(websocket.TextMessage, data)) {
		s.endpoint.metrics.Pushed(action)
	}
}

// delayPushes delays pushes while a process is being activated. The Go edition handles messages concurrently, so it may
// handle a CreateGameSession right behind the reply to ActivateServerProcess first, and drops it because it is not
// active yet. Every edition sends its first heartbeat after it has handled the reply.
func (s *socket) delayPushes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.delaying == nil && !s.closed {
		s.delaying = s.endpoint.clock.AfterFunc(maxDelay, s.releasePushes)
	}
}

// releasePushes sends the delayed pushes and ends the delay.
func (s *socket) releasePushes() {
	s.mu.Lock()
	timer, held := s.delaying, s.held
	s.delaying, s.held = nil, nil
	s.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	for _, data := range held {
		s.out.Enqueue(websocket.TextMessage, data)
	}
}

// replaced is called when this socket is no longer the primary one of its process.
func (s *socket) replaced() {
	s.mu.Lock()
	s.retired = true
	s.mu.Unlock()
	s.closeLater()
}

// closeLater closes the socket after linger.
func (s *socket) closeLater() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil && !s.closed {
		s.timer = s.endpoint.clock.AfterFunc(linger, s.close)
	}
}

// close closes the TCP connection without a Close frame.
func (s *socket) close() {
	s.mu.Lock()
	s.closed = true
	s.held = nil
	timers := [...]clockwork.Timer{s.timer, s.delaying}
	s.mu.Unlock()
	for _, timer := range timers {
		if timer != nil {
			timer.Stop()
		}
	}
	s.out.Close()
}

// slow is called when the process does not read.
func (s *socket) slow() {
	s.endpoint.metrics.Slow()
	s.logger().Warn("socket closed: process does not read", "limit_bytes", outbox.MaxQueued)
	s.close()
}

func (s *socket) logInfo(message string, args ...any) {
	if s.endpoint.log.Enabled(context.Background(), slog.LevelInfo) {
		s.logger().Info(message, args...)
	}
}

// logger returns a logger with the ids of the process. The query must not be logged: it has the token.
func (s *socket) logger() *slog.Logger {
	return s.endpoint.log.With("fleet", s.process.fleet, "compute", s.process.compute, "process", s.process.id)
}
