package listen

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxHead is the maximum size of the head of a plain request, in bytes.
	MaxHead = 16 << 10

	// MaxBody is the maximum size of the body of a plain request, in bytes.
	MaxBody = 256 << 10

	// DefaultIdle is the default of ServerConfig.Idle.
	DefaultIdle = 5 * time.Minute

	// patience limits how long a plain request takes to arrive, and patientHandshake a TLS handshake.
	patience         = 2 * time.Second
	patientHandshake = 20 * time.Second

	// writeTime is the timeout of writing an answer; the effective one is up to a third shorter. It is longer than a
	// client on a slow connection needs.
	writeTime         = 30 * time.Second
	watchAfter        = 100 * time.Millisecond // see watch
	firstBuffer       = 4 << 10                // of a connection that has sent the P of POST
	mostKept          = 16 << 10               // of a connection's buffer between requests
	longestAcceptWait = time.Second            // after an error of Accept
)

// A Handler answers requests. It may be called by many goroutines at once.
//
// Answer fills in a. r and its body belong to the caller again when Answer returns, but the strings of r may be kept.
// ctx ends when the client disconnects during a long answer, and when the server closes.
type Handler interface {
	Answer(ctx context.Context, r *Request, a *Answer)
}

// ServerConfig configures a Server.
type ServerConfig struct {
	Handler Handler
	Accepts func(r *Request) bool // by the head; other requests are passed on; nil: all are for Handler
	Idle    time.Duration         // how long a connection may wait for its next request; 0 is DefaultIdle
	Linger  time.Duration         // how long Shutdown keeps waiting connections open; 0 closes them at once
	Bodies  *Budget               // of memory for bodies; nil: no limit
	Proxies Proxies               // that are trusted
	Log     *slog.Logger          // nil: nothing is logged
}

// A Server answers plain requests. Serve may be called once.
type Server struct {
	handler Handler
	accepts func(*Request) bool
	idle    time.Duration
	linger  time.Duration
	bodies  *Budget
	proxies Proxies
	log     *slog.Logger
	rest    *rest

	stopping atomic.Bool
	stopped  chan struct{}  // closed when stopping is set
	running  sync.WaitGroup // one for each connection

	mu       sync.Mutex
	listener net.Listener
	conns    map[*conn]struct{}
}

// NewServer returns a server.
func NewServer(c ServerConfig) *Server {
	s := &Server{
		handler: c.Handler, accepts: c.Accepts, idle: c.Idle, linger: c.Linger, bodies: c.Bodies, proxies: c.Proxies,
		log: c.Log, stopped: make(chan struct{}), conns: map[*conn]struct{}{},
	}
	if s.accepts == nil {
		s.accepts = func(*Request) bool { return true }
	}
	if s.idle == 0 {
		s.idle = DefaultIdle
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.rest = &rest{conns: make(chan net.Conn), closed: make(chan struct{})}
	return s
}

// Rest returns a listener for another server, such as an http.Server, which accepts the connections that s passes on.
// Its address is that of the listener that s serves. A connection waits until it is accepted, Rest is closed, or s
// stops. TLS connections are no *tls.Conn, so http.Server does not set Request.TLS.
func (s *Server) Rest() net.Listener { return restOf{s.rest, s} }

// Serve accepts connections until Shutdown or Close, and then returns nil. It closes l.
func (s *Server) Serve(l net.Listener) error {
	if !s.begin(l) {
		return l.Close()
	}
	defer l.Close()
	var wait time.Duration
	for {
		nc, err := l.Accept()
		if err == nil {
			wait = 0
			s.start(nc)
			continue
		}
		if s.stopping.Load() {
			return nil
		}
		if t, ok := errors.AsType[interface {
			error
			Temporary() bool
		}](err); !ok || !t.Temporary() {
			return err
		}
		// The process has too many open files, or the client has disconnected already.
		wait = min(max(5*time.Millisecond, 2*wait), longestAcceptWait)
		s.log.Warn("connection not accepted", "error", err, "again_in", wait)
		select {
		case <-time.After(wait):
		case <-s.stopped:
		}
	}
}

// begin records the listener, or returns false if the server was stopped.
func (s *Server) begin(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener = l
	return !s.stopping.Load()
}

// start serves a connection in a goroutine.
func (s *Server) start(nc net.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &conn{server: s, nc: nc, cancel: cancel}
	c.buf = c.first[:0]
	c.peer = clientOf(nc)
	c.trusted = s.proxies.contain(c.peer.Address)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		cancel()
		_ = nc.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.running.Go(func() { c.serve(ctx) })
}

// forget removes a connection that has ended.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
}

// Shutdown stops accepting, and closes connections that wait for a request after ServerConfig.Linger. A request that
// arrives meanwhile is answered as the last one of its connection. If a connection is closed at once, a request may be
// in transit, and its client cannot know whether it was received. Shutdown returns when all other connections were
// answered or passed on, or with ctx's error; then [Server.Close] closes the rest. The server of Rest must be shut down
// separately, before or after.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop((*conn).closeSoon)
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes the listener and all connections, cancels the requests that are being answered, and waits for their
// handlers.
func (s *Server) Close() error {
	s.stop((*conn).abort)
	s.running.Wait()
	return nil
}

// stop stops accepting, and calls with for each connection.
func (s *Server) stop(with func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping.Swap(true) {
		close(s.stopped)
	}
	if s.listener != nil {
		_ = s.listener.Close()
	}
	for c := range s.conns {
		with(c)
	}
}
