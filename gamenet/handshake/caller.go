package handshake

import (
	"errors"
	"fmt"
	"sync"

	"github.com/muster-gg/muster/gamenet"
)

// A caller is the session handler of a Conn: it does the handshake, then forwards callbacks to the game's handler.
type caller struct {
	*Conn
	cfg     Config
	nonce   uint64
	mu      sync.Mutex
	handler gamenet.Handler // the game's; nil until the server has accepted the player; set with mu held
	over    bool            // answered is closed
}

// Unwrap returns the game's handler for Session.Handler. Any goroutine may call it.
func (c *caller) Unwrap() gamenet.Handler {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.handler
}

func (c *caller) OnConnected(s *gamenet.Session) {
	c.session = s
	hello := Hello{version: c.cfg.Version, nonce: c.nonce, Ticket: c.cfg.Ticket, Data: c.cfg.Data}
	err := s.Send(gamenet.Packet{ID: idHello, Payload: appendHello(nil, hello)})
	if err != nil && !errors.Is(err, gamenet.ErrClosed) { // OnDisconnected reports ErrClosed
		c.fail(s, fmt.Errorf("handshake: Hello: %w", err))
	}
}

func (c *caller) OnPacket(s *gamenet.Session, p gamenet.Packet) {
	switch handshake := ours(p.ID); {
	case c.handler != nil && handshake:
		s.Disconnect(errOver.reason())
	case c.handler != nil:
		c.handler.OnPacket(s, p)
	case handshake && !c.over:
		if err := c.answer(s, p); err != nil {
			c.fail(s, err)
		}
	}
}

// answer handles the answer of the server.
func (c *caller) answer(s *gamenet.Session, p gamenet.Packet) error {
	switch p.ID {
	case idWelcome:
		return c.welcome(s, p.Payload)
	case idRefusal:
		refusal, err := readRefusal(p.Payload)
		if err != nil {
			return err
		}
		return refusal
	default:
		return fmt.Errorf("%w: a server does not send packets of id %#x", ErrInvalid, p.ID)
	}
}

// welcome starts the game's handler.
func (c *caller) welcome(s *gamenet.Session, payload []byte) error {
	nonce, data, err := readWelcome(payload)
	if err != nil {
		return err
	}
	if nonce != c.nonce {
		return fmt.Errorf("%w: Welcome is for another player", ErrInvalid)
	}
	handler, err := c.cfg.handlerFor(s, data)
	if err != nil {
		return err
	}
	c.data = data
	c.mu.Lock()
	c.handler = handler
	c.mu.Unlock()
	handler.OnConnected(s)
	c.settle(nil)
	return nil
}

// fail ends the session of a failed handshake.
func (c *caller) fail(s *gamenet.Session, why error) {
	c.settle(why)
	s.Disconnect(gamenet.Reason{})
}

// settle makes Dial return with verdict; only the first call counts.
func (c *caller) settle(verdict error) {
	if !c.over {
		c.over, c.verdict = true, verdict
		close(c.answered)
	}
}

func (c *caller) OnClosing(s *gamenet.Session) {
	if closing, ok := c.handler.(gamenet.ClosingHandler); ok {
		closing.OnClosing(s)
	}
}

func (c *caller) OnDisconnected(s *gamenet.Session, cause error) {
	defer func() {
		c.settle(unanswered(cause))
		c.cause = cause
		close(c.done)
	}()
	if c.handler != nil {
		c.handler.OnDisconnected(s, cause)
	}
}

// unanswered returns the error of a handshake whose session ended before the answer.
func unanswered(cause error) error {
	ended, ok := errors.AsType[*gamenet.PeerError](cause)
	if ok && ended.Reason != (gamenet.Reason{}) {
		return refusedBy(ended.Reason)
	}
	return fmt.Errorf("handshake: ended without an answer: %w", cause)
}
