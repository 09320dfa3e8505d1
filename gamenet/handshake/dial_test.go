package handshake

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/muster-gg/muster/gamenet"
)

// A script is a server that answers Hello as it likes.
type script func(s *gamenet.Session, hello Hello)

func (script) OnConnected(*gamenet.Session)           {}
func (script) OnDisconnected(*gamenet.Session, error) {}
func (answer script) OnPacket(s *gamenet.Session, p gamenet.Packet) {
	if hello, err := readHello(p, version); err == nil {
		answer(s, hello)
	}
}

// act runs a script until the test ends.
func act(t *testing.T, answer script) Config {
	t.Helper()
	server, err := gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{
		Address: "127.0.0.1:0", NewHandler: func(*gamenet.Session) gamenet.Handler { return answer },
	}})
	if err == nil {
		err = server.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWithin(t, server) })
	return Config{
		Config: gamenet.Config{Address: server.Addr().String(),
			NewHandler: func(*gamenet.Session) gamenet.Handler { return newDiary() }},
		Version: version,
	}
}

func send(s *gamenet.Session, id uint16, payload string) {
	_ = s.Send(gamenet.Packet{ID: id, Payload: []byte(payload)})
}

// sendWelcome answers Hello.
func sendWelcome(s *gamenet.Session, hello Hello) {
	send(s, idWelcome, string(appendWelcome(nil, hello.nonce, nil)))
}

