package bot

import (
	"errors"
	"time"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
)

// A handler is a bot as its session calls it.
type handler struct{ *Bot }

// OnConnected implements gamenet.Handler.
func (b handler) OnConnected(s *gamenet.Session) {
	b.session = s
	_ = b.send(b.join) // without a connection OnDisconnected follows
}

// OnPacket implements gamenet.Handler.
func (b handler) OnPacket(s *gamenet.Session, p gamenet.Packet) {
	message, err := protocol.FromServer(p.ID, p.Payload)
	welcome, first := message.(protocol.Welcome)
	switch {
	case err != nil:
		s.Disconnect(err.Error())
		return
	case first:
		err = b.begin(welcome)
	case b.number == 0:
		return // a datagram that was quicker
	}
	if err != nil {
		s.Disconnect(err.Error())
		return
	}
	if echo, ok := message.(protocol.Echo); ok {
		b.rtt.Store(max(1, time.Now().UnixNano()-int64(echo.Value)))
	}
	b.take(message)
	if b.observe != nil {
		b.observe(message)
	}
	if first {
		close(b.welcome)
	}
}

// begin takes the answer to Join.
func (b handler) begin(m protocol.Welcome) error {
	switch {
	case b.number != 0:
		return errors.New("welcomed twice")
	case m.Nonce != b.join.Nonce:
		return errors.New("welcomed somebody else")
	case m.Number == 0 || m.TickRate == 0:
		return errors.New("welcomed as nobody")
	}
	b.number, b.tickRate = m.Number, int(m.TickRate)
	return nil
}

// OnDisconnected implements gamenet.Handler.
func (b handler) OnDisconnected(_ *gamenet.Session, cause error) {
	b.cause = cause
	close(b.ended)
}
