package handshake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/gamenet"
)

// ServerConfig configures a Server. Admit is required; the rest has defaults.
type ServerConfig struct {
	// Version is the version of the game's protocol. A client of another version is refused before anything else is
	// checked.
	Version uint32
	// Admit accepts or rejects a player, and returns the handler for all further callbacks of the session. It runs in
	// the session's goroutine and may be slow: it delays only this player. ctx is done after AdmitLimit, and by
	// StopAdmitting; it does not end when the player disconnects, which OnDisconnected reports afterwards.
	//
	// If Admit fails, it must itself release what it acquired. If it succeeds, the handler's OnConnected is always
	// called, even if the player has disconnected meanwhile, and so is OnDisconnected, which must release it.
	//
	// A *RefusedError is sent to the player. For other errors the player receives only a code: Unavailable or Ending
	// when ctx is done, Other otherwise; Invalid with its text for one that wraps ErrInvalid.
	Admit func(ctx context.Context, s *gamenet.Session, hello Hello) (Admission, error)
	// Unticketed passes players without a ticket to Admit. Otherwise they are refused.
	Unticketed bool
	// Resume lets a player who connects again replace an admitted session that has the same ticket, because its
	// connection is lost and the server has not noticed: that session ends, and its OnDisconnected receives
	// gamenet.ErrLost. When that has returned, Admit is called for the new session. If the line of the old session is
	// dead, this takes gamenet.Config.CloseTimeout. By default such a player is refused with TicketInUse.
	//
	// The service must accept the ticket again: with a gameserver.Host, OnDisconnected calls HandlePlayerConnectionLost
	// if Lost(cause), and HandlePlayerLeaveSession otherwise.
	Resume bool
	// Limit is the time after the session is connected within which Hello must arrive; default 5 s.
	// gamenet.Config.FirstPacketTimeout is then not needed.
	Limit time.Duration
	// AdmitLimit is the time after which Admit's context is done; default 10 s.
	AdmitLimit time.Duration
	// Refused is called once for each session that was not admitted, for instance to log it: why is or wraps Admit's
	// error, another *RefusedError or ErrInvalid, or the session's cause if the session ended first. It never overlaps
	// Admit or the callbacks of the same session. May be nil.
	Refused func(s *gamenet.Session, why error)

	// clock drives Limit; nil for the system clock.
	clock clockwork.Clock
}

// An Admission is Admit's result for an accepted player.
type Admission struct {
	// Handler gets the callbacks of the session from now on: OnConnected, when Welcome is queued, then OnPacket for
	// each packet that follows Hello, OnClosing if it is a gamenet.ClosingHandler, and OnDisconnected. OnSent is not
	// called. Session.Handler returns it. Required.
	Handler gamenet.Handler
	// Data is sent to the player with Welcome: at most MaxData bytes.
	Data []byte
}

// A Server authenticates the players of one gamenet.ServerService, or of several. Its methods may be called from any
// goroutine.
type Server struct {
	cfg  ServerConfig
	open context.Context // done after StopAdmitting
	stop context.CancelFunc

	mu      sync.Mutex
	tickets map[string]*holder // of sessions whose OnDisconnected has not returned
}

// A holder is a session that holds a ticket.
type holder struct {
	session  *gamenet.Session
	released chan struct{} // closed when OnDisconnected has returned, or Admit has failed

	// guarded by Server.mu
	admitted bool
	replaced bool // by a later session with the same ticket
}

