package session_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/session"
)

// silent is a game that says nothing.
type silent struct{}

func (silent) OnConnected(*gamenet.Session)              {}
func (silent) OnPacket(*gamenet.Session, gamenet.Packet) {}
func (silent) OnDisconnected(*gamenet.Session, error)    {}

// speaking is a connector of a game whose protocol has this version.
func speaking(version uint32) session.Gamenet {
	newHandler := func(*gamenet.Session) gamenet.Handler { return silent{} }
	return session.Gamenet{Config: handshake.Config{Config: gamenet.Config{NewHandler: newHandler}, Version: version}}
}

type admit = func(context.Context, *gamenet.Session, handshake.Hello) (handshake.Admission, error)

// gameServer runs a game server until the end of the test, or close. It returns a
// place in its game.
func gameServer(t *testing.T, admit admit) (place session.Reservation, closeServer func()) {
	t.Helper()
	door, err := handshake.NewServer(handshake.ServerConfig{Version: 1, Admit: admit})
	must(t, err)
	server, err := gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{Address: "127.0.0.1:0",
		NewHandler: door.NewHandler}})
	must(t, err)
	must(t, server.Start(t.Context()))
	closeServer = func() {
		door.StopAdmitting()
		must(t, server.Close(context.Background()))
	}
	t.Cleanup(closeServer)
	return reservationAt(t, server.Addr()), closeServer
}

func reservationAt(t *testing.T, a net.Addr) session.Reservation {
	t.Helper()
	host, text, err := net.SplitHostPort(a.String())
	must(t, err)
	port, err := strconv.Atoi(text)
	must(t, err)
	return session.Reservation{SessionID: "s", PlayerID: "ada", PlayerSessionID: "psess-1", IPAddress: host, Port: port}
}

// A gameOver is the server's side of a game that ends at once.
type gameOver struct{ silent }

func (gameOver) OnConnected(s *gamenet.Session) { _ = s.Send(gamenet.Packet{ID: 1}) }

// A leaver leaves the game when it is connected, or when the server sends the end of the game.
type leaver struct {
	silent
	leave  func() error
	atOnce bool
	left   chan error
}

func (l leaver) OnConnected(*gamenet.Session) {
	if l.atOnce {
		l.left <- l.leave()
	}
}

func (l leaver) OnPacket(*gamenet.Session, gamenet.Packet) {
	if !l.atOnce {
		l.left <- l.leave()
	}
}

// elsewhere connects to the game server of a place, whatever the service has reserved.
type elsewhere struct {
	session.Gamenet
	place session.Reservation
}

func (e elsewhere) Connect(ctx context.Context, _ session.Reservation) (session.Connection, error) {
	return e.Gamenet.Connect(ctx, e.place)
}

// TestLeaveInAHandler leaves a game of package gamenet in each callback in which a player may.
func TestLeaveInAHandler(t *testing.T) {
	for name, atOnce := range map[string]bool{"OnConnected": true, "OnPacket": false} {
		t.Run(name, func(t *testing.T) {
			place, _ := gameServer(t, func(context.Context, *gamenet.Session, handshake.Hello) (
				handshake.Admission, error) {
				return handshake.Admission{Handler: gameOver{}}, nil
			})
			var w *world
			l := leaver{atOnce: atOnce, left: make(chan error, 1)}
			l.leave = func() error { return w.LeaveSession(context.Background()) }
			connector := speaking(1)
			connector.Config.NewHandler = func(*gamenet.Session) gamenet.Handler { return l }
			w = newWorld(t, func(c *session.Config) { c.Connector = elsewhere{connector, place} })
			id := w.active(t)
			op := w.Async(t.Context(), func(ctx context.Context) error {
				return w.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: "ada"})
			})
			must(t, received(t, l.left))
			if err := settled(t, op); err != nil && !errors.Is(err, session.ErrCanceled) {
				t.Error("JoinSession:", err) // it may have returned before the player has left
			}
			if _, ok := w.Current(); ok {
				t.Error("the player has not left")
			}
			for _, place := range w.service.Places() { // of which the game server knows nothing
				must(t, w.service.Remote().(session.Releaser).Release(t.Context(), place, false))
			}
		})
	}
}

func TestGamenetConnects(t *testing.T) {
	tickets := make(chan string, 1)
	place, closeServer := gameServer(t, func(
		_ context.Context, _ *gamenet.Session, hello handshake.Hello,
	) (handshake.Admission, error) {
		tickets <- hello.Ticket
		return handshake.Admission{Handler: silent{}}, nil
	})
	conn, err := speaking(1).Connect(t.Context(), place)
	must(t, err)
	if ticket := <-tickets; ticket != "psess-1" {
		t.Errorf("the server has seen ticket %q", ticket)
	}
	if conn.Err() != nil || conn.(*handshake.Conn).Session() == nil {
		t.Error("a connection that is open has ended:", conn.Err())
	}
	must(t, conn.Close(t.Context()))
	waitFor(t, conn.Done())
	if err := conn.Err(); err != nil {
		t.Error("after Close:", err)
	}

	place.PlayerSessionID = "psess-2" // the server may not have heard of the end of the other one
	conn, err = speaking(1).Connect(t.Context(), place)
	must(t, err)
	<-tickets
	closeServer()
	waitFor(t, conn.Done())
	if conn.Err() == nil {
		t.Error("the server has gone, and the connection has no error")
	}
	must(t, conn.Close(t.Context()))
}

