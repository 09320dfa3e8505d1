package serversdk

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"
	"github.com/mailru/easyjson/jlexer"

	"github.com/muster-gg/muster/internal/control"
)

const (
	// maxMessage bounds a message from a process, in bytes.
	maxMessage = 2 << 20
	// linger is how long a socket that has done its service stays open for its
	// process to close it. After TerminateServerProcess the Go edition connects
	// anew when it sees a Close; after a RefreshConnection it may still read
	// replies from the old socket for 5 s.
	linger = 30 * time.Second
	// settleLimit is how long pushes are held back after an activation, if no
	// heartbeat comes.
	settleLimit = 2 * time.Second
)

// A socket is one connection of a server process. One goroutine reads; the
// door's writers come by when there is something to write.
type socket struct {
	door    *Door
	process processKey

	// Set by open, then read only.
	link   control.ServerLink
	memory *process
	ws     *websocket.Conn

	// The reader's own.
	scolded bool   // a senseless message has been logged
	hosted  string // the game session that the last request named

	mu      sync.Mutex
	conn    net.Conn        // nil until open
	raw     syscall.RawConn // of conn; nil if it has none
	out     *buffer         // frames to be written; nil if there are none
	writing bool            // a writer is on its way or at work
	last    bool            // after what is in out, cut
	retired bool            // another socket has taken over, or the process has ended
	closed  bool            // cut
	timer   clockwork.Timer // cuts after linger; nil if not set

	settling clockwork.Timer // see settle; nil while pushes pass
	held     [][]byte        // pushes that wait
}

// open starts the socket's service. Pushes may have come before.
func (s *socket) open(ws *websocket.Conn, link control.ServerLink) {
	s.link, s.ws = link, ws
	s.memory = s.door.processes.attach(s.process)
	ws.SetPingHandler(func(data string) error {
		s.enqueue(websocket.PongMessage, []byte(data))
		return nil
	})
	// The peer's Close is echoed, as RFC 6455 section 5.5.1 asks: the C# edition
	// waits for it, and the C++ edition then knows that it was its own wish.
	ws.SetCloseHandler(func(code int, _ string) error {
		s.enqueue(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""))
		s.finish()
		return nil
	})
	s.door.metrics.Opened()
	s.door.running.Add(1) // before anything is written: writers start only beside a reader
	s.mu.Lock()
	s.conn = ws.NetConn()
	s.raw = rawOf(s.conn)
	cut := s.closed
	s.mu.Unlock()
	if !s.door.add(s) || cut {
		s.cut()
	}
	go s.read()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
}

// read receives messages until the socket is gone. It never waits for what a
// message causes, so that a Ping is answered at once: the C# edition sends one
// before every message and takes a Pong that is 5 s late for a broken line.
func (s *socket) read() {
	defer s.door.running.Done()
	defer s.leave()
	for {
		kind, message, err := s.ws.NextReader()
		if err != nil {
			return
		}
		if kind != websocket.TextMessage {
			s.scold("binary message", 0)
			continue
		}
		if !s.receive(message) {
			return
		}
	}
}

// receive reads one message and starts what it asks for; false ends the socket.
func (s *socket) receive(message io.Reader) bool {
	buf := newBuffer()
	defer buf.free()
	if err := buf.readFrom(message); err != nil {
		return false
	}
	if len(buf.bytes) > maxMessage {
		s.logger().Warn("socket cut: message too long", "limit_bytes", maxMessage)
		return false
	}
	r, err := decodeRequest(buf.bytes, s.hosted)
	if err != nil {
		s.scold(reasonOf(err), len(buf.bytes))
		return true
	}
	s.hosted = r.GameSessionID
	s.handle(&r)
	return true
}

// readFrom reads a message to its end, or a little more than is allowed of it.
func (b *buffer) readFrom(message io.Reader) error {
	for len(b.bytes) <= maxMessage {
		b.bytes = slices.Grow(b.bytes, bytes.MinRead)
		n, err := message.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reasonOf is what a decoder did not like, without the data it quotes.
func reasonOf(err error) string {
	if l, ok := errors.AsType[*jlexer.LexerError](err); ok {
		return l.Reason
	}
	return err.Error()
}

// scold logs a message that cannot be answered, the first of the socket loudly.
func (s *socket) scold(reason string, size int) {
	level := slog.LevelWarn
	if s.scolded {
		level = slog.LevelDebug
	}
	s.scolded = true
	s.logger().Log(context.Background(), level, "message ignored", "reason", reason, "bytes", size)
}

// leave ends the socket after its reader has ended.
func (s *socket) leave() {
	s.mu.Lock()
	echoing := s.last && (s.writing || s.out != nil)
	s.mu.Unlock()
	if !echoing { // else the writer cuts
		s.cut()
	}
	s.link.Disconnected()
	s.door.processes.detach(s.memory)
	s.door.remove(s)
	s.door.metrics.Closed()
	s.note("server process disconnected")
}

// push sends what the service has to say, unless another socket has taken over.
func (s *socket) push(p control.Push) {
	action, data := encodePush(p)
	s.mu.Lock()
	retired, settling := s.retired, s.settling != nil
	if settling && !retired {
		s.held = append(s.held, data)
	}
	s.mu.Unlock()
	if !retired && (settling || s.enqueue(websocket.TextMessage, data)) {
		s.door.metrics.Pushed(action)
	}
}

// hold keeps pushes back while a process is being activated. The Go edition
// handles each message in a goroutine of its own, so a CreateGameSession close
// behind the reply to ActivateServerProcess may be looked at first, and is then
// dropped because the process does not know yet that it is active. Every edition
// sends its first heartbeat right after it has noted the reply.
func (s *socket) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settling == nil && !s.closed {
		s.settling = s.door.clock.AfterFunc(settleLimit, s.settle)
	}
}

// settle sends the pushes that were held back, and lets others pass.
func (s *socket) settle() {
	s.mu.Lock()
	timer, held := s.settling, s.held
	s.settling, s.held = nil, nil
	s.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	for _, data := range held {
		s.enqueue(websocket.TextMessage, data)
	}
}

// replaced is told when this socket is no longer the process's primary one.
func (s *socket) replaced() {
	s.mu.Lock()
	s.retired = true
	s.mu.Unlock()
	s.cutLater()
}

// cutLater cuts the socket after a while, if its process has not.
func (s *socket) cutLater() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil && !s.closed {
		s.timer = s.door.clock.AfterFunc(linger, s.cut)
	}
}

// cut closes the TCP connection, without a Close frame and without TLS's
// farewell, which could wait for a peer that does not read.
func (s *socket) cut() {
	s.mu.Lock()
	s.closed = true
	s.out = nil
	s.held = nil
	conn, timers := s.conn, [...]clockwork.Timer{s.timer, s.settling}
	s.mu.Unlock()
	for _, timer := range timers {
		if timer != nil {
			timer.Stop()
		}
	}
	for { // TLS is not the outermost if something was read ahead
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = outer.NetConn()
	}
	if conn != nil {
		_ = conn.Close() // it may be closed already
	}
}

// note logs what is in order, if anybody wants to know.
func (s *socket) note(message string, args ...any) {
	if s.door.log.Enabled(context.Background(), slog.LevelInfo) {
		s.logger().Info(message, args...)
	}
}

// logger names the process in what is logged of it. The query is never logged:
// it holds the token.
func (s *socket) logger() *slog.Logger {
	return s.door.log.With("fleet", s.process.fleet, "compute", s.process.compute, "process", s.process.id)
}
