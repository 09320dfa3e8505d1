package handshake

import (
	"cmp"
	"errors"
	"sync"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/gamenet"
)

// An entrant is one session of a Server: a player who wants to join, and then the game's handler. Its fields belong to
// the callbacks, which come one at a time, but for those behind mu.
type entrant struct {
	server  *Server
	ticket  string          // taken, until the end; "" for none
	handler gamenet.Handler // the game's; nil before it is the game's turn
	told    bool            // Refused has been

	mu      sync.Mutex
	limit   clockwork.Timer
	decided bool  // Hello has come, or need not come any more
	late    error // Hello did not come in time
}

func (e *entrant) OnConnected(s *gamenet.Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.limit = e.server.cfg.Clock.AfterFunc(e.server.cfg.Limit, func() { e.timeout(s) })
}

// timeout refuses who has not said Hello. It runs beside the callbacks, and so leaves it to OnDisconnected to call what
// is the game's.
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

// decide ends the wait for Hello. It reports false if that was over.
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
		s.Disconnect(errOver)
	default:
		e.handler.OnPacket(s, p)
	}
}

// errOver is the error for the other side if it begins the handshake again.
const errOver = "the handshake is over"

// enter answers the first packet. A ticket is taken before Admit is asked, so that Admit sees it once at a time, and
// given back before the player is refused, so that it is good for another attempt at once.
func (e *entrant) enter(s *gamenet.Session, p gamenet.Packet) {
	hello, err := readHello(p, e.server.cfg.Version)
	if err == nil {
		err = e.server.take(hello.Ticket)
	}
	if err != nil {
		e.refuse(s, err)
		return
	}
	e.ticket = hello.Ticket
	admission, err := e.server.admit(s, hello)
	if err != nil {
		e.release()
		e.refuse(s, err)
		return
	}
	e.handler = admission.Handler
	welcome(s, hello.Nonce, admission.Data)
	e.handler.OnConnected(s)
}

// welcome tells a player who is in. Without a Welcome the session ends.
func welcome(s *gamenet.Session, nonce uint64, data []byte) {
	err := checkData("Welcome", data)
	if err == nil {
		err = s.Send(gamenet.Packet{ID: IDWelcome, Payload: appendWelcome(nil, nonce, data)})
	}
	if err != nil && !errors.Is(err, gamenet.ErrClosed) {
		answer(s, &RefusedError{Code: Other, Text: err.Error()})
	}
}

// refuse does not let the player in.
func (e *entrant) refuse(s *gamenet.Session, why error) {
	e.tell(s, why)
	answer(s, refusalFor(why))
}

// answer tells a player who is not in, and ends the session.
func answer(s *gamenet.Session, r *RefusedError) {
	// A refusal that cannot be sent is followed by the end, with the same text.
	_ = s.Send(gamenet.Packet{ID: IDRefusal, Payload: appendRefusal(nil, r)})
	s.Disconnect(clean(r.Text))
}

// tell calls Refused, once.
func (e *entrant) tell(s *gamenet.Session, why error) {
	if refused := e.server.cfg.Refused; refused != nil && !e.told {
		e.told = true
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
		e.handler.OnDisconnected(s, cause)
		return
	}
	e.tell(s, cmp.Or(e.late, cause))
}

// release gives the ticket back.
func (e *entrant) release() {
	e.server.release(e.ticket)
	e.ticket = ""
}
