package gamenet

import (
	"context"
	"errors"
	"iter"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// A service is the common part of servers and clients: the sessions and their end. Both embed it and export its
// methods.
type service struct {
	cfg      Config
	u16      bool // cfg.Codec is U16
	foreign  bool // cfg.Codec is not of this package
	ids      bool // cfg.Codec.HasIDs()
	header   int  // cfg.Codec.Header()
	began    time.Time
	delay    delayer
	reporter reporter

	slots   atomic.Int64 // in use, by sessions and by those being created
	most    int64
	lastID  atomic.Uint64
	running sync.WaitGroup // sessions and their helper goroutines

	mu       sync.RWMutex
	sessions map[uint64]*Session
	started  bool
	closing  bool
	stop     chan struct{} // closed when the service begins to close
	base     context.Context
	cancel   context.CancelFunc // of base: ends handshakes and attempts to connect
	closed   chan struct{}      // closed when all goroutines have ended
}

func (s *service) init(cfg Config, most int) {
	s.cfg, s.most = cfg, int64(most)
	s.ids, s.header = cfg.Codec.HasIDs(), cfg.Codec.Header()
	switch cfg.Codec.(type) {
	case u16Codec:
		s.u16 = true
	case u32Codec, varintCodec, rawCodec:
	default:
		s.foreign = true
	}
	s.began = cfg.clock.Now()
	s.delay.service = s
	s.sessions = make(map[uint64]*Session)
	s.stop, s.closed = make(chan struct{}), make(chan struct{})
	s.base, s.cancel = context.WithCancel(context.Background())
}

// begin marks the service as started and starts the goroutine that watches its sessions.
func (s *service) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return ErrServiceClosed
	case s.started:
		return ErrStarted
	}
	s.started = true
	s.running.Go(func() { s.watch(s.stop) })
	return nil
}

// elapsed returns the time since init, in nanoseconds.
func (s *service) elapsed() int64 { return int64(s.cfg.clock.Since(s.began)) }

// Count returns the number of sessions. It includes sessions in a handshake, which Sessions leaves out. A session
// counts until its OnDisconnected has returned.
func (s *service) Count() int { return int(s.slots.Load()) }

// MaxSessions returns the maximum number of sessions.
func (s *service) MaxSessions() int { return int(s.most) }

// Session returns the connected session with an id.
func (s *service) Session(id uint64) (*Session, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	session, ok := s.sessions[id]
	if !ok || session.watched.since.Load() == 0 {
		return nil, false
	}
	return session, true
}

// Sessions returns the currently connected sessions, in no particular order.
func (s *service) Sessions() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for _, session := range s.appendSessions(nil) {
			if !yield(session) {
				return
			}
		}
	}
}

// appendSessions adds the connected sessions to a list.
func (s *service) appendSessions(list []*Session) []*Session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, session := range s.sessions {
		if session.watched.since.Load() != 0 {
			list = append(list, session)
		}
	}
	return list
}

// Broadcast sends a packet, which is encoded once, to all sessions of the service. Errors are as with Group.Broadcast.
func (s *service) Broadcast(p Packet) error {
	return s.broadcast(s.appendSessions(nil), p)
}

// NewFrame returns an empty frame with the codec of the service. The caller must Release it.
func (s *service) NewFrame() *Frame {
	return newFrame(s.cfg.Codec, s.cfg.MaxPacket, smallestFrame)
}

// encode is Append of the codec. U16, the default, is called directly for speed.
func (s *service) encode(dst []byte, p Packet) ([]byte, error) {
	if s.u16 {
		return u16Codec{}.Append(dst, p, s.cfg.MaxPacket)
	}
	return s.cfg.Codec.Append(dst, p, s.cfg.MaxPacket)
}

// decode is Decode of the codec, with size 0 if the packet is not complete.
func (s *service) decode(b []byte) (p Packet, size int, err error) {
	if len(b) == 0 {
		return Packet{}, 0, nil
	}
	if s.u16 {
		p, size, err = u16Codec{}.Decode(b, s.cfg.MaxPacket)
	} else {
		p, size, err = s.cfg.Codec.Decode(b, s.cfg.MaxPacket)
	}
	if err != nil || size > len(b) {
		size = 0
	}
	return p, size, err
}

// takeSlot reserves a slot for a session. It reports false if none is free.
func (s *service) takeSlot() bool {
	if s.slots.Add(1) > s.most {
		s.slots.Add(-1)
		return false
	}
	return true
}

