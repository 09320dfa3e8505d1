package gamenet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
)

// A Session is one connection. Its methods may be called from any goroutine, and from callbacks.
//
// One goroutine reads and calls the handler. A second one, which writes, exists only while a write has to wait: an idle
// session costs one goroutine and no buffer.
type Session struct {
	// What each packet needs comes first and lies close together: with a thousand sessions most of it comes from
	// memory, not from a cache.
	service *service
	handler Handler
	direct  direct
	inline  bool        // whoever sends also writes, by direct
	over    atomic.Bool // received packets are not delivered any more
	severed atomic.Bool // cut was called
	turn    sync.Mutex  // held while a callback of this session runs
	in      inbox
	out     outbox
	watched watched // its flags come first

	bytesIn, packetsIn, bytesOut, packetsOut, dropped atomic.Uint64

	id     uint64
	conn   Conn
	writer func()          // write; kept, because making a func value of a method allocates
	done   func()          // called when the place is free; nil for none
	linger clockwork.Timer // cuts a session that was disconnected; guarded by out.mu
	bye    string          // the reason that the other side gave; of the reading goroutine
	said   bool            // the other side gave a reason

	groupsMu sync.Mutex
	groups   []*Group
	gone     bool // left all groups for good
}

// Stats is what a session has done so far.
type Stats struct {
	BytesIn, BytesOut     uint64 // headers included
	PacketsIn, PacketsOut uint64
	Dropped               uint64 // packets that a full queue has cost
	QueuedBytes           int    // that wait to be written
	QueuedPackets         int
}

// ID is the session's number in its service: ascending, never 0, never used again.
func (s *Session) ID() uint64 { return s.id }

// RemoteAddr is the address of the other side.
func (s *Session) RemoteAddr() net.Addr { return s.conn.RemoteAddr() }

// LocalAddr is the address of this side.
func (s *Session) LocalAddr() net.Addr { return s.conn.LocalAddr() }

// Conn is the connection, for what its transport knows of it, such as the state of TLS. It must not be read, written or
// closed.
func (s *Session) Conn() Conn { return s.conn }

// Handler is the handler that the factory made; nil within the factory.
func (s *Session) Handler() Handler { return s.handler }

// RTT is the time that the last ping took there and back; 0 before the first. See Config.PingInterval.
func (s *Session) RTT() time.Duration { return time.Duration(s.watched.rtt.Load()) }

// Stats tells what the session has done so far.
func (s *Session) Stats() Stats {
	s.out.mu.Lock()
	bytes, packets := s.out.bytes, s.out.packets
	s.out.mu.Unlock()
	return Stats{
		BytesIn: s.bytesIn.Load(), BytesOut: s.bytesOut.Load(), PacketsIn: s.packetsIn.Load(),
		PacketsOut: s.packetsOut.Load(),
		Dropped:    s.dropped.Load(), QueuedBytes: bytes, QueuedPackets: packets,
	}
}

// Disconnect ends the session in order: what was sent before is written, the other side gets the reason (with a codec
// that has ids) and that nothing more comes, and has Config.CloseTimeout to close; then the connection is cut. Packets
// that arrive from now on are not delivered. It returns at once and acts once.
//
// OnDisconnected gets ErrDisconnected, with the reason if there is one.
func (s *Session) Disconnect(reason string) {
	cause := ErrDisconnected
	if reason != "" {
		cause = fmt.Errorf("%w: %s", ErrDisconnected, reason)
	}
	s.disconnect(cause, reason)
}

// disconnect ends the session in order, for a cause.
func (s *Session) disconnect(cause error, reason string) {
	s.over.Store(true)
	switch s.beginClosing(cause, reason) {
	case outboxNew: // nothing can be said before the handshake
		s.cut(cause)
		return
	case outboxClosing, outboxEnded:
		return
	}
	s.out.mu.Lock()
	if s.out.state != outboxEnded {
		s.linger = s.service.cfg.Clock.AfterFunc(s.service.cfg.CloseTimeout, func() { s.cut(cause) })
	}
	s.out.mu.Unlock()
	s.finishWriting()
}

// abort ends the session because of what the other side did, or did not do. It tells it why, if that can be said
// without waiting; otherwise there is time for it, as with Disconnect.
func (s *Session) abort(cause error, reason string) {
	if !s.inline {
		s.disconnect(cause, reason)
		return
	}
	s.over.Store(true)
	if s.beginClosing(cause, reason) == outboxOpen {
		s.finishWriting()
	}
	s.cut(cause)
}