// TestGamenetLostServer: a connection with the defaults ends when the server sends nothing any more, as after a cut
// cable.
func TestGamenetLostServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire := &cable{accepted: make(chan gamenet.Conn), closed: make(chan struct{})}
		door, err := handshake.NewServer(handshake.ServerConfig{Version: 1, Admit: func(
			context.Context, *gamenet.Session, handshake.Hello,
		) (handshake.Admission, error) {
			return handshake.Admission{Handler: silent{}}, nil
		}})
		must(t, err)
		server, err := gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{Transport: wire,
			NewHandler: door.NewHandler, PingInterval: -1}})
		must(t, err)
		must(t, server.Start(t.Context()))
		defer func() { must(t, server.Close(context.Background())) }()

		connector := speaking(1)
		connector.Config.Transport = wire
		conn, err := connector.Connect(t.Context(), reservationAt(t, server.Addr()))
		must(t, err)
		wire.cut.Store(true)
		start := time.Now()
		<-conn.Done()
		if err := conn.Err(); !errors.Is(err, gamenet.ErrIdle) {
			t.Error("the connection ended because of", err)
		}
		if silent := time.Since(start); silent < 30*time.Second {
			t.Errorf("it ended after %v", silent)
		}
		must(t, conn.Close(t.Context()))
	})
}

// A cable is a transport in memory. Once it is cut, the client's bytes are lost.
type cable struct {
	accepted chan gamenet.Conn
	closed   chan struct{}
	cut      atomic.Bool
}

func (c *cable) Listen(context.Context, string) (gamenet.Listener, error) { return c, nil }

func (c *cable) Accept() (gamenet.Conn, error) {
	select {
	case conn := <-c.accepted:
		return conn, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}

func (c *cable) Close() error { close(c.closed); return nil }

func (*cable) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7777} }

func (c *cable) Dial(context.Context, string) (gamenet.Conn, error) {
	near, far := net.Pipe()
	c.accepted <- cableEnd{far, new(atomic.Bool)}
	return cableEnd{near, &c.cut}, nil
}

// A cableEnd is one end of a connection.
type cableEnd struct {
	net.Conn
	cut *atomic.Bool
}

func (e cableEnd) Write(b []byte) (int, error) {
	if e.cut.Load() {
		return len(b), nil
	}
	return e.Conn.Write(b)
}

func (e cableEnd) CloseWrite() error { return e.Close() }

// TestGamenetRefusals checks the errors for the refusals of a server.
func TestGamenetRefusals(t *testing.T) {
	for code, want := range map[handshake.Code]error{
		handshake.Full: session.ErrFull, handshake.NoSession: session.ErrUnavailable,
		handshake.Ending:      session.ErrUnavailable,
		handshake.Unavailable: session.ErrUnavailable, handshake.TicketRefused: session.ErrDenied,
		handshake.Other:   session.ErrDenied,
		handshake.Timeout: session.ErrTimeout,
	} {
		t.Run(code.String(), func(t *testing.T) {
			place, _ := gameServer(t, func(
				context.Context, *gamenet.Session, handshake.Hello,
			) (handshake.Admission, error) {
				return handshake.Admission{}, &handshake.RefusedError{Code: code, Text: "no"}
			})
			_, err := speaking(1).Connect(t.Context(), place)
			ours, ok := errors.AsType[*session.Error](err)
			if !ok || !errors.Is(err, want) || ours.Code != code.String() || ours.Message != "no" {
				t.Errorf("the error is %#v", err)
			}
		})
	}
}

func TestGamenetFailures(t *testing.T) {
	entered := make(chan struct{}, 1)
	place, closeServer := gameServer(t, func(
		ctx context.Context, _ *gamenet.Session, _ handshake.Hello,
	) (handshake.Admission, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return handshake.Admission{}, ctx.Err()
	})
	if _, err := speaking(2).Connect(t.Context(), place); !errors.Is(err, session.ErrDenied) {
		t.Error("another version:", err)
	}
	if _, err := (session.Gamenet{}).Connect(t.Context(), place); !errors.Is(err, session.ErrInvalid) {
		t.Error("no handler:", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	if _, err := speaking(1).Connect(ctx, place); !errors.Is(err, session.ErrCanceled) {
		t.Error("canceled:", err)
	}
	nobody := place
	closeServer()
	if _, err := speaking(1).Connect(t.Context(), nobody); !errors.Is(err, session.ErrTransport) {
		t.Error("nobody there:", err)
	}
}
