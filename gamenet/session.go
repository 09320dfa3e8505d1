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
// One goroutine reads and calls the handler. A second one exists only while a write has to wait: an idle session costs
// one goroutine and no buffer.
type Session struct {
	// The fields used for each packet are first and adjacent: with a thousand sessions most accesses miss the CPU
	// cache.
	service *service
	handler Handler
	direct  direct
	inline  bool        // the sending goroutine also writes, with direct
	over    atomic.Bool // received packets are no longer delivered
	severed atomic.Bool // cut was called
	turn    sync.Mutex  // held while a callback of this session runs
	in      inbox
	out     outbox
	watched watched // its flags come first

	bytesIn, packetsIn, bytesOut, packetsOut, dropped atomic.Uint64

	id     uint64
	conn   Conn
	writer func()          // write; stored, because a method value allocates
	done   func()          // called when the slot is released; may be nil
	linger clockwork.Timer // cuts a disconnected session after CloseTimeout; guarded by out.mu
	peer   *Reason         // the reason that the other side sent, or nil; used by the reading goroutine

	value    atomic.Pointer[any] // of SetValue
	lifetime *lifetime           // of Context; nil before its first call; guarded by out.mu

	groupsMu sync.Mutex
	groups   []*Group
	left     bool // leaveGroups was called
}

// A lifetime is the context of a session.
type lifetime struct {
	context.Context
	end context.CancelCauseFunc
}

// Stats are the counters of a session.
type Stats struct {
	BytesIn, BytesOut     uint64 // headers included
	PacketsIn, PacketsOut uint64
	Dropped               uint64 // packets dropped because of a full queue
	QueuedBytes           int    // waiting to be written
	QueuedPackets         int
}

// ID returns the session's number in its service: ascending, never 0, never reused.
func (s *Session) ID() uint64 { return s.id }

// RemoteAddr returns the address of the other side.
func (s *Session) RemoteAddr() net.Addr { return s.conn.RemoteAddr() }

// Conn returns the connection, for details of its transport such as the TLS state. The caller must not read, write or
// close it.
func (s *Session) Conn() Conn { return s.conn }

// Handler returns the game's handler, so that a session leads to its player, for example in a loop over Group.Members.
// It is the handler from the session factory or, if that has a method Unwrap() Handler, the one that Unwrap returns:
// behind package handshake it is Admission.Handler. It is nil before OnConnected, and behind the handshake before the
// player is admitted.
func (s *Session) Handler() Handler {
	if s.watched.since.Load() == 0 { // the factory may not have returned
		return nil
	}
	h := s.handler
	for {
		wrapping, ok := h.(interface{ Unwrap() Handler })
		if !ok {
			return h
		}
		h = wrapping.Unwrap()
	}
}

// SetValue attaches a value to the session, for code that does not know the handler. It replaces the previous value.
func (s *Session) SetValue(v any) { s.value.Store(&v) }

// Value returns the value of the last SetValue; nil without one.
func (s *Session) Value() any {
	if v := s.value.Load(); v != nil {
		return *v
	}
	return nil
}

// Context returns a context that is done when the session has ended, before OnDisconnected is called; context.Cause
// then returns the cause that OnDisconnected receives. It is for calls that a callback waits for. While a callback
// runs, nothing is received, so only this side can end the session: by Close, for example, or because a write has
// failed.
func (s *Session) Context() context.Context {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if s.lifetime == nil {
		ctx, end := context.WithCancelCause(context.Background())
		s.lifetime = &lifetime{ctx, end}
		if s.severed.Load() { // cut has stored the cause
			end(s.out.cause)
		}
	}
	return s.lifetime.Context
}

// RTT returns the round-trip time of the last answered ping; 0 before the first. See Config.PingInterval.
func (s *Session) RTT() time.Duration { return time.Duration(s.watched.rtt.Load()) }

// Stats returns the current counters.
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

// Disconnect ends the session gracefully: it writes the queued packets, the reason (with a codec that has ids) and the
// end of the stream. The other side has Config.CloseTimeout to close; then the connection is closed. Packets that
// arrive from now on are not delivered. It returns at once, and further calls have no effect.
//
// OnDisconnected receives ErrDisconnected, with the reason if there is one; that of the other side receives a
// *PeerError with the reason:
//
//	s.Disconnect(gamenet.Reason{Code: codeKicked, Text: "kicked by the host"})
//
// A client of the other side with ClientConfig.Reconnect connects again only if reason.Reconnect is set.
func (s *Session) Disconnect(reason Reason) {
	cause := ErrDisconnected
	if details := reason.details(); details != "" {
		cause = fmt.Errorf("%w%s", ErrDisconnected, details)
	}
	s.disconnect(cause, reason)
}

