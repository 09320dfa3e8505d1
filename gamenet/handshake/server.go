package handshake

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/gamenet"
)

// ServerConfig configures a Server. Admit is required; the rest has defaults.
type ServerConfig struct {
	// Version is the version of the game's protocol. Who speaks another one is refused before anything else is looked
	// at.
	Version uint32
	// Admit decides about a player, and returns the handler that the session's callbacks go to from then on. It runs in
	// the session's goroutine and may take long: it holds up this player and nobody else. ctx is done after AdmitLimit,
	// and by StopAdmitting; it does not end when the player hangs up, of which OnDisconnected tells afterwards.
	//
	// What Admit has taken when it fails it gives back itself. When it succeeds the handler's OnConnected is called in
	// any case, also if the player has gone meanwhile, and thus OnDisconnected, which gives back.
	//
	// A *RefusedError is sent to the player. Of any other error the player learns only that it was refused: Unavailable
	// or Ending when ctx is done, Other otherwise.
	Admit func(ctx context.Context, s *gamenet.Session, hello Hello) (Admission, error)
	// Unticketed lets players without a ticket come as far as Admit. Otherwise they are refused.
	Unticketed bool
	// Limit is the time for Hello to come, from when the session is connected; default 5 s.
	// gamenet.Config.FirstPacketTimeout is not needed beside it.
	Limit time.Duration
	// AdmitLimit is the time after which Admit's context is done; default 10 s. gamenet.Config.IdleTimeout should be
	// longer: nothing is received meanwhile.
	AdmitLimit time.Duration
	// Refused is called once for each session that was not admitted, for instance to log it: why is or wraps what Admit
	// has returned, another *RefusedError or ErrInvalid, or the session's cause if that came first. It never overlaps
	// Admit or the callbacks of the same session. nil for nobody.
	Refused func(s *gamenet.Session, why error)
	// Clock drives Limit; nil for the real one.
	Clock clockwork.Clock
}

// An Admission is what Admit gives to a player who is let in.
type Admission struct {
	// Handler gets the callbacks of the session from now on: OnConnected, when Welcome is queued, then OnPacket for
	// each packet that follows Hello, OnClosing if it is a gamenet.ClosingHandler, and OnDisconnected. OnSent is not
	// called, and Session.Handler is not this one. Required.
	Handler gamenet.Handler
	// Data goes to the player with Welcome: at most MaxData bytes.
	Data []byte
}

// A Server lets players into the game of one gamenet.ServerService, or of several. Its methods may be called from any
// goroutine.
type Server struct {
	cfg  ServerConfig
	open context.Context // done when nobody is let in any more
	stop context.CancelFunc

	mu      sync.Mutex
	tickets map[string]struct{} // of sessions whose OnDisconnected has not returned
}

// NewServer makes a server. It fails with a *gamenet.ConfigError.
func NewServer(cfg ServerConfig) (*Server, error) {
	cfg.Limit = cmp.Or(cfg.Limit, 5*time.Second)
	cfg.AdmitLimit = cmp.Or(cfg.AdmitLimit, 10*time.Second)
	if cfg.Clock == nil {
		cfg.Clock = clockwork.NewRealClock()
	}
	switch {
	case cfg.Admit == nil:
		return nil, &gamenet.ConfigError{Field: "Admit", Fix: "a function that decides about players is needed"}
	case cfg.Limit < 0:
		return nil, &gamenet.ConfigError{Field: "Limit", Fix: cfg.Limit.String() + " is negative"}
	case cfg.AdmitLimit < 0:
		return nil, &gamenet.ConfigError{Field: "AdmitLimit", Fix: cfg.AdmitLimit.String() + " is negative"}
	}
	s := &Server{cfg: cfg, tickets: make(map[string]struct{})}
	s.open, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// NewHandler is the session factory to give to gamenet.Config.NewHandler. The codec must have ids.
func (s *Server) NewHandler(*gamenet.Session) gamenet.Handler { return &entrant{server: s} }

// StopAdmitting lets nobody in any more: who says Hello from now on is refused with Ending, and the contexts of Admit
// are done. Call it before the ServerService is closed, whose Close waits for Admit. It returns at once.
func (s *Server) StopAdmitting() { s.stop() }

// take takes a ticket, unless another session has it.
func (s *Server) take(ticket string) error {
	if ticket == "" {
		if s.cfg.Unticketed {
			return nil
		}
		return refusedf(TicketMissing, "a player session id is needed")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.tickets[ticket]; taken {
		return refusedf(TicketInUse, "this player session is in use")
	}
	s.tickets[ticket] = struct{}{}
	return nil
}

// release gives a ticket back, if there is one.
func (s *Server) release(ticket string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tickets, ticket)
}

var errNoHandler = errors.New("handshake: Admit has returned neither a handler nor an error")

// admit asks Admit. Its errors are what Admit returned, joined with the answer to the player if that is more precise.
func (s *Server) admit(session *gamenet.Session, hello Hello) (Admission, error) {
	if s.open.Err() != nil {
		return Admission{}, errEnding
	}
	ctx, cancel := context.WithTimeout(s.open, s.cfg.AdmitLimit)
	defer cancel()
	a, err := s.cfg.Admit(ctx, session, hello)
	switch {
	case err == nil && a.Handler == nil:
		return a, errNoHandler
	case err == nil || ctx.Err() == nil:
		return a, err
	case s.open.Err() != nil:
		return a, errors.Join(err, errEnding)
	default:
		return a, errors.Join(err, errTooLong)
	}
}

var (
	errEnding  = refusedf(Ending, "the game server is ending")
	errTooLong = refusedf(Unavailable, "the player session could not be checked in time")
)
