package bot

import (
	"time"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
)

// A handler is a bot as its session calls it.
type handler struct{ *Bot }

// welcomed begins, when the server has let the bot in.
func (b *Bot) welcomed(_ *gamenet.Session, data []byte) (gamenet.Handler, error) {
	var err error
	if b.welcome, err = protocol.ReadWelcome(data); err != nil {
		return nil, err
	}
	if b.cfg.Welcomed != nil {
		b.cfg.Welcomed(b.welcome)
	}
	return handler{b}, nil
}

// OnConnected implements gamenet.Handler.
func (handler) OnConnected(*gamenet.Session) {}

// OnPacket implements gamenet.Handler.
func (b handler) OnPacket(s *gamenet.Session, p gamenet.Packet) {
	message, err := protocol.FromServer(p.ID, p.Payload)
	if err != nil {
		s.Disconnect(err.Error())
		return
	}
	if echo, ok := message.(protocol.Echo); ok {
		b.rtt.Store(max(1, time.Now().UnixNano()-int64(echo.Value)))
	}
	b.take(message)
	if b.cfg.Observe != nil {
		b.cfg.Observe(message)
	}
}

// OnDisconnected implements gamenet.Handler. Done and Err tell of it.
func (handler) OnDisconnected(*gamenet.Session, error) {}
