package game

import (
	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
)

// A guest is one player's session, from when the player has been let in. Its fields belong to the callbacks, which come
// one at a time.
type guest struct {
	game     *game
	ticket   string // the player session id; "" without one
	name     string
	number   uint32
	expelled bool // and told why
	goodbye  bool // said Leave
}

func (p *guest) OnConnected(s *gamenet.Session) {
	if p.game.do(func() { p.game.join(s, p) }) == nil { // otherwise the process has ended
		p.game.out.line("LogNet: Join succeeded: player %d", p.number)
	}
}

func (p *guest) OnPacket(s *gamenet.Session, packet gamenet.Packet) {
	message, err := protocol.FromPlayer(packet.ID, packet.Payload)
	if err != nil {
		p.expelled = true
		p.game.out.line("LogNet: Player %d is disconnected: %v", p.number, err)
		s.Disconnect(gamenet.Reason{Text: err.Error()})
		return
	}
	p.play(s, message)
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
		s.Disconnect(gamenet.Reason{})
	}
}

// answer sends a message to one player. One who cannot be told is disconnected: OnDisconnected does the rest.
func answer(s *gamenet.Session, m protocol.Message) {
	_ = s.Send(gamenet.Packet{ID: m.ID(), Payload: m.Append(nil)})
}

// OnDisconnected implements gamenet.Handler. It gives back what admit has taken.
func (p *guest) OnDisconnected(_ *gamenet.Session, cause error) {
	g := p.game
	_ = g.do(func() {
		g.room.Leave(p.number)
		g.slots.leave()
	})
	g.remove(p.ticket)
	if p.goodbye || p.expelled {
		g.out.line("LogNet: Player %d left", p.number)
	} else {
		g.out.line("LogNet: Player %d left: %v", p.number, cause)
	}
	g.settle()
}

func (p *guest) OnClosing(s *gamenet.Session) {
	s.Disconnect(gamenet.Reason{Text: "the game server is ending"})
}