// disconnect ends the session gracefully, for a cause.
func (s *Session) disconnect(cause error, reason Reason) {
	s.over.Store(true)
	switch s.beginClosing(cause, &reason) {
	case outboxNew: // no reason can be sent before the handshake
		s.cut(cause)
		return
	case outboxClosing, outboxEnded:
		return
	}
	s.out.mu.Lock()
	if s.out.state != outboxEnded {
		s.linger = s.service.cfg.clock.AfterFunc(s.service.cfg.CloseTimeout, func() { s.cut(cause) })
	}
	s.out.mu.Unlock()
	s.finishWriting()
}

// abort ends the session because of an error of the other side. It sends the reason if it can write without waiting;
// otherwise it allows CloseTimeout, as Disconnect does.
func (s *Session) abort(cause error, reason Reason) {
	if !s.inline {
		s.disconnect(cause, reason)
		return
	}
	s.over.Store(true)
	if s.beginClosing(cause, &reason) == outboxOpen {
		s.finishWriting()
	}
	s.cut(cause)
}

// cut ends the session at once. It does not wait, and any goroutine may call it.
func (s *Session) cut(cause error) {
	s.over.Store(true)
	s.beginClosing(cause, nil)
	if s.severed.Swap(true) {
		return
	}
	s.endContext()
	switch conn := s.conn.(type) {
	case *net.TCPConn:
		// Close would wait for a running callback, because the connection is in use meanwhile. A deadline wakes the
		// goroutines that wait for it, and run closes it.
		_ = conn.SetDeadline(time.Unix(1, 0))
	case interface{ NetConn() net.Conn }:
		conn.NetConn().Close() // TLS would first write a close_notify, and wait for that
	default:
		conn.Close()
	}
}

// endContext ends the context of the session, if there is one.
func (s *Session) endContext() {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if s.lifetime != nil {
		s.lifetime.end(s.out.cause)
	}
}

var errGoexit = errors.New("gamenet: a callback has ended its goroutine")

// run runs a session from the handshake to its end.
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
	s.call(func() { // Sessions includes it from here on, and this callback is the first
		s.watched.opened(s.service.cfg.clock.Now())
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

// drain writes the queue, within CloseTimeout, to a side that has ended its own stream and may still read.
func (s *Session) drain(cause error) {
	s.over.Store(true)
	s.beginClosing(cause, nil)
	s.finishWriting()
	stopped := s.out.whenStopped()
	if stopped == nil {
		return
	}
	limit := s.service.cfg.clock.NewTimer(s.service.cfg.CloseTimeout)
	defer limit.Stop()
	select {
	case <-stopped: // also when the session is cut
	case <-limit.Chan():
	}
}

// handshakeFailed returns the cause when a handshake has failed.
func (s *Session) handshakeFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ErrServiceClosed
	}
	s.service.report("handshake failed", err)
	return fmt.Errorf("%w: %w", ErrHandshake, err)
}

// handshake completes the handshake of the connection, if it has one.
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
	log := s.service.cfg.Log
	defer func() {
		if v := recover(); v != nil {
			stack := debug.Stack()
			logPanic(log, "session factory panicked", "session", s.id, "remote", s.RemoteAddr(), "panic", v,
				"stack", string(stack))
			err = &PanicError{v, stack}
		}
	}()
	if s.handler = s.service.cfg.NewHandler(s); s.handler == nil {
		log.Error("session factory failed", "session", s.id, "remote", s.RemoteAddr(), "error", errNoHandler)
		return errNoHandler
	}
	if _, ok := s.handler.(SentHandler); ok {
		s.inline = false // OnSent must not run in the sending goroutine
	}
	return nil
}

// call runs a callback. A panic ends the session, not the process.
func (s *Session) call(callback func()) {
	s.turn.Lock()
	defer s.endTurn()
	callback()
}

// panicked ends the session after a callback has panicked with v.
func (s *Session) panicked(v any) {
	err := &PanicError{v, debug.Stack()}
	logPanic(s.service.cfg.Log, "callback panicked", "session", s.id, "remote", s.RemoteAddr(), "panic", v,
		"stack", string(err.Stack))
	s.abort(err, reasonInternal)
}

// ending returns the cause when reading has ended with err.
func (s *Session) ending(err error) error {
	switch {
	case s.peer != nil:
		return &PeerError{*s.peer}
	case err == nil, errors.Is(err, io.EOF):
		return ErrPeerClosed
	case s.bytesIn.Load() == 0 && isAlert(err): // in TLS 1.3 the client's side of the handshake is complete before
		return fmt.Errorf("%w: %w", ErrHandshake, err)
	default:
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
}

// end is the last step of a session: it drops the queue, notifies the handler, and releases the slot.
func (s *Session) end(connected bool) {
	s.conn.Close()
	cause := s.out.end()
	if s.linger != nil { // not set after out.end
		s.linger.Stop()
	}
	s.in.free()
	s.leaveGroups()
	if connected {
		s.call(func() { s.handler.OnDisconnected(s, cause) })
	}
	s.service.ended(s, cause)
}
