package game

import (
	"fmt"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
)

// A guest is one connection: somebody who wants to join, and then a player. Its
// fields belong to the callbacks, which come one at a time.
type guest struct {
	game    *game
	ticket  string // the player session id; "" without one
	number  uint32 // 0 before the guest is in the room
	refused bool   // and told why
	goodbye bool   // said Leave
}

// OnConnected implements gamenet.Handler.
func (p *guest) OnConnected(s *gamenet.Session) {
	p.game.out.line("LogNet: NotifyAcceptingConnection accepted from: %s", s.RemoteAddr())
}

// OnPacket implements gamenet.Handler.
func (p *guest) OnPacket(s *gamenet.Session, packet gamenet.Packet) {
	message, err := protocol.FromPlayer(packet.ID, packet.Payload)
	switch join, joining := message.(protocol.Join); {
	case err != nil:
	case joining && p.number != 0:
		err = fmt.Errorf("%w: Join was sent before", protocol.ErrInvalid)
	case joining:
		err = p.join(s, join)
	case p.number == 0:
		err = fmt.Errorf("%w: the first one must be Join", protocol.ErrInvalid)
	default:
		p.play(s, message)
	}
	if err != nil {
		p.refuse(s, err)
	}
}

// refuse ends this connection and says why.
func (p *guest) refuse(s *gamenet.Session, why error) {
	p.refused = true
	if p.number == 0 {
		p.game.out.line("LogNet: Join refused: %s: %v", s.RemoteAddr(), why)
	} else {
		p.game.out.line("LogNet: Player %d is disconnected: %v", p.number, why)
	}
	s.Disconnect(why.Error())
}

// join lets somebody in who has a place in the game session. The version comes
// first: who speaks another one still has the reservation afterwards.
func (p *guest) join(s *gamenet.Session, m protocol.Join) error {
	if m.Version != protocol.Version {
		return fmt.Errorf("this server speaks version %d of the protocol, not %d", protocol.Version, m.Version)
	}
	g := p.game
	g.out.line("LogNet: Login request: %s", s.RemoteAddr())
	var err error
	if closed := g.do(func() { err = g.door.enter(m.PlayerSession) }); closed != nil {
		return closed
	}
	if err != nil {
		return err
	}
	if err := g.accept(m.PlayerSession); err != nil {
		_ = g.do(g.door.leave)
		g.settle(m.PlayerSession)
		return err
	}
	g.out.line("LogNet: Join request: %q", m.Name)
	p.ticket = m.PlayerSession
	if err := g.do(func() { p.number = g.join(s, m) }); err != nil {
		g.remove(p.ticket)
		return err
	}
	g.out.line("LogNet: Join succeeded: player %d", p.number)
	return nil
}

// play does what a player asks for.
func (p *guest) play(s *gamenet.Session, message protocol.Message) {
	g := p.game
	switch m := message.(type) {
	case protocol.Input:
		_ = g.do(func() { g.room.Steer(p.number, m) })
	case protocol.Say:
		var refused error
		_ = g.do(func() { refused = g.room.Say(p.number, m.Text) })
		if refused != nil {
			answer(s, protocol.Notice{Text: refused.Error()})
		}
	case protocol.Probe:
		answer(s, protocol.Echo(m))
	case protocol.Leave:
		p.goodbye = true
		s.Disconnect("")
	}
}

// answer sends a message to one player. One who cannot be told is disconnected:
// OnDisconnected does the rest.
func answer(s *gamenet.Session, m protocol.Message) {
	_ = s.Send(gamenet.Packet{ID: m.ID(), Payload: m.Append(nil)})
}

// OnDisconnected implements gamenet.Handler. It gives back what join has taken.
func (p *guest) OnDisconnected(s *gamenet.Session, cause error) {
	g := p.game
	if p.number == 0 {
		if !p.refused {
			g.out.line("LogNet: Join refused: %s: %v", s.RemoteAddr(), cause)
		}
		return
	}
	_ = g.do(func() {
		g.room.Leave(p.number)
		g.door.leave()
	})
	g.remove(p.ticket)
	if p.goodbye || p.refused {
		g.out.line("LogNet: Player %d left", p.number)
	} else {
		g.out.line("LogNet: Player %d left: %v", p.number, cause)
	}
	g.settle(p.ticket)
}

// OnClosing implements gamenet.ClosingHandler.
func (p *guest) OnClosing(s *gamenet.Session) { s.Disconnect(errEnding.Error()) }
