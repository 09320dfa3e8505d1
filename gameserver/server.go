package gameserver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// A Server is the connection of this game server to the service. Its methods may be called concurrently, and from
// callbacks. New makes it: Connect of a zero value fails with ErrInvalid.
type Server struct {
	cfg       Config
	log       *slog.Logger
	clock     clockwork.Clock
	refreshes chan refreshPush // at most one waits
	done      chan struct{}
	running   sync.WaitGroup // readers, the supervisor, health reports
	callbacks sync.WaitGroup

	mu       sync.Mutex
	begun    bool // Connect was called
	closed   bool // done is closed
	err      error
	stop     context.CancelFunc
	params   ServerParameters
	current  *socket       // nil while disconnected
	changed  chan struct{} // closed when current changes, and made anew
	sockets  map[*socket]struct{}
	pending  map[string]chan reply // by request id
	process  *ProcessParameters    // nil before ProcessReady
	leaving  bool                  // ProcessEnding waits for its reply
	ended    bool                  // ProcessEnding has succeeded
	session  string
	ordered  bool      // to terminate
	deadline time.Time // for terminating

	credentials map[string]FleetRoleCredentials // by role
	roleless    bool                            // the fleet has no role
}

// New makes a Server that is not connected. It starts nothing.
func New(cfg Config) *Server {
	cfg.fill()
	return &Server{
		cfg: cfg, log: cfg.Log, clock: cfg.clock, refreshes: make(chan refreshPush, 1), done: make(chan struct{}),
		stop: func() {}, changed: make(chan struct{}), sockets: make(map[*socket]struct{}),
		pending: make(map[string]chan reply),
	}
}

// Connect connects the process to the service (InitSDK in the official SDKs). It may be called once. It tries again
// while the service cannot be reached or is overloaded, for at most three minutes or until ctx is done; a refusal of
// the process itself, such as 403 for a bad token, is final and comes at once. Once it has succeeded, ctx has no more
// effect.
func (s *Server) Connect(ctx context.Context, params ServerParameters) error {
	if s.done == nil {
		return invalid(connectAction, "the Server is a zero value: make it with New")
	}
	params = params.complete(s.cfg.Getenv)
	t, err := newTarget(&s.cfg, params)
	if err != nil {
		return err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	if err := s.begin(stop, params); err != nil {
		stop()
		return err
	}
	dialing, cancel := within(ctx, s.clock, connectLimit)
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(ErrClosed) })()
	sock, err := s.dialUntil(dialing, t, func(err error) bool { return !refused(err) })
	if err != nil {
		s.finish(err)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.adopt(sock) {
		return failed(connectAction, ErrClosed)
	}
	s.running.Go(func() { s.supervise(life, t, sock) })
	return nil
}

func (s *Server) begin(stop context.CancelFunc, params ServerParameters) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return failed(connectAction, ErrClosed)
	case s.begun:
		return failed(connectAction, ErrConnected)
	}
	s.begun, s.stop, s.params = true, stop, params
	return nil
}

// finish ends the Server's work; the first reason stays.
func (s *Server) finish(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.done == nil {
		return
	}
	s.closed, s.err = true, reason
	s.stop()
	for sock := range s.sockets {
		sock.close()
	}
	close(s.done)
}

// Close ends the connection (Destroy in the official SDKs), and with it all calls under way. It does not notify the
// service that the process ends: ProcessEnding does. It waits for the Server's own goroutines but not for callbacks,
// from which it may be called; Wait does. Closing twice does nothing.
func (s *Server) Close() {
	s.finish(nil)
	s.running.Wait()
}

// Wait waits until the Server is closed and no callback is running any more.
func (s *Server) Wait() {
	<-s.done
	s.running.Wait()
	s.callbacks.Wait()
}

// Done is closed when the Server was closed, or its connection is lost and not tried again, see Config.ReconnectLimit.
// Err returns which.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns nil until Done is closed, and after Close; otherwise why the connection was lost.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// ProcessID is the id that this process has connected with; "" before Connect.
func (s *Server) ProcessID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.params.ProcessID
}

// GameSessionID is the id of the game session that the service gave this process to host; "" if none.
func (s *Server) GameSessionID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
}

// TerminationTime is when the service will end the process; false if it has not asked the process to end.
func (s *Server) TerminationTime() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadline, s.ordered
}
