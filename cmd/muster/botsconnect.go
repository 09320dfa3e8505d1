package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/examples/arena/bot"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/session"
)

// connections are the values of --connect.
var connections = []string{"arena", "gamenet", "tcp", "udp", "none"}

// connector returns the connector of a bot.
func (b *botsRun) connector(player string) session.Connector {
	switch b.connect {
	case "arena":
		return arenaConnector{player}
	case "gamenet":
		g := session.Gamenet{}
		g.Config.Version, g.Config.NewHandler = b.gameVersion, func(*gamenet.Session) gamenet.Handler { return mute{} }
		return g
	}
	return lineConnector{b.connect, b.time()}
}

// An arenaConnector connects to the sample game.
type arenaConnector struct{ player string }

// Connect implements session.Connector.
func (c arenaConnector) Connect(ctx context.Context, r session.Reservation) (session.Connection, error) {
	joined, err := bot.Join(ctx, bot.Config{Server: r.Address(), PlayerSession: r.PlayerSessionID, Name: c.player})
	if refused, ok := errors.AsType[*bot.RefusedError](err); ok {
		return nil, &session.Error{Op: "Connect", Kind: session.ErrDenied, Code: refused.Code.String(),
			Message: refused.Reason, Err: err}
	}
	if err != nil {
		return nil, err
	}
	return arenaConnection{joined, joined.Start(ctx)}, nil
}

type arenaConnection struct {
	*bot.Bot
	leave func() error
}

// Close implements session.Connection. The bot limits it.
func (c arenaConnection) Close(context.Context) error { return c.leave() }

// mute is the handler of a game that a bot does not know.
type mute struct{}

func (mute) OnConnected(*gamenet.Session)              {}
func (mute) OnPacket(*gamenet.Session, gamenet.Packet) {}
func (mute) OnDisconnected(*gamenet.Session, error)    {}

// A lineConnector sends the player session id in a line, over TCP or UDP, or nothing.
type lineConnector struct {
	network string // tcp, udp or none
	clock   clockwork.Clock
}

// repeat is the time between two datagrams, so that a game server does not miss the player.
const repeat = time.Second

// Connect implements session.Connector.
func (c lineConnector) Connect(ctx context.Context, r session.Reservation) (session.Connection, error) {
	l := &lineConnection{done: make(chan struct{})}
	if c.network == "none" {
		return l, nil
	}
	var err error
	if l.conn, err = new(net.Dialer).DialContext(ctx, c.network, r.Address()); err != nil {
		return nil, err
	}
	send := func() error {
		_, err := fmt.Fprintln(l.conn, r.PlayerSessionID)
		return err
	}
	if err := send(); err != nil {
		return nil, errors.Join(err, l.conn.Close())
	}
	l.running.Go(func() {
		_, err := io.Copy(io.Discard, l.conn) // until it is closed by either side
		l.end(err)
	})
	if c.network == "udp" {
		l.running.Go(func() { l.sendEach(c.clock.NewTicker(repeat), send) })
	}
	return l, nil
}

// A lineConnection is the connection of a lineConnector.
type lineConnection struct {
	conn    net.Conn // nil: none
	running sync.WaitGroup
	once    sync.Once
	done    chan struct{}
	err     error // set before done is closed
}

func (l *lineConnection) sendEach(ticks clockwork.Ticker, send func() error) {
	defer ticks.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-ticks.Chan():
			_ = send() // the reader gets the error
		}
	}
}

func (l *lineConnection) end(err error) {
	l.once.Do(func() {
		l.err = err
		close(l.done)
	})
}

// Close implements session.Connection.
func (l *lineConnection) Close(context.Context) (err error) {
	l.end(nil)
	if l.conn != nil {
		err = l.conn.Close()
	}
	l.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil // closed before
	}
	return err
}

// Done implements session.Connection.
func (l *lineConnection) Done() <-chan struct{} { return l.done }

// Err implements session.Connection.
func (l *lineConnection) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}
