package main

import (
	"context"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/session"
)

const version = 1 // of what the players and the host say to one another

// An echo is the game at its host: it sends back what a player says.
type echo struct {
	server *gamenet.ServerService
	games  *session.NamedSessions // set before opened is closed
	opened chan struct{}
}

// newEcho opens a port for players, who wait until open is called.
func newEcho(ctx context.Context) (*echo, error) {
	e := &echo{opened: make(chan struct{})}
	entry, err := handshake.NewServer(handshake.ServerConfig{
		Version: version, Unticketed: true, // there are no player sessions on a local network
		Admit: e.admit,
	})
	if err != nil {
		return nil, err
	}
	e.server, err = gamenet.NewServer(gamenet.ServerConfig{
		Config: gamenet.Config{Address: ":0", NewHandler: entry.NewHandler},
	})
	if err != nil {
		return nil, err
	}
	return e, e.server.Start(ctx)
}

func (e *echo) open(games *session.NamedSessions) {
	e.games = games
	close(e.opened)
}

// admit counts a player, so that searches see how many places are open.
func (e *echo) admit(ctx context.Context, s *gamenet.Session, _ handshake.Hello) (handshake.Admission, error) {
	select {
	case <-e.opened:
	case <-ctx.Done():
		return handshake.Admission{}, ctx.Err()
	}
	if err := e.games.RegisterPlayer(ctx, game, id(s)); err != nil {
		return handshake.Admission{}, err // the session is full
	}
	return handshake.Admission{Handler: e}, nil
}

func (*echo) OnConnected(*gamenet.Session) {}

func (*echo) OnPacket(s *gamenet.Session, p gamenet.Packet) { _ = s.Send(p) } // or the session ends

func (e *echo) OnDisconnected(s *gamenet.Session, _ error) {
	_ = e.games.UnregisterPlayer(context.Background(), game, id(s)) // it fails if the session has ended
}

// id is the player's at the host.
func id(s *gamenet.Session) string { return s.RemoteAddr().String() }

// A player says hello and keeps the answer.
type player struct{ answer chan string }

func (p *player) connector() session.Connector {
	return session.Gamenet{Config: handshake.Config{
		Config:  gamenet.Config{NewHandler: func(*gamenet.Session) gamenet.Handler { return p }},
		Version: version,
	}}
}

func (p *player) OnConnected(s *gamenet.Session) {
	_ = s.Send(gamenet.Packet{ID: 1, Payload: []byte("hello")}) // or the session ends
}

func (p *player) OnPacket(_ *gamenet.Session, packet gamenet.Packet) {
	select {
	case p.answer <- string(packet.Payload):
	default: // one is enough
	}
}

// OnDisconnected implements gamenet.Handler. search notices it by the connection.
func (p *player) OnDisconnected(*gamenet.Session, error) {}
