package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/session"
)

// A printer prints lines of several goroutines. It is the handler of the game, too.
type printer struct {
	mu sync.Mutex
	to io.Writer
}

func (p *printer) print(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.to, format+"\n", args...)
}

// connector connects the player to the game server.
func connector(player string, p *printer) session.Connector {
	return session.Gamenet{Config: handshake.Config{
		Config: gamenet.Config{
			MaxPacket:  protocol.MaxPacket,
			NewHandler: func(*gamenet.Session) gamenet.Handler { return p },
		},
		Version: protocol.Version, Data: protocol.Join{Name: player}.Append(nil),
	}}
}

func (p *printer) OnConnected(*gamenet.Session) {}

// OnPacket implements gamenet.Handler: it prints who joins, leaves and says something.
func (p *printer) OnPacket(s *gamenet.Session, packet gamenet.Packet) {
	message, err := protocol.FromServer(packet.ID, packet.Payload)
	if err != nil {
		s.Disconnect(gamenet.Reason{Text: err.Error()})
		return
	}
	switch m := message.(type) {
	case protocol.Joined:
		p.print("player %d is %s", m.Number, m.Name)
	case protocol.Left:
		p.print("player %d left", m.Number)
	case protocol.Said:
		p.print("player %d: %s", m.Number, m.Text)
	}
}

// OnDisconnected implements gamenet.Handler. talk sees it at the connection.
func (p *printer) OnDisconnected(*gamenet.Session, error) {}

// talk says the lines, until there are no more, ctx is done, or the connection ends.
func talk(ctx context.Context, connection session.Connection, lines <-chan string) error {
	server := connection.(*handshake.Conn).Session()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			say := protocol.Say{Text: line}
			if err := server.Send(gamenet.Packet{ID: say.ID(), Payload: say.Append(nil)}); err != nil {
				return err
			}
		case <-connection.Done():
			return connection.Err()
		case <-ctx.Done(): // Ctrl+C
			return nil
		}
	}
}
