package gamenet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// transports are the ways that every service must work over.
func transports(t *testing.T) map[string]func(*Config, *Config) {
	server, client := certificate(t)
	return map[string]func(server, client *Config){
		"tcp": func(*Config, *Config) {},
		"tls": func(s, c *Config) { s.Transport, c.Transport = TLS(server), TLS(client) },
	}
}

func TestEcho(t *testing.T) {
	for name, use := range transports(t) {
		for _, codec := range []Codec{U16, U32, Varint} {
			t.Run(fmt.Sprintf("%s/%T", name, codec), func(t *testing.T) {
				sc, cc := ServerConfig{}, ClientConfig{}
				use(&sc.Config, &cc.Config)
				sc.NewHandler, sc.Codec = always(echo), codec
				seen := newDiary()
				cc.NewHandler, cc.Codec = always(seen), codec
				client := startClient(t, startServer(t, sc), cc)
				session := await(t, "OnConnected", seen.onOpen)
				var want []string
				for i := range 100 {
					text := fmt.Sprint("packet ", i)
					want = append(want, text)
					if err := session.Send(Packet{Payload: []byte(text)}); err != nil {
						t.Fatal(err)
					}
				}
				eventually(t, "all echoes", func() bool { return seen.count() == len(want) })
				if got := seen.payloads(); !slices.Equal(got, want) {
					t.Errorf("echoed %v", got)
				}
				if client.Count() != 1 || session.ID() != 1 {
					t.Errorf("%d sessions, id %d", client.Count(), session.ID())
				}
			})
		}
	}
}

// TestStartWithoutFactory is item 58 of the walk-through.
func TestStartWithoutFactory(t *testing.T) {
	var field *ConfigError
	if _, err := NewServer(ServerConfig{}); !errors.As(err, &field) || field.Field != "NewHandler" {
		t.Errorf("server: %v", err)
	}
	if _, err := NewClient(ClientConfig{}); !errors.As(err, &field) || field.Field != "NewHandler" {
		t.Errorf("client: %v", err)
	}
}

// TestMaxSessions is item 58 of the walk-through.
func TestMaxSessions(t *testing.T) {
	counted := new(counts)
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(echo), Metrics: counted}, MaxSessions: 100})
	seen := newDiary()
	client := startClient(t, server, ClientConfig{Config: Config{NewHandler: always(seen)}, Sessions: 100})
	for range 100 {
		await(t, "a connection", seen.onOpen)
	}
	eventually(t, "100 sessions", func() bool { return server.Count() == 100 && client.Count() == 100 })
	late := newDiary()
	startClient(t, server, ClientConfig{Config: Config{NewHandler: always(late)}})
	cause := await(t, "the refusal", late.onClose)
	var said *PeerError
	if !errors.As(cause, &said) || said.Text != "the server is full" || !errors.Is(cause, ErrPeerClosed) {
		t.Errorf("the 101st heard %v", cause)
	}
	if counted.get("refused "+ErrFull.Error()) != 1 || server.Count() != 100 {
		t.Errorf("%d refused, %d sessions", counted.get("refused "+ErrFull.Error()), server.Count())
	}
}

func TestMaxPerAddress(t *testing.T) {
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(echo)}, MaxPerAddress: 2})
	seen := newDiary()
	startClient(t, server, ClientConfig{Config: Config{NewHandler: always(seen)}, Sessions: 3})
	cause := await(t, "a refusal", seen.onClose)
	var said *PeerError
	if !errors.As(cause, &said) || said.Text != "too many connections from your address" {
		t.Errorf("the third heard %v", cause)
	}
	first, _ := server.Session(1)
	first.Disconnect(Reason{})
	await(t, "the first to go", seen.onClose)
	eventually(t, "its place to be free", func() bool { return server.Count() == 1 })
	again := newDiary()
	startClient(t, server, ClientConfig{Config: Config{NewHandler: always(again)}})
	await(t, "another in its place", again.onOpen)
}

func TestStartTwice(t *testing.T) {
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(echo)}})
	if err := server.Start(t.Context()); !errors.Is(err, ErrStarted) {
		t.Errorf("second start: %v", err)
	}
	closeWithin(t, server)
	closeWithin(t, server) // once more is fine
	if err := server.Start(t.Context()); !errors.Is(err, ErrServiceClosed) {
		t.Errorf("start after close: %v", err)
	}
}

