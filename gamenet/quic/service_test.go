package quic

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/gamenet"
)

// A player is a handler that notes what happens to its session.
type player struct {
	connected chan *gamenet.Session
	packets   chan gamenet.Packet
	ended     chan error
	answer    func(*gamenet.Session, gamenet.Packet) // nil for none
}

func newPlayer() *player {
	return &player{connected: make(chan *gamenet.Session, 1), packets: make(chan gamenet.Packet, 10_000),
		ended: make(chan error, 1)}
}

func (p *player) OnConnected(s *gamenet.Session) { p.connected <- s }

func (p *player) OnPacket(s *gamenet.Session, packet gamenet.Packet) {
	if p.answer != nil {
		p.answer(s, packet)
		return
	}
	packet.Payload = append([]byte(nil), packet.Payload...)
	p.packets <- packet
}

func (p *player) OnDisconnected(_ *gamenet.Session, cause error) { p.ended <- cause }

// next waits for what a channel brings.
func next[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-timely(t).Done():
		t.Fatalf("no %T came", *new(T))
		panic("unreachable")
	}
}

// startServer starts a server with a player for each session.
func startServer(
	t *testing.T, cfg gamenet.ServerConfig, players chan<- *player, answer func(*gamenet.Session, gamenet.Packet),
) *gamenet.ServerService {
	t.Helper()
	cfg.Transport = serverTransport()
	if cfg.Address == "" {
		cfg.Address = "127.0.0.1:0"
	}
	cfg.NewHandler = func(*gamenet.Session) gamenet.Handler {
		p := newPlayer()
		p.answer = answer
		if players != nil {
			players <- p
		}
		return p
	}
	s, err := gamenet.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(timely(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(timely(t)); err != nil {
			t.Error("closing the server:", err)
		}
	})
	return s
}

// startClient starts a client with a player for each session.
func startClient(t *testing.T, server *gamenet.ServerService, cfg gamenet.ClientConfig) (
	*gamenet.ClientService, <-chan *player,
) {
	t.Helper()
	players := make(chan *player, 100)
	cfg.Transport, cfg.Address = clientTransport(), server.Addr().String()
	cfg.NewHandler = func(*gamenet.Session) gamenet.Handler {
		p := newPlayer()
		players <- p
		return p
	}
	c, err := gamenet.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(timely(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(timely(t)); err != nil {
			t.Error("closing the client:", err)
		}
	})
	return c, players
}

func echo(s *gamenet.Session, p gamenet.Packet) { _ = s.Send(p) }

func TestServiceEcho(t *testing.T) {
	const sessions, packets = 10, 100
	server := startServer(t, gamenet.ServerConfig{}, nil, echo)
	_, players := startClient(t, server, gamenet.ClientConfig{Sessions: sessions})
	var all sync.WaitGroup
	for range sessions {
		p := next(t, players)
		s := next(t, p.connected)
		all.Go(func() {
			for i := range packets {
				payload := []byte(strings.Repeat("x", i*97%5000))
				if err := s.SendContext(timely(t), gamenet.Packet{ID: uint16(i), Payload: payload}); err != nil {
					t.Errorf("packet %d: %v", i, err)
					return
				}
			}
		})
		for i := range packets {
			if got := next(t, p.packets); got.ID != uint16(i) || len(got.Payload) != i*97%5000 {
				t.Fatalf("packet %d came as %d with %d bytes", i, got.ID, len(got.Payload))
			}
		}
	}
	all.Wait()
	if n := server.Count(); n != sessions {
		t.Errorf("the server has %d sessions", n)
	}
}

func TestServiceBroadcast(t *testing.T) {
	const sessions = 20
	joined := make(chan *player, sessions)
	server := startServer(t, gamenet.ServerConfig{}, joined, nil)
	_, players := startClient(t, server, gamenet.ClientConfig{Sessions: sessions})
	for range sessions {
		next(t, next(t, joined).connected)
	}
	for tick := range 50 {
		if err := server.Broadcast(gamenet.Packet{ID: uint16(tick), Payload: []byte("state")}); err != nil {
			t.Fatal(err)
		}
	}
	for range sessions {
		p := next(t, players)
		for tick := range 50 {
			if got := next(t, p.packets); got.ID != uint16(tick) || string(got.Payload) != "state" {
				t.Fatalf("tick %d: %d %q", tick, got.ID, got.Payload)
			}
		}
	}
}