// cut ends the session now. It does not wait, and may be called by any goroutine.
func (s *Session) cut(cause error) {
	s.over.Store(true)
	s.beginClosing(cause, "")
	if s.severed.Swap(true) {
		return
	}
	switch conn := s.conn.(type) {
	case *net.TCPConn:
		// Close would wait for a callback that is running, because the connection is in use meanwhile. A deadline wakes
		// whoever waits for it, and run closes it.
		_ = conn.SetDeadline(time.Unix(1, 0))
	case interface{ NetConn() net.Conn }:
		conn.NetConn().Close() // TLS would first write a farewell, and wait for that
	default:
		conn.Close()
	}
}

var errGoexit = errors.New("gamenet: a callback has ended its goroutine")

// run is the life of a session.
func (s *Session) run(ctx context.Context) {
	connected := false
	defer func() {
		s.cut(errGoexit) // the cause if there is no other
		s.end(connected)
	}()
	if err := s.handshake(ctx); err != nil {
		s.cut(s.handshakeFailed(ctx, err))
		return
	}
	if err := s.makeHandler(); err != nil {
		s.cut(err)
		return
	}
	if !s.out.open() {
		return // closed meanwhile
	}
	connected = true
	s.call(func() { // others see the session from here on, and no callback comes before this one
		s.watched.opened(s.service.cfg.Clock.Now())
		s.handler.OnConnected(s)
	})
	defer s.startDatagrams()()
	err := s.read()
	cause := s.ending(err)
	if errors.Is(err, io.EOF) && !s.severed.Load() {
		s.drain(cause)
	}
	s.cut(cause)
}

// drain writes what is queued for a side that has ended its own stream and may still read, for as long as Disconnect
// would.
func (s *Session) drain(cause error) {
	s.over.Store(true)
	s.beginClosing(cause, "")
	s.finishWriting()
	stopped := s.out.whenStopped()
	if stopped == nil {
		return
	}
	limit := s.service.cfg.Clock.NewTimer(s.service.cfg.CloseTimeout)
	defer limit.Stop()
	select {
	case <-stopped: // also when the session is cut
	case <-limit.Chan():
	}
}

// handshakeFailed names the cause when a handshake has failed.
func (s *Session) handshakeFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ErrServiceClosed
	}
	s.service.report("handshake failed", err)
	return fmt.Errorf("%w: %w", ErrHandshake, err)
}

// handshake does what is left to do to the connection before bytes can flow.
func (s *Session) handshake(ctx context.Context) error {
	h, ok := s.conn.(Handshaker)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.service.cfg.HandshakeTimeout)
	defer cancel()
	return h.HandshakeContext(ctx)
}

var errNoHandler = errors.New("gamenet: the session factory made no handler")

// makeHandler calls the factory.
func (s *Session) makeHandler() (err error) {
	defer func() {
		if err != nil {
			s.service.cfg.Log.Error("session factory failed", "session", s.id, "remote", s.RemoteAddr(), "error", err)
		}
	}()
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	if s.handler = s.service.cfg.NewHandler(s); s.handler == nil {
		return errNoHandler
	}
	if _, ok := s.handler.(SentHandler); ok {
		s.inline = false // OnSent must not run in whoever sends
	}
	return nil
}

// call runs a callback. A panic ends the session, and nothing else.
func (s *Session) call(callback func()) {
	s.turn.Lock()
	defer s.endTurn()
	callback()
}

// panicked ends the session after a callback has panicked with v.
func (s *Session) panicked(v any) {
	err := &PanicError{v, debug.Stack()}
	s.service.cfg.Log.Error("callback panicked", "session", s.id, "remote", s.RemoteAddr(), "panic", v,
		"stack", string(err.Stack))
	s.abort(err, "internal error")
}

// ending names the cause when reading has ended with err.
func (s *Session) ending(err error) error {
	switch {
	case s.said:
		return &PeerError{s.bye}
	case err == nil, errors.Is(err, io.EOF):
		return ErrPeerClosed
	default:
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
}

// end is the last that happens in a session: whatever was queued is given back, the handler is notified, and the place
// is free.
func (s *Session) end(connected bool) {
	s.conn.Close()
	cause := s.out.end()
	if s.linger != nil { // nobody sets it after the end
		s.linger.Stop()
	}
	s.in.free()
	s.leaveGroups()
	if connected {
		s.call(func() { s.handler.OnDisconnected(s, cause) })
	}
	s.service.ended(s, cause)
}