// NewServer creates a server. It fails with a *gamenet.ConfigError.
func NewServer(cfg ServerConfig) (*Server, error) {
	cfg.Limit = cmp.Or(cfg.Limit, 5*time.Second)
	cfg.AdmitLimit = cmp.Or(cfg.AdmitLimit, 10*time.Second)
	if cfg.clock == nil {
		cfg.clock = clockwork.NewRealClock()
	}
	switch {
	case cfg.Admit == nil:
		return nil, &gamenet.ConfigError{Field: "Admit", Fix: "a function that decides about players is needed"}
	case cfg.Limit < 0:
		return nil, &gamenet.ConfigError{Field: "Limit", Fix: cfg.Limit.String() + " is negative"}
	case cfg.AdmitLimit < 0:
		return nil, &gamenet.ConfigError{Field: "AdmitLimit", Fix: cfg.AdmitLimit.String() + " is negative"}
	}
	s := &Server{cfg: cfg, tickets: make(map[string]*holder)}
	s.open, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// NewHandler is the session factory for gamenet.Config.NewHandler. The codec must have ids.
func (s *Server) NewHandler(*gamenet.Session) gamenet.Handler { return &entrant{server: s} }

// StopAdmitting stops admitting players: it refuses each later Hello with Ending, and ends the contexts of Admit. Call
// it before ServerService.Close, which waits for Admit. It returns at once.
func (s *Server) StopAdmitting() { s.stop() }

// take reserves a ticket for a session, unless another session holds it and cannot be replaced. The holder is nil
// without a ticket.
func (s *Server) take(session *gamenet.Session, ticket string) (*holder, error) {
	if ticket == "" {
		if s.cfg.Unticketed {
			return nil, nil
		}
		return nil, refusedf(TicketMissing, "a player session id is needed")
	}
	h := &holder{session: session, released: make(chan struct{})}
	before, ok := s.hold(ticket, h)
	if !ok || before != nil && !s.replace(ticket, before, h) {
		return nil, refusedf(TicketInUse, "this player session is in use")
	}
	return h, nil
}

// hold makes a session the holder of a ticket. It returns the holder that is replaced; nil if there is none. It reports
// false if the holder cannot be replaced.
func (s *Server) hold(ticket string, h *holder) (before *holder, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.tickets[ticket]
	if before != nil {
		if !s.cfg.Resume || !before.admitted {
			return nil, false
		}
		before.replaced = true
	}
	s.tickets[ticket] = h
	return before, true
}

// replace ends the session that held a ticket before. It reports false if that takes too long; the ticket is then that
// session's again.
func (s *Server) replace(ticket string, before, h *holder) bool {
	before.session.Disconnect(gamenet.Reason{Text: "the player has connected again"})
	ctx, cancel := context.WithTimeout(s.open, s.cfg.AdmitLimit)
	defer cancel()
	select {
	case <-before.released:
		return true
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-before.released:
		delete(s.tickets, ticket)
	default:
		s.tickets[ticket] = before
	}
	return false
}

// admitted stores that a session was admitted, and may be replaced from now on.
func (s *Server) admitted(h *holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h != nil {
		h.admitted = true
	}
}

// wasReplaced reports whether a later session has the ticket of a session.
func (s *Server) wasReplaced(h *holder) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h != nil && h.replaced
}

// release releases the ticket of a session, unless a later session has it.
func (s *Server) release(ticket string, h *holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tickets[ticket] == h {
		delete(s.tickets, ticket)
	}
	close(h.released)
}

var errNoHandler = errors.New("handshake: Admit has returned neither a handler nor an error")

// admit calls Admit. It joins Admit's error with the answer to the player if that is more precise.
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

// Lost reports whether the cause that OnDisconnected has received means that the connection is lost, so that the player
// may come back: gamenet.ErrLost, ErrIdle or ErrWriteTimeout. The session has ended for other causes on purpose.
func Lost(cause error) bool {
	return errors.Is(cause, gamenet.ErrLost) || errors.Is(cause, gamenet.ErrIdle) ||
		errors.Is(cause, gamenet.ErrWriteTimeout)
}

var (
	errReplaced = fmt.Errorf("%w: the player has connected again", gamenet.ErrLost)

	errEnding  = refusedf(Ending, "the game server is ending")
	errTooLong = refusedf(Unavailable, "the player session could not be checked in time")
)