// newSession creates a session in a reserved slot. It fails when the service is closing; otherwise the caller must run
// the session, and done is called at its end.
func (s *service) newSession(conn Conn, done func()) (*Session, bool) {
	session := &Session{service: s, conn: conn, id: s.lastID.Add(1), done: done}
	session.direct = newDirect(conn)
	session.inline = session.direct.possible()
	session.writer = session.write
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, false
	}
	s.sessions[session.id] = session
	s.running.Add(1)
	if m := s.cfg.Metrics; m != nil {
		m.Opened()
	}
	return session, true
}

// ended releases the slot of a session.
func (s *service) ended(session *Session, cause error) {
	s.mu.Lock()
	delete(s.sessions, session.id)
	s.mu.Unlock()
	s.slots.Add(-1)
	if session.done != nil {
		session.done()
	}
	if m := s.cfg.Metrics; m != nil {
		m.Closed(cause)
	}
	s.cfg.Log.Debug("session ended", "session", session.id, "remote", session.RemoteAddr(), "cause", cause)
	s.running.Done()
}

// closeService shuts down gracefully: it calls stopAccepting, disconnects every session, and waits for all goroutines.
// When ctx is done first it closes the connections and returns the error of ctx. Within a callback it does not wait;
// then only the deadline of ctx limits the end, because the caller may cancel ctx as soon as it has returned.
func (s *service) closeService(ctx context.Context, stopAccepting func()) error {
	s.mu.Lock()
	first := !s.closing
	s.closing = true
	s.mu.Unlock()
	if first {
		close(s.stop)
		s.cancel()
		stopAccepting()
		for _, session := range s.all() {
			session.closeForService()
		}
		go func() {
			s.running.Wait()
			s.delay.close()
			close(s.closed)
		}()
	}
	if ctx.Err() != nil || !withinCallback() {
		return s.awaitEnd(ctx)
	}
	if deadline, ok := ctx.Deadline(); ok {
		limit, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		go func() {
			defer cancel()
			_ = s.awaitEnd(limit) // Close has returned
		}()
	}
	return nil
}

// awaitEnd waits until all goroutines have ended. When ctx is done first it closes the connections and returns the
// error of ctx: the goroutines then end as soon as their callbacks have returned.
func (s *service) awaitEnd(ctx context.Context) error {
	select {
	case <-s.closed:
		return nil
	default:
	}
	select {
	case <-s.closed:
		return nil
	case <-ctx.Done():
	}
	for _, session := range s.all() {
		session.cut(ErrServiceClosed)
	}
	return ctx.Err()
}

// all returns the sessions, including those in a handshake.
func (s *service) all() []*Session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]*Session, 0, len(s.sessions))
	for _, session := range s.sessions {
		list = append(list, session)
	}
	return list
}

// closeForService ends a session because its service closes. It first notifies the handler, if that is a
// ClosingHandler.
func (s *Session) closeForService() {
	if s.watched.since.Load() == 0 { // the handler is being made
		s.disconnect(ErrServiceClosed, reasonClosing)
		return
	}
	h, ok := s.handler.(ClosingHandler)
	if !ok {
		s.disconnect(ErrServiceClosed, reasonClosing)
		return
	}
	s.service.running.Go(func() {
		s.call(func() {
			if !s.over.Load() {
				h.OnClosing(s)
			}
		})
		s.disconnect(ErrServiceClosed, reasonClosing)
	})
}

// addressOf returns the IP address of the other side, or the zero Addr without one.
func addressOf(conn Conn) netip.Addr {
	var ip net.IP
	switch a := conn.RemoteAddr().(type) {
	case *net.TCPAddr:
		ip = a.IP
	case *net.UDPAddr:
		ip = a.IP
	}
	address, _ := netip.AddrFromSlice(ip)
	return address.Unmap()
}

// isClosed reports whether Accept failed because the listener was closed.
func isClosed(err error) bool { return errors.Is(err, net.ErrClosed) }

// A reporter logs failures that any host on the network can cause, each kind once a second at most.
type reporter struct {
	mu    sync.Mutex
	kinds map[string]*reported
}

type reported struct {
	at     time.Time
	silent int // failures not logged since then
}

// report logs a failure, unless one of its kind was logged within the last second.
func (s *service) report(kind string, err error) {
	const interval = time.Second
	now := s.cfg.clock.Now()
	r := &s.reporter
	r.mu.Lock()
	last := r.kinds[kind]
	if last != nil && now.Sub(last.at) < interval {
		last.silent++
		r.mu.Unlock()
		return
	}
	silent := 0
	if last != nil {
		silent = last.silent
	}
	if r.kinds == nil {
		r.kinds = make(map[string]*reported)
	}
	r.kinds[kind] = &reported{at: now}
	r.mu.Unlock()
	s.cfg.Log.Warn(kind, "error", err, "not_logged", silent)
}
