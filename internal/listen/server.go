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
	// MaxHead is the largest head of a request that is plain, in bytes.
	MaxHead = 16 << 10

	// MaxBody is the largest body of a request that is plain, in bytes.
	MaxBody = 256 << 10

	// DefaultIdle is how long a connection waits for its next request.
	DefaultIdle = 5 * time.Minute

	// patience is how long a plain request may take to arrive, and a handshake of TLS patientHandshake.
	patience         = 2 * time.Second
	patientHandshake = 20 * time.Second

	// writeTime is how long an answer may take to be written, and at most a third less. It is longer than a client on a
	// slow line needs.
	writeTime         = 30 * time.Second
	watchAfter        = 100 * time.Millisecond // see watch
	firstBuffer       = 4 << 10                // of a connection that has sent the P of POST
	mostKept          = 16 << 10               // of a connection's buffer between requests
	longestAcceptWait = time.Second            // after an error of Accept
)

// A Handler answers requests. It may be called by many goroutines at once.
//
// Answer fills in a. r and its body are the caller's again when Answer returns; its texts may be kept. ctx ends when
// the client goes away during a long answer, and when the server closes.
type Handler interface {
	Answer(ctx context.Context, r *Request, a *Answer)
}

// ServerConfig is what a Server needs.
type ServerConfig struct {
	Handler Handler
	Idle    time.Duration // how long a connection may wait for its next request; 0 is DefaultIdle
	Linger  time.Duration // how long Shutdown leaves those open that wait; 0 closes them at once
	Bodies  *Budget       // of memory for bodies; nil: without limit
	Log     *slog.Logger  // nil: nothing is logged
}

// A Server answers plain requests. Serve may be called once.
type Server struct {
	handler Handler
	idle    time.Duration
	linger  time.Duration
	bodies  *Budget
	log     *slog.Logger
	rest    *rest

	stopping atomic.Bool
	stopped  chan struct{}  // closed when stopping is set
	running  sync.WaitGroup // one for each connection

	mu       sync.Mutex
	listener net.Listener
	conns    map[*conn]struct{}
}

// NewServer makes a server.
func NewServer(c ServerConfig) *Server {
	s := &Server{
		handler: c.Handler, idle: c.Idle, linger: c.Linger, bodies: c.Bodies, log: c.Log,
		stopped: make(chan struct{}), conns: map[*conn]struct{}{},
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

// Rest gives the connections that are not for this server to another one, such as an http.Server. Its address is that
// of the listener that is served. A connection that nobody accepts waits until Rest is closed, or s stops. Those that
// speak TLS are no *tls.Conn, so that http.Server does not set Request.TLS.
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
		// The process has too many open files, or the client was gone already.
		wait = min(max(5*time.Millisecond, 2*wait), longestAcceptWait)
		s.log.Warn("connection not accepted", "error", err, "again_in", wait)
		select {
		case <-time.After(wait):
		case <-s.stopped:
		}
	}
}

// begin notes the listener and reports false when the server has been stopped.
func (s *Server) begin(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener = l
	return !s.stopping.Load()
}

// start serves a connection on a goroutine of its own.
func (s *Server) start(nc net.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &conn{server: s, nc: nc, cancel: cancel}
	c.buf = c.first[:0]
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

// forget is called at the end of a connection.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
}

// Shutdown stops accepting and closes connections that wait for a request, after ServerConfig.Linger: one that comes
// meanwhile is answered, and told that it is the last. A connection that is closed at once may have a request on its
// way, whose client cannot know whether it was heard. Shutdown returns when all others have been answered or passed on,
// or with ctx's error.
// Then [Server.Close] cuts what is left. The server of Rest is to be shut down by itself, before or after.
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

// stop ends the accepting and does with each connection what it is given.
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