func TestServiceDatagrams(t *testing.T) {
	server := startServer(t, gamenet.ServerConfig{}, nil,
		func(s *gamenet.Session, p gamenet.Packet) { _ = s.SendDatagram(p) })
	_, players := startClient(t, server, gamenet.ClientConfig{})
	p := next(t, players)
	s := next(t, p.connected)
	for _, size := range []int{0, 10, 1100} {
		if err := s.SendDatagram(gamenet.Packet{ID: 7, Payload: make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
		if got := next(t, p.packets); got.ID != 7 || len(got.Payload) != size {
			t.Fatalf("%d bytes came as %d", size, len(got.Payload))
		}
	}
	err := s.SendDatagram(gamenet.Packet{ID: 7, Payload: make([]byte, 2000)})
	if !errors.Is(err, gamenet.ErrPacketTooLarge) {
		t.Errorf("2,000 bytes: %v", err)
	}
	if _, ok := s.Conn().(*connection); !ok {
		t.Errorf("the connection is a %T", s.Conn())
	}
}

func TestServiceDisconnect(t *testing.T) {
	joined := make(chan *player, 1)
	server := startServer(t, gamenet.ServerConfig{}, joined, nil)
	client, players := startClient(t, server, gamenet.ClientConfig{})
	here, there := next(t, joined), next(t, players)
	session := next(t, here.connected)
	for i := range 500 {
		if err := session.Send(gamenet.Packet{ID: uint16(i), Payload: make([]byte, 500)}); err != nil {
			t.Fatal(err)
		}
	}
	session.Disconnect(gamenet.Reason{Text: "cheating"})
	cause := next(t, there.ended)
	if e, ok := errors.AsType[*gamenet.PeerError](cause); !ok || e.Text != "cheating" {
		t.Errorf("the client hears %v", cause)
	}
	if n := len(there.packets); n != 500 {
		t.Errorf("%d packets of 500 arrived before the end", n)
	}
	if cause := next(t, here.ended); !errors.Is(cause, gamenet.ErrDisconnected) {
		t.Errorf("the server hears %v", cause)
	}
	waitFor(t, func() bool { return server.Count() == 0 && client.Count() == 0 })
}

func TestServiceDisconnectByClient(t *testing.T) {
	joined := make(chan *player, 1)
	server := startServer(t, gamenet.ServerConfig{}, joined, nil)
	_, players := startClient(t, server, gamenet.ClientConfig{})
	there := next(t, players)
	next(t, there.connected).Disconnect(gamenet.Reason{Text: "bored"})
	here := next(t, joined)
	if e, ok := errors.AsType[*gamenet.PeerError](next(t, here.ended)); !ok || e.Text != "bored" {
		t.Errorf("the server hears %v", e)
	}
	if cause := next(t, there.ended); !errors.Is(cause, gamenet.ErrDisconnected) {
		t.Errorf("the client hears %v", cause)
	}
}

// Closing a server ends its sessions in order, and its port is free at once.
func TestServiceClose(t *testing.T) {
	const sessions = 10
	address := "127.0.0.1:0"
	for range 3 {
		joined := make(chan *player, sessions)
		server := startServer(t, gamenet.ServerConfig{Config: gamenet.Config{Address: address}}, joined, nil)
		address = server.Addr().String()
		_, players := startClient(t, server, gamenet.ClientConfig{Sessions: sessions})
		for range sessions {
			next(t, next(t, joined).connected)
		}
		if err := server.Close(timely(t)); err != nil {
			t.Fatal(err)
		}
		if n := server.Count(); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
		for range sessions {
			cause := next(t, next(t, players).ended)
			if e, ok := errors.AsType[*gamenet.PeerError](cause); !ok || e.Text != "the service is closing" {
				t.Errorf("a client hears %v", cause)
			}
		}
	}
}

// Both sides close at the same time.
func TestServiceCloseBoth(t *testing.T) {
	joined := make(chan *player, 5)
	server := startServer(t, gamenet.ServerConfig{}, joined, nil)
	client, _ := startClient(t, server, gamenet.ClientConfig{Sessions: 5})
	for range 5 {
		next(t, next(t, joined).connected)
	}
	var both sync.WaitGroup
	for _, service := range []interface{ Close(context.Context) error }{server, client} {
		both.Go(func() {
			if err := service.Close(timely(t)); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
}

// The other side does not close, so the server has to cut.
func TestServiceCloseByForce(t *testing.T) {
	joined := make(chan *player, 1)
	server := startServer(t, gamenet.ServerConfig{Config: gamenet.Config{CloseTimeout: time.Hour}}, joined, nil)
	deaf := dial(t, clientTransport(), server.Addr().String())
	next(t, next(t, joined).connected)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := server.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	<-deaf.quic.Context().Done() // it has been told
}

func TestServiceFull(t *testing.T) {
	joined := make(chan *player, 1)
	server := startServer(t, gamenet.ServerConfig{MaxSessions: 1}, joined, echo)
	_, players := startClient(t, server, gamenet.ClientConfig{})
	first := next(t, players)
	session := next(t, first.connected)
	next(t, next(t, joined).connected)
	_, others := startClient(t, server, gamenet.ClientConfig{})
	if cause := next(t, next(t, others).ended); !errors.Is(cause, gamenet.ErrPeerClosed) {
		t.Errorf("a client without a place hears %v", cause)
	}
	if err := session.Send(gamenet.Packet{ID: 1}); err != nil {
		t.Fatal(err)
	}
	next(t, first.packets)
}

// A client that says nothing after the handshake of QUIC loses its place.
func TestServiceSilentClient(t *testing.T) {
	server := startServer(t, gamenet.ServerConfig{Config: gamenet.Config{HandshakeTimeout: 50 * time.Millisecond}}, nil,
		echo)
	quic := strangerTo(t, server.Addr().String(), clientConfig(nil))
	waitFor(t, func() bool { return server.Count() == 1 })
	<-quic.Context().Done()
	waitFor(t, func() bool { return server.Count() == 0 })
}

func TestServicePing(t *testing.T) {
	server := startServer(t, gamenet.ServerConfig{}, nil, nil)
	_, players := startClient(t, server,
		gamenet.ClientConfig{Config: gamenet.Config{PingInterval: 20 * time.Millisecond, IdleTimeout: patience}})
	session := next(t, next(t, players).connected)
	waitFor(t, func() bool { return session.RTT() > 0 })
}

// A client that reads nothing costs its own session, and no other.
func TestServiceSlowClient(t *testing.T) {
	joined := make(chan *player, 2)
	server := startServer(t, gamenet.ServerConfig{}, joined, nil)
	slow := dial(t, clientTransport(), server.Addr().String()) // reads nothing
	slowHere := next(t, joined)
	slowSession := next(t, slowHere.connected)
	_, players := startClient(t, server, gamenet.ClientConfig{})
	quick := next(t, players)
	quickSession := next(t, next(t, joined).connected)
	payload := make([]byte, 10_000)
	for i := uint16(0); ; i++ {
		if err := quickSession.Send(gamenet.Packet{ID: i, Payload: payload}); err != nil {
			t.Fatal(err)
		}
		if got := next(t, quick.packets); got.ID != i {
			t.Fatalf("packet %d came as %d", i, got.ID)
		}
		if err := slowSession.Send(gamenet.Packet{ID: i, Payload: payload}); errors.Is(err, gamenet.ErrSlowConsumer) {
			break
		} else if err != nil || i > 10_000 {
			t.Fatal(i, err)
		}
	}
	if cause := next(t, slowHere.ended); !errors.Is(cause, gamenet.ErrSlowConsumer) {
		t.Errorf("the server hears %v", cause)
	}
	<-slow.quic.Context().Done()
}

func TestServiceReconnect(t *testing.T) {
	joined := make(chan *player, 10)
	server := startServer(t, gamenet.ServerConfig{}, joined, nil)
	_, players := startClient(t, server, gamenet.ClientConfig{Reconnect: &gamenet.Backoff{Initial: time.Millisecond}})
	for i := range 5 {
		session := next(t, next(t, joined).connected)
		session.Disconnect(gamenet.Reason{Text: fmt.Sprint("round ", i), Reconnect: true})
		if e, ok := errors.AsType[*gamenet.PeerError](next(t, next(t, players).ended)); !ok ||
			e.Text != fmt.Sprint("round ", i) {
			t.Errorf("the client hears %v", e)
		}
	}
}