func TestStartOnTakenPort(t *testing.T) {
	first := startServer(t, ServerConfig{Config: Config{NewHandler: always(echo)}})
	second, err := NewServer(ServerConfig{Config: Config{Address: first.Addr().String(), NewHandler: always(echo)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err == nil {
		t.Error("two servers on one port")
	}
}

func TestConnectRefused(t *testing.T) {
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(echo)}})
	address := server.Addr().String()
	closeWithin(t, server)
	client, err := NewClient(ClientConfig{Config: Config{Address: address, NewHandler: always(echo)}, Sessions: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(t.Context()); err == nil {
		t.Error("connected to nobody")
	}
	if client.Count() != 0 {
		t.Errorf("%d sessions", client.Count())
	}
}

// TestCloseBusy is item 59 of the walk-through: everything that was sent before
// arrives, the reason too, and Close returns with nothing left.
func TestCloseBusy(t *testing.T) {
	for name, use := range transports(t) {
		t.Run(name, func(t *testing.T) {
			const sessions, packets = 20, 500
			sc, cc := ServerConfig{}, ClientConfig{Sessions: sessions}
			use(&sc.Config, &cc.Config)
			opened := make(chan *Session, sessions)
			sc.NewHandler = always(&closer{script{connected: func(s *Session) { opened <- s }}})
			seen := newDiary()
			cc.NewHandler = always(seen)
			server := startServer(t, sc)
			startClient(t, server, cc)
			for range sessions {
				s := await(t, "a session", opened)
				for range packets {
					if err := s.Send(Packet{ID: 1, Payload: make([]byte, 100)}); err != nil {
						t.Fatal(err)
					}
				}
			}
			closeWithin(t, server)
			for range sessions {
				var said *PeerError
				if cause := await(t, "the end", seen.onClose); !errors.As(cause, &said) ||
					said.Text != "the service is closing" {
					t.Errorf("a client heard %v", cause)
				}
			}
			if got := seen.count(); got != sessions*(packets+1) {
				t.Errorf("%d packets arrived of %d", got, sessions*(packets+1))
			}
			if server.Count() != 0 {
				t.Errorf("%d sessions left", server.Count())
			}
		})
	}
}

// A closer says goodbye when its service closes.
type closer struct{ script }

func (c *closer) OnClosing(s *Session) { _ = s.Send(Packet{ID: 2, Payload: []byte("goodbye")}) }

// TestCloseForced: a client that never closes does not hold up Close beyond its
// context.
func TestCloseForced(t *testing.T) {
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen)}})
	dial(t, server)
	await(t, "a session", seen.onOpen)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := server.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
	wantCause(t, await(t, "the end", seen.onClose), ErrServiceClosed)
	closeWithin(t, server)
	if server.Count() != 0 {
		t.Errorf("%d sessions left", server.Count())
	}
}

func TestReconnect(t *testing.T) {
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(echo)}})
	seen := newDiary()
	client := startClient(t, server, ClientConfig{Config: Config{NewHandler: always(seen)},
		Reconnect: &Backoff{Initial: time.Millisecond, Max: 10 * time.Millisecond}})
	for id := uint64(1); id <= 3; id++ {
		if s := await(t, "a connection", seen.onOpen); s.ID() != id {
			t.Errorf("session %d, want %d", s.ID(), id)
		}
		eventually(t, "the server to know it", func() bool { return len(server.appendSessions(nil)) == 1 })
		for s := range server.Sessions() {
			s.Disconnect(Reason{Text: "again", Reconnect: true})
		}
		var said *PeerError
		if cause := await(t, "its end", seen.onClose); !errors.As(cause, &said) || said.Text != "again" {
			t.Errorf("heard %v", cause)
		}
	}
	await(t, "the last connection", seen.onOpen)
	if client.Count() != 1 {
		t.Errorf("%d sessions", client.Count())
	}
}

func TestReconnectGivesUp(t *testing.T) {
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(echo)}})
	seen := newDiary()
	dials := &dialCounter{Transport: TCP}
	client := startClient(t, server, ClientConfig{
		Config: Config{NewHandler: always(seen), Transport: dials},
		// A session that lasts for Max counts as taken, so Max is long.
		Reconnect: &Backoff{Initial: time.Millisecond, Max: time.Minute, Attempts: 3},
	})
	await(t, "a connection", seen.onOpen)
	closeWithin(t, server)
	await(t, "its end", seen.onClose)
	// The session that brought nothing was the first failure.
	eventually(t, "three attempts", func() bool { return dials.count.Load() == 3 })
	closeWithin(t, client)
	if n := dials.count.Load(); n != 3 {
		t.Errorf("%d attempts", n)
	}
}

// A dialCounter is TCP that counts attempts to connect.
type dialCounter struct {
	Transport
	count atomic.Int32
}

func (d *dialCounter) Dial(ctx context.Context, address string) (Conn, error) {
	d.count.Add(1)
	return d.Transport.Dial(ctx, address)
}
