package game

import (
	"context"
	"errors"
	"time"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/gameserver"
)

const (
	acceptLimit = 10 * time.Second // for the service to accept a player session
	removeLimit = 5 * time.Second  // for telling the service of a player who left
)

// newEntry makes what players say hello to.
func (g *game) newEntry() (*handshake.Server, error) {
	return handshake.NewServer(handshake.ServerConfig{
		Version: protocol.Version, Admit: g.admit, Unticketed: g.options.allowUnticketed,
		Limit: g.options.helloLimit, AdmitLimit: acceptLimit, Refused: g.refused,
	})
}

// newHandler is the session factory.
func (g *game) newHandler(s *gamenet.Session) gamenet.Handler {
	g.out.line("LogNet: NotifyAcceptingConnection accepted from: %s", s.RemoteAddr())
	return g.entry.NewHandler(s)
}

// admit lets somebody in who has a place in the game session. It runs in the session's goroutine, and takes what the
// guest's OnDisconnected gives back.
func (g *game) admit(ctx context.Context, s *gamenet.Session, hello handshake.Hello) (handshake.Admission, error) {
	join, err := protocol.ReadJoin(hello.Data)
	if err != nil {
		return handshake.Admission{}, &handshake.RefusedError{Code: handshake.Invalid, Text: err.Error()}
	}
	g.out.line("LogNet: Login request: %s", s.RemoteAddr())
	p := &guest{game: g, ticket: hello.Ticket, name: join.Name}
	if closed := g.do(func() { err = g.slots.enter(p.ticket) }); closed != nil || err != nil {
		return handshake.Admission{}, errors.Join(closed, err)
	}
	if err := g.accept(ctx, p.ticket); err != nil {
		_ = g.do(g.slots.leave)
		g.settle()
		return handshake.Admission{}, err
	}
	g.out.line("LogNet: Join request: %q", p.name)
	if closed := g.do(func() { p.number = g.room.NextNumber() }); closed != nil {
		g.remove(p.ticket)
		return handshake.Admission{}, closed
	}
	welcome := protocol.Welcome{Number: p.number, TickRate: uint16(g.options.tickRate)}
	return handshake.Admission{Handler: p, Data: welcome.Append(nil)}, nil
}

// accept asks the service whether a ticket is good, which it then is no more.
func (g *game) accept(ctx context.Context, ticket string) error {
	if ticket == "" {
		return nil
	}
	err := g.server.AcceptPlayerSession(ctx, ticket)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*gameserver.Error](err); ok && e.Code != 0 {
		return &handshake.RefusedError{Code: handshake.TicketRefused, Text: e.Message}
	}
	// Without an answer nobody knows whether the player session is ACTIVE now.
	g.remove(ticket)
	if ctx.Err() != nil {
		return err // the handshake knows why
	}
	return &handshake.RefusedError{Code: handshake.Unavailable, Text: "the player session could not be checked"}
}

// refused hears of those who have not come in.
func (g *game) refused(s *gamenet.Session, why error) {
	if r, ok := errors.AsType[*handshake.RefusedError](why); ok {
		g.out.line("LogNet: Join refused: %s: %s", s.RemoteAddr(), r.Text)
		return
	}
	g.out.line("LogNet: Join refused: %s: %v", s.RemoteAddr(), why)
}

// remove gives an accepted player session back, also when the process is ending.
func (g *game) remove(ticket string) {
	if ticket == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
	defer cancel()
	if err := g.server.RemovePlayerSession(ctx, ticket); err != nil {
		g.out.line("[error] Removing a player session failed: %v", err)
	}
}
