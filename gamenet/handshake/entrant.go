package handshake

import (
	"cmp"
	"errors"
	"sync"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/gamenet"
)

// An entrant is the handler of one session of a Server: it does the handshake, then forwards callbacks to the game's
// handler. Only its callbacks, which do not overlap, use its fields, except those guarded by mu.
type entrant struct {
	server   *Server
	ticket   string
	holder   *holder         // of the ticket, until the end; nil for none
	handler  gamenet.Handler // the game's; nil until the player is admitted; set with mu held
	notified bool            // Refused was called

	mu      sync.Mutex
	limit   clockwork.Timer
	decided bool  // the first packet has arrived, or is no longer expected
	late    error // set if Hello did not arrive in time
}

func (e *entrant) OnConnected(s *gamenet.Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.limit = e.server.cfg.clock.AfterFunc(e.server.cfg.Limit, func() { e.timeout(s) })
}

// Unwrap returns the game's handler for Session.Handler. Any goroutine may call it.
func (e *entrant) Unwrap() gamenet.Handler {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.handler
}

// timeout refuses a session that has not sent Hello. It may overlap the callbacks, so OnDisconnected calls Refused.
func (e *entrant) timeout(s *gamenet.Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.decided {
		return
	}
	late := refusedf(Timeout, "no Hello within %v", e.server.cfg.Limit)
	e.decided, e.late = true, late
	answer(s, late)
}

// decide ends the wait for Hello. It reports false if the wait had already ended.
func (e *entrant) decide() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := !e.decided
	e.decided = true
	e.limit.Stop()
	return first
}

func (e *entrant) OnPacket(s *gamenet.Session, p gamenet.Packet) {
	switch {
	case e.handler == nil:
		if e.decide() {
			e.enter(s, p)
		}
	case ours(p.ID):
		s.Disconnect(errOver.reason())
	default:
		e.handler.OnPacket(s, p)
	}
}

// errOver is the reason for the other side if it begins the handshake again.
var errOver = refusedf(Invalid, "the handshake is over")

// enter answers the first packet. It reserves the ticket before it calls Admit, so that no two calls of Admit share a
// ticket, and releases it before it refuses the player, so that another attempt can use it at once.
func (e *entrant) enter(s *gamenet.Session, p gamenet.Packet) {
	hello, err := readHello(p, e.server.cfg.Version)
	if err == nil {
		e.ticket = hello.Ticket
		e.holder, err = e.server.take(s, hello.Ticket)
	}
	if err != nil {
		e.refuse(s, err)
		return
	}
	admission, err := e.server.admit(s, hello)
	if err != nil {
		e.release()
		e.refuse(s, err)
		return
	}
	e.mu.Lock()
	e.handler = admission.Handler
	e.mu.Unlock()
	e.server.admitted(e.holder)
	welcome(s, hello.nonce, admission.Data)
	e.handler.OnConnected(s)
}

// welcome sends Welcome. If that fails the session ends.
func welcome(s *gamenet.Session, nonce uint64, data []byte) {
	err := checkData("Welcome", data)
	if err == nil {
		err = s.Send(gamenet.Packet{ID: idWelcome, Payload: appendWelcome(nil, nonce, data)})
	}
	if err != nil && !errors.Is(err, gamenet.ErrClosed) {
		answer(s, &RefusedError{Code: Other, Text: err.Error()})
	}
}

// refuse rejects the player and calls Refused.
func (e *entrant) refuse(s *gamenet.Session, why error) {
	e.notify(s, why)
	answer(s, refusalFor(why))
}

// answer sends a refusal and ends the session.
func answer(s *gamenet.Session, r *RefusedError) {
	// If the refusal cannot be sent, the reason of Disconnect has the same code and text.
	_ = s.Send(gamenet.Packet{ID: idRefusal, Payload: appendRefusal(nil, r)})
	s.Disconnect(r.reason())
}

// notify calls Refused, once.
func (e *entrant) notify(s *gamenet.Session, why error) {
	if refused := e.server.cfg.Refused; refused != nil && !e.notified {
		e.notified = true
		refused(s, why)
	}
}

func (e *entrant) OnClosing(s *gamenet.Session) {
	if closing, ok := e.handler.(gamenet.ClosingHandler); ok {
		closing.OnClosing(s)
	}
	if e.handler == nil && e.decide() {
		e.refuse(s, errEnding)
	}
}

func (e *entrant) OnDisconnected(s *gamenet.Session, cause error) {
	defer e.release()
	e.decide()
	if e.handler != nil {
		if errors.Is(cause, gamenet.ErrDisconnected) && e.server.wasReplaced(e.holder) {
			cause = errReplaced
		}
		e.handler.OnDisconnected(s, cause)
		return
	}
	e.notify(s, cmp.Or(e.late, cause))
}

// release releases the ticket.
func (e *entrant) release() {
	if e.holder != nil {
		e.server.release(e.ticket, e.holder)
		e.holder = nil
	}
}