// TestOddAnswers gets answers that make no sense: Dial fails, and the game hears
// nothing.
func TestOddAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		answer script
		text   string
	}{
		"somebody else's": {func(s *gamenet.Session, h Hello) {
			send(s, idWelcome, string(appendWelcome(nil, h.nonce+1, nil)))
		}, "Welcome is for another player"},
		"half a Welcome": {func(s *gamenet.Session, _ Hello) { send(s, idWelcome, "1234") }, "Welcome is too short"},
		"much data": {func(s *gamenet.Session, h Hello) {
			send(s, idWelcome, string(appendWelcome(nil, h.nonce, make([]byte, MaxData+1))))
		}, "the data of Welcome has 513 bytes"},
		"no refusal": {func(s *gamenet.Session, _ Hello) { send(s, idRefusal, "") }, "the refusal is empty"},
		"a Hello": {func(s *gamenet.Session, _ Hello) { send(s, idHello, "") },
			"a server does not send packets of id 0xffe0"},
		"an id in reserve": {func(s *gamenet.Session, _ Hello) { send(s, lastID, "") },
			"a server does not send packets of id 0xffef"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := act(t, test.answer)
			cfg.NewHandler = func(*gamenet.Session) gamenet.Handler {
				t.Error("the game was called")
				return newDiary()
			}
			if _, err := dial(t, cfg); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestHungUp is hung up on instead of an answer.
func TestHungUp(t *testing.T) {
	cfg := act(t, func(s *gamenet.Session, _ Hello) { s.Disconnect(gamenet.Reason{Text: "not today\n"}) })
	_, err := dial(t, cfg)
	wantRefusal(t, err, Other, "not today")
	cfg = act(t, func(s *gamenet.Session, _ Hello) { s.Disconnect(gamenet.Reason{}) })
	if _, err := dial(t, cfg); !errors.Is(err, gamenet.ErrPeerClosed) {
		t.Errorf("got %v", err)
	}
}

// TestFullServer has no place left, which gamenet finds before there is a
// handshake.
func TestFullServer(t *testing.T) {
	s, err := NewServer(ServerConfig{Version: version, Unticketed: true, Admit: admits(newDiary(), "")})
	if err != nil {
		t.Fatal(err)
	}
	server, err := gamenet.NewServer(gamenet.ServerConfig{MaxSessions: 1,
		Config: gamenet.Config{Address: "127.0.0.1:0", NewHandler: s.NewHandler}})
	if err == nil {
		err = server.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer closeWithin(t, server)
	h := &host{Server: s, t: t, net: server}
	h.enter(h.config(""))
	h.refuses(h.config(""), Full, "the server is full")
}

// TestEarlyPackets gets packets of the game before Welcome, as datagrams may come:
// the game does not hear of them.
func TestEarlyPackets(t *testing.T) {
	cfg := act(t, func(s *gamenet.Session, h Hello) {
		send(s, 1, "early")
		sendWelcome(s, h)
		send(s, 1, "in time")
		s.Disconnect(gamenet.Reason{Text: "that was all"})
	})
	d := newDiary()
	cfg.NewHandler = func(*gamenet.Session) gamenet.Handler { return d }
	c, err := dial(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer closeWithin(t, c)
	await(t, "the end", c.Done())
	d.wantEntries(t, "connected", "packet in time", "disconnected")
	if told, ok := errors.AsType[*gamenet.PeerError](c.Err()); !ok || told.Text != "that was all" ||
		c.Err() != d.cause {
		t.Errorf("ended because of %v", c.Err())
	}
}

// TestWelcomedTwice ends the session of a server that begins again.
func TestWelcomedTwice(t *testing.T) {
	cfg := act(t, func(s *gamenet.Session, h Hello) {
		sendWelcome(s, h)
		sendWelcome(s, h)
		send(s, 1, "too late")
	})
	d := newDiary()
	cfg.NewHandler = func(*gamenet.Session) gamenet.Handler { return d }
	c, err := dial(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer closeWithin(t, c)
	await(t, "the end", c.Done())
	d.wantEntries(t, "connected", "disconnected")
	if err := c.Err(); !errors.Is(err, gamenet.ErrDisconnected) ||
		!strings.Contains(err.Error(), "the handshake is over") {
		t.Errorf("ended because of %v", err)
	}
}

// TestWelcomed gives the game the data before its first callback, and lets it
// refuse.
func TestWelcomed(t *testing.T) {
	cfg := act(t, func(s *gamenet.Session, h Hello) {
		send(s, idWelcome, string(appendWelcome(nil, h.nonce, []byte("map=harbour"))))
	})
	cfg.NewHandler = nil
	var data string
	cfg.Welcomed = func(_ *gamenet.Session, d []byte) (gamenet.Handler, error) {
		data = string(d)
		return newDiary(), nil
	}
	c, err := dial(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	closeWithin(t, c)
	closeWithin(t, c)
	if data != "map=harbour" || c.Err() != nil {
		t.Errorf("data %q, ended because of %v", data, c.Err())
	}
	unknown := errors.New("unknown map")
	cfg.Welcomed = func(*gamenet.Session, []byte) (gamenet.Handler, error) { return nil, unknown }
	if _, err := dial(t, cfg); !errors.Is(err, unknown) {
		t.Errorf("got %v", err)
	}
	cfg.Welcomed = func(*gamenet.Session, []byte) (gamenet.Handler, error) { return nil, nil }
	if _, err := dial(t, cfg); err == nil || !strings.Contains(err.Error(), "no handler") {
		t.Errorf("got %v", err)
	}
}

// TestPanicWhenLetIn fails the Dial of a game that panics.
func TestPanicWhenLetIn(t *testing.T) {
	cfg := act(t, sendWelcome)
	d := newDiary()
	d.connected = func(*gamenet.Session) { panic("no screen") }
	cfg.NewHandler = func(*gamenet.Session) gamenet.Handler { return d }
	_, err := dial(t, cfg)
	if p, ok := errors.AsType[*gamenet.PanicError](err); !ok || p.Value != "no screen" {
		t.Errorf("got %v", err)
	}
	d.wantEntries(t, "connected", "disconnected")
}

// TestNoAnswer gives up when the context ends: before an answer, and before a
// connection.
func TestNoAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cfg := act(t, func(*gamenet.Session, Hello) { cancel() })
	for range 2 {
		if _, err := Dial(ctx, cfg); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}

// TestCloseWithin closes the connection in the handler, when the server sends that the game has ended.
func TestCloseWithin(t *testing.T) {
	h := serve(t, ServerConfig{Unticketed: true, Admit: admits(&diary{connected: func(s *gamenet.Session) {
		send(s, 1, "game over")
	}, ended: make(chan struct{})}, "")})
	cfg, dialed, closes := h.config(""), make(chan *Conn, 1), make(chan error, 1)
	d := newDiary()
	d.packet = func(*gamenet.Session, gamenet.Packet) {
		c := <-dialed
		closes <- c.Close(context.Background())
	}
	cfg.NewHandler = func(*gamenet.Session) gamenet.Handler { return d }
	c := h.enter(cfg)
	dialed <- c
	if err := await(t, "Close to return", closes); err != nil {
		t.Error(err)
	}
	await(t, "the end", c.Done())
	if c.Err() != nil || !errors.Is(d.cause, gamenet.ErrServiceClosed) {
		t.Errorf("ended because of %v, the handler's cause is %v", c.Err(), d.cause)
	}
}

func TestNoServer(t *testing.T) {
	cfg := act(t, nil)
	cfg.Address = "127.0.0.1:1"
	if _, err := dial(t, cfg); err == nil {
		t.Error("connected to nobody")
	}
}

// TestHelloDoesNotFit has a MaxPacket that is too small for it.
func TestHelloDoesNotFit(t *testing.T) {
	cfg := act(t, sendWelcome)
	cfg.MaxPacket = 20
	cfg.Data = []byte("a long story")
	if _, err := dial(t, cfg); !errors.Is(err, gamenet.ErrPacketTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestConfig(t *testing.T) {
	handler := func(*gamenet.Session) gamenet.Handler { return newDiary() }
	for field, cfg := range map[string]Config{
		"NewHandler": {},
		"Ticket":     {Config: gamenet.Config{NewHandler: handler}, Ticket: strings.Repeat("x", maxTicket+1)},
		"Data":       {Config: gamenet.Config{NewHandler: handler}, Data: make([]byte, MaxData+1)},
		"Codec":      {Config: gamenet.Config{NewHandler: handler, Codec: gamenet.Varint}},
		"MaxPacket":  {Config: gamenet.Config{NewHandler: handler, MaxPacket: 1}},
	} {
		_, err := Dial(t.Context(), cfg)
		if e, ok := errors.AsType[*gamenet.ConfigError](err); !ok || e.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
}
