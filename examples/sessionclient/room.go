package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/session"
)

const (
	version = 1 // of what the players and the server say to one another
	said    = 1 // id of a packet: what one says to all

	name   = "game" // of the game session, within this program
	places = 4
)

// enter takes the player into a game session with a free place, or a new one.
func enter(ctx context.Context, games *session.NamedSessions) (session.NamedSession, error) {
	found, err := games.Find(ctx, session.FindRequest{})
	if err != nil {
		return session.NamedSession{}, err
	}
	err = session.ErrFull // of none
	for _, f := range found {
		if err = games.Join(ctx, name, f); !late(err) {
			break
		}
	}
	if late(err) {
		err = games.Create(ctx, name, session.Settings{NumPublicConnections: places, ShouldAdvertise: true})
		if err == nil {
			err = games.Start(ctx, name)
		}
	}
	game, _ := games.Get(name)
	return game, err
}

// late reports whether a session has filled up or ended since it was found.
func late(err error) bool {
	return errors.Is(err, session.ErrFull) || errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrState)
}

// A room is the game as one player sees it.
type room struct {
	player string
	out    io.Writer
}

// connector takes the player to the game server.
func (r *room) connector() session.Connector {
	return session.Gamenet{Config: handshake.Config{
		Config:  gamenet.Config{NewHandler: func(*gamenet.Session) gamenet.Handler { return r }},
		Version: version,
	}}
}

func (r *room) OnConnected(*gamenet.Session) {}

// OnPacket implements gamenet.Handler: it prints what others say.
func (r *room) OnPacket(_ *gamenet.Session, p gamenet.Packet) {
	if words := string(p.Payload); !strings.HasPrefix(words, r.player+": ") {
		_, _ = fmt.Fprintln(r.out, words) // who cannot read is not told
	}
}

// OnDisconnected implements gamenet.Handler. talk notices it by the connection.
func (r *room) OnDisconnected(*gamenet.Session, error) {}

// talk says the lines, until there are no more, ctx is done, or the game server has gone.
func (r *room) talk(ctx context.Context, connection session.Connection, lines <-chan string) error {
	server := connection.(*handshake.Conn).Session()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			if err := server.Send(gamenet.Packet{ID: said, Payload: []byte(r.player + ": " + line)}); err != nil {
				return err
			}
		case <-connection.Done():
			return connection.Err()
		case <-ctx.Done(): // Ctrl+C
			return nil
		}
	}
}
