package main

import (
	"context"
	"log/slog"
	"net"
	"strconv"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/gameserver"
)

const (
	version     = 1    // of what the players and the server say to one another
	defaultPort = 7777 // for players
)

// A room is the game: each message of a player is sent to all.
type room struct {
	host      *gameserver.Host
	admission *handshake.Server
	network   *gamenet.ServerService
	players   *gamenet.Group
	refill    refill
}

// open opens the port for players.
func open(ctx context.Context, host *gameserver.Host, flags gameserver.Args) (*room, error) {
	if !flags.HasPort {
		flags.Port = defaultPort
	}
	r := &room{host: host, players: new(gamenet.Group), refill: refill{host: host}}
	var err error
	r.admission, err = handshake.NewServer(handshake.ServerConfig{Version: version, Admit: r.admit, Resume: true})
	if err != nil {
		return nil, err
	}
	r.network, err = gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{
		Address: net.JoinHostPort("", strconv.Itoa(flags.Port)), NewHandler: r.admission.NewHandler,
	}})
	if err != nil {
		return nil, err
	}
	if err := r.network.Start(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// port is where players connect.
func (r *room) port() int { return r.network.Addr().(*net.TCPAddr).Port }

// close sends the players away. When it returns nobody is there; their player sessions are given back.
func (r *room) close() error {
	r.admission.StopAdmitting()
	r.refill.stop(context.Background())
	return r.network.Close(context.Background()) // who does not hang up is cut off
}

// admit lets a player in whose player session the service accepts.
func (r *room) admit(ctx context.Context, s *gamenet.Session, hello handshake.Hello) (handshake.Admission, error) {
	c := gameserver.PlayerConnection{ConnectionID: s.ID(), PlayerSessionID: hello.Ticket}
	if err := r.host.ValidatePlayerJoinSession(ctx, c); err != nil {
		slog.Warn("player refused", "from", s.RemoteAddr(), "error", err)
		return handshake.Admission{}, &handshake.RefusedError{Code: handshake.TicketRefused,
			Text: "this player session is not good"}
	}
	slog.Info("player joined", "from", s.RemoteAddr(), "player_session", c.PlayerSessionID)
	return handshake.Admission{Handler: &player{r, c}}, nil
}

type player struct {
	room       *room
	connection gameserver.PlayerConnection
}

func (p *player) OnConnected(s *gamenet.Session) { p.room.players.Add(s) }

func (p *player) OnPacket(_ *gamenet.Session, said gamenet.Packet) {
	_ = p.room.players.Broadcast(said) // who cannot be told is disconnected
}

func (p *player) OnDisconnected(_ *gamenet.Session, cause error) {
	if handshake.Lost(cause) {
		slog.Info("connection lost", "player_session", p.connection.PlayerSessionID, "cause", cause)
		p.room.host.HandlePlayerConnectionLost(p.connection) // the player has 10 seconds to come back
		return
	}
	slog.Info("player left", "player_session", p.connection.PlayerSessionID)
	_ = p.room.host.HandlePlayerLeaveSession(context.Background(), p.connection) // the Host logs what fails
	p.room.refill.start(context.Background())
}
