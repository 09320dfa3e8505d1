package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/session"
)

const (
	slots    = 4
	patience = 20 * time.Second       // for a new session to become active
	tryEvery = 250 * time.Millisecond // while it is not
)

// join joins the oldest session of a fleet with a free slot, or a new one.
func join(ctx context.Context, client *session.Client, fleet string) error {
	var page session.SearchSessionsResponse
	search := client.Async(ctx, func(ctx context.Context) (err error) {
		page, err = client.SearchSessions(ctx, session.SearchSessionsRequest{
			FleetID: fleet, FilterExpression: "hasAvailablePlayerSessions=true",
			SortExpression: "creationTimeMillis ASC",
		})
		return err
	})
	if err := search.Wait(ctx); err != nil {
		return err
	}
	for _, found := range page.SessionConfigs {
		if err := joinSession(ctx, client, found.SessionID); !late(err) {
			return err
		}
	}
	var id string
	create := client.Async(ctx, func(ctx context.Context) (err error) {
		r := session.CreateSessionRequest{FleetID: fleet, SessionName: "arena", MaxPlayer: slots}
		id, err = client.CreateSession(ctx, r)
		return err
	})
	if err := create.Wait(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for { // it can be joined when its game server has activated it
		if err := joinSession(ctx, client, id); !errors.Is(err, session.ErrState) {
			return err
		}
		select {
		case <-time.After(tryEvery):
		case <-ctx.Done():
			return fmt.Errorf("session %s does not become active: %w", id, ctx.Err())
		}
	}
}

func joinSession(ctx context.Context, client *session.Client, id string) error {
	return client.Async(ctx, func(ctx context.Context) error {
		return client.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: client.PlayerID()})
	}).Wait(ctx)
}

// late reports whether a session has filled up or ended since the search.
func late(err error) bool {
	return errors.Is(err, session.ErrFull) || errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrState)
}

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
	server := connection.(session.GamenetConnection).Session()
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
