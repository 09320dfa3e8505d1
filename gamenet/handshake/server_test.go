package handshake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/quic"
)

// overBoth runs a test over TCP and over QUIC.
func overBoth(t *testing.T, test func(t *testing.T, start func(*testing.T, ServerConfig) *host)) {
	t.Run("TCP", func(t *testing.T) { test(t, serve) })
	t.Run("QUIC", func(t *testing.T) {
		server, client, err := quic.SelfSigned()
		if err != nil {
			t.Fatal(err)
		}
		test(t, func(t *testing.T, cfg ServerConfig) *host {
			return serveOver(t, cfg, gamenet.Config{Transport: quic.New(quic.Config{TLS: server})},
				quic.New(quic.Config{TLS: client}))
		})
	})
}

// wantEntries checks what a diary holds, when its session has ended.
func (d *diary) wantEntries(t *testing.T, want ...string) {
	t.Helper()
	await(t, "OnDisconnected", d.ended)
	if got := d.read(); !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
}

// TestEnter follows a player in, and out again.
func TestEnter(t *testing.T) {
	overBoth(t, func(t *testing.T, start func(*testing.T, ServerConfig) *host) {
		inside, player := newDiary(), newDiary()
		inside.connected = func(s *gamenet.Session) {
			_ = s.Send(gamenet.Packet{ID: 1, Payload: []byte("after " +
				"Welcome")})
		}
		inside.packet = func(s *gamenet.Session, p gamenet.Packet) { _ = s.Send(p) }
		var said Hello
		h := start(t, ServerConfig{Admit: func(_ context.Context, s *gamenet.Session, hello Hello) (Admission, error) {
			if s.RemoteAddr() == nil {
				t.Error("Admit does not see whom it admits")
			}
			said = hello
			return Admission{Handler: inside, Data: []byte("map=harbour")}, nil
		}})
		cfg := h.config("psess-1")
		cfg.Data = []byte("ada")
		cfg.NewHandler = func(*gamenet.Session) gamenet.Handler { return player }
		echoed := make(chan struct{})
		player.packet = func(_ *gamenet.Session, p gamenet.Packet) {
			if string(p.Payload) == "hello" {
				close(echoed)
			}
		}
		c := h.enter(cfg)
		if string(c.Data()) != "map=harbour" || c.Err() != nil || player.read()[0] != "connected" {
			t.Errorf("let in with %q, %v, %q", c.Data(), c.Err(), player.read())
		}
		if err := c.Session().Send(gamenet.Packet{ID: 2, Payload: []byte("hello")}); err != nil {
			t.Error(err)
		}
		await(t, "an echo", echoed)
		closeWithin(t, c)
		player.wantEntries(t, "connected", "packet after Welcome", "packet hello", "closing", "disconnected")
		inside.wantEntries(t, "connected", "packet hello", "disconnected")
		if said.version != version || said.Ticket != "psess-1" || string(said.Data) != "ada" || said.nonce == 0 {
			t.Errorf("Admit saw %+v", said)
		}
		if len(h.refused) != 0 {
			t.Error("somebody was refused:", <-h.refused)
		}
	})
}

// TestHandlerOfSession: behind the handshake a session leads to the handler of the game, on both sides and from any
// goroutine; before it there is none.
func TestHandlerOfSession(t *testing.T) {
	var players gamenet.Group
	inside, screen := newDiary(), newDiary()
	inside.connected = func(s *gamenet.Session) { players.Add(s) }
	sessions := make(chan *gamenet.Session, 1)
	var reading sync.WaitGroup
	h := serve(t, ServerConfig{Unticketed: true, Admit: func(
		_ context.Context, s *gamenet.Session, _ Hello,
	) (Admission, error) {
		if s.Handler() != nil {
			t.Errorf("the handler in Admit is %T", s.Handler())
		}
		reading.Go(func() {
			for s.Handler() == nil {
				runtime.Gosched()
			}
		})
		sessions <- s
		return Admission{Handler: inside}, nil
	}})
	cfg := h.config("")
	cfg.NewHandler = func(*gamenet.Session) gamenet.Handler { return screen }
	if c := h.enter(cfg); c.Session().Handler() != screen {
		t.Errorf("the client's handler is %T", c.Session().Handler())
	}
	if s := await(t, "the session", sessions); s != nil {
		eventually(t, "the player in the group", func() bool { return players.Has(s) })
	}
	for _, s := range players.Members() {
		if s.Handler() != inside {
			t.Errorf("a member of the group leads to %T", s.Handler())
		}
	}
	reading.Wait()
}

// TestAnotherVersion does not use up the ticket: not even Admit is asked.
func TestAnotherVersion(t *testing.T) {
	asked := 0
	h := serve(t, ServerConfig{Admit: func(context.Context, *gamenet.Session, Hello) (Admission, error) {
		asked++
		return Admission{Handler: newDiary()}, nil
	}})
	old := h.config("psess-1")
	old.Version = 6
	const text = "this server speaks version 7 of the protocol, not 6"
	h.refuses(old, VersionMismatch, text)
	wantRefusal(t, await(t, "Refused", h.refused), VersionMismatch, text)
	if asked != 0 {
		t.Error("Admit was asked about a player of another version")
	}
	h.enter(h.config("psess-1"))
}

// TestTicketInUse lets a ticket be used by one session at a time, until its
// OnDisconnected has returned.
func TestTicketInUse(t *testing.T) {
	leaving, left := make(chan struct{}), make(chan struct{})
	first := newDiary()
	first.gone = func() { close(leaving); <-left }
	handlers := []gamenet.Handler{first, newDiary(), newDiary()}
	h := serve(t, ServerConfig{Admit: func(context.Context, *gamenet.Session, Hello) (Admission, error) {
		next := handlers[0]
		handlers = handlers[1:]
		return Admission{Handler: next}, nil
	}})
	c := h.enter(h.config("psess-1"))
	const text = "this player session is in use"
	h.refuses(h.config("psess-1"), TicketInUse, text)
	h.enter(h.config("psess-2"))
	closeWithin(t, c)
	await(t, "OnDisconnected", leaving)
	h.refuses(h.config("psess-1"), TicketInUse, text)
	close(left)
	await(t, "the end of OnDisconnected", first.ended)
	eventuallyFree(t, h, "psess-1")
	h.enter(h.config("psess-1"))
}

// eventuallyFree waits until nobody has a ticket.
func eventuallyFree(t *testing.T, h *host, ticket string) {
	t.Helper()
	eventually(t, "a free ticket", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		_, taken := h.tickets[ticket]
		return !taken
	})
}

// TestSameMoment uses one ticket many times at once: one is let in, and Admit
// asked once.
func TestSameMoment(t *testing.T) {
	const players = 20
	others := make(chan struct{})
	h := serve(t, ServerConfig{Admit: func(context.Context, *gamenet.Session, Hello) (Admission, error) {
		<-others
		return Admission{Handler: newDiary()}, nil
	}})
	var mu sync.Mutex
	refused, in := 0, 0
	var running sync.WaitGroup
	for range players {
		running.Go(func() {
			c, err := dial(t, h.config("psess-1"))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				in++
				closeWithin(t, c)
				return
			}
			wantRefusal(t, err, TicketInUse, "this player session is in use")
			if refused++; refused == players-1 {
				close(others)
			}
		})
	}
	running.Wait()
	if in != 1 || refused != players-1 {
		t.Errorf("%d were let in, %d refused", in, refused)
	}
}

func TestNoTicket(t *testing.T) {
	h := serve(t, ServerConfig{Admit: admits(newDiary(), "")})
	h.refuses(h.config(""), TicketMissing, "a player session id is needed")
	h = serve(t, ServerConfig{Unticketed: true, Admit: func(
		context.Context, *gamenet.Session, Hello,
	) (Admission, error) {
		return Admission{Handler: newDiary()}, nil
	}})
	h.enter(h.config(""))
	h.enter(h.config(""))
}

// TestAdmitFails fails in all ways; the ticket is good for another attempt.
func TestAdmitFails(t *testing.T) {
	secret := errors.New("the password of the database is 1234")
	const generic = "the server could not let you in"
	for name, test := range map[string]struct {
		fail func() (Admission, error)
		code Code
		text string
	}{
		"refused": {func() (Admission, error) { return Admission{}, &RefusedError{Full, "the game is full"} }, Full,
			"the game is full"},
		"refused and wrapped": {func() (Admission, error) {
			return Admission{}, fmt.Errorf("admit: %w", &RefusedError{NoSession, "later"})
		}, NoSession, "later"},
		"another error": {func() (Admission, error) { return Admission{}, secret }, Other, generic},
		"no handler":    {func() (Admission, error) { return Admission{}, nil }, Other, generic},
		"a panic":       {func() (Admission, error) { panic(secret) }, Other, "internal error"},
		"more than Welcome has": {func() (Admission, error) {
			return Admission{Handler: newDiary(), Data: make([]byte, MaxData+1)}, nil
		}, Other, "handshake: invalid packet: the data of Welcome has 513 bytes, at most 512 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			fail := true
			h := serve(t, ServerConfig{Admit: func(context.Context, *gamenet.Session, Hello) (Admission, error) {
				if fail {
					return test.fail()
				}
				return Admission{Handler: newDiary()}, nil
			}})
			h.refuses(h.config("psess-1"), test.code, test.text)
			eventuallyFree(t, h, "psess-1")
			fail = false
			h.enter(h.config("psess-1"))
		})
	}
}

// TestAdmitPanics: a panic in Admit is in the log, without a logger in slog's default one.
func TestAdmitPanics(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	h := serve(t, ServerConfig{Admit: func(context.Context, *gamenet.Session, Hello) (Admission, error) {
		panic("boom in Admit")
	}})
	h.refuses(h.config("psess-1"), Other, "internal error")
	closeWithin(t, h.net)
	if !strings.Contains(log.String(), `panic="boom in Admit" stack="goroutine`) {
		t.Errorf("the log has %s", &log)
	}
}

// TestRefusedHearsAll gives Refused what players do not hear.
func TestRefusedHearsAll(t *testing.T) {
	secret := errors.New("the password of the database is 1234")
	h := serve(t, ServerConfig{Admit: func(context.Context, *gamenet.Session, Hello) (Admission, error) {
		return Admission{}, secret
	}})
	h.refuses(h.config("psess-1"), Other, "the server could not let you in")
	if why := await(t, "Refused", h.refused); !errors.Is(why, secret) {
		t.Errorf("Refused heard %v", why)
	}
	r := h.raw()
	eventually(t, "a second session", func() bool { _, there := h.net.Session(2); return there })
	r.cut()
	if why := await(t, "Refused", h.refused); !errors.Is(why, gamenet.ErrPeerClosed) &&
		!errors.Is(why, gamenet.ErrLost) {
		t.Errorf("Refused heard %v", why)
	}
}

// TestTooLongForWelcome undoes what Admit did: OnDisconnected follows.
func TestTooLongForWelcome(t *testing.T) {
	d := newDiary()
	h := serve(t, ServerConfig{Admit: admits(d, strings.Repeat("x", MaxData+1))})
	if _, err := dial(t, h.config("psess-1")); err == nil {
		t.Error("let in without a Welcome")
	}
	d.wantEntries(t, "connected", "disconnected")
}

// TestSilence lets the time for Hello pass: without a byte, and with half a packet.
func TestSilence(t *testing.T) {
	clock := clockwork.NewFakeClock()
	h := serve(t, ServerConfig{Admit: admits(newDiary(), ""), clock: clock})
	silent := h.raw()
	conn, err := net.Dial("tcp", h.net.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte{20, 0, 0xE0}); err != nil {
		t.Fatal(err)
	}
	if err := clock.BlockUntilContext(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	clock.Advance(5*time.Second - 1)
	if len(silent.packets) != 0 || len(h.refused) != 0 {
		t.Error("refused too early")
	}
	clock.Advance(1)
	const text = "no Hello within 5s"
	silent.hears(Timeout, text)
	conn.Close()
	for range 2 {
		wantRefusal(t, await(t, "Refused", h.refused), Timeout, text)
	}
}

// TestHelloAtTheLastMoment lets Hello and the end of its time meet: a session is
// let in or refused, and never both.
func TestHelloAtTheLastMoment(t *testing.T) {
	var mu sync.Mutex
	diaries := map[string]*diary{}
	h := serve(t, ServerConfig{Limit: 200 * time.Microsecond, Admit: func(
		_ context.Context, _ *gamenet.Session, hello Hello,
	) (Admission, error) {
		mu.Lock()
		defer mu.Unlock()
		diaries[hello.Ticket] = newDiary()
		return Admission{Handler: diaries[hello.Ticket]}, nil
	}})
	var running sync.WaitGroup
	for i := range 50 {
		running.Go(func() {
			ticket := fmt.Sprint("psess-", i)
			c, err := dial(t, h.config(ticket))
			mu.Lock()
			d := diaries[ticket]
			mu.Unlock()
			switch {
			case err == nil && d != nil:
				closeWithin(t, c)
				d.wantEntries(t, "connected", "disconnected")
			case err == nil || d != nil:
				t.Errorf("Dial says %v, Admit was asked: %t", err, d != nil)
			default:
				wantRefusal(t, err, Timeout, "no Hello within 200µs")
			}
		})
	}
	running.Wait()
}

// TestGarbage sends what no player should.
func TestGarbage(t *testing.T) {
	overBoth(t, func(t *testing.T, start func(*testing.T, ServerConfig) *host) {
		h := start(t, ServerConfig{Admit: admits(newDiary(), ""), Unticketed: true})
		const invalid = "handshake: invalid packet: "
		for _, test := range []struct {
			first gamenet.Packet
			text  string
		}{
			{gamenet.Packet{ID: 1, Payload: []byte("hello")}, "the first one must be Hello"},
			{gamenet.Packet{ID: idWelcome, Payload: make([]byte, 8)}, "the first one must be Hello"},
			{gamenet.Packet{ID: idHello}, "the first one must be Hello"},
			{gamenet.Packet{ID: idHello, Payload: []byte{format, version, 0, 0, 0, 1, 2}}, "Hello is too short"},
		} {
			r := h.raw(test.first, helloPacket(Hello{version: version})) // which comes too late
			r.hears(Invalid, invalid+test.text)
			if why := await(t, "Refused", h.refused); !errors.Is(why, ErrInvalid) {
				t.Errorf("Refused heard %v", why)
			}
		}
	})
}

// TestHandshakeAgain ends sessions that begin again, or use the handshake's ids.
func TestHandshakeAgain(t *testing.T) {
	for _, second := range []gamenet.Packet{
		helloPacket(Hello{version: version, Ticket: "psess-2"}), {ID: idRefusal, Payload: []byte{1}}, {ID: lastID},
	} {
		d := newDiary()
		h := serve(t, ServerConfig{Admit: admits(d, "")})
		r := h.raw(helloPacket(Hello{version: version, nonce: 9, Ticket: "psess-1"}), second)
		if p := await(t, "Welcome", r.packets); p.ID != idWelcome || p.Payload[0] != 9 {
			t.Errorf("got %#x %q", p.ID, p.Payload)
		}
		r.endsWith("the handshake is over")
		d.wantEntries(t, "connected", "disconnected")
	}
}

// TestDatagramFirst sends a datagram instead of Hello: that is no first packet
// either.
func TestDatagramFirst(t *testing.T) {
	server, client, err := quic.SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	h := serveOver(t, ServerConfig{Admit: admits(newDiary(), "")},
		gamenet.Config{Transport: quic.New(quic.Config{TLS: server})}, quic.New(quic.Config{TLS: client}))
	r := h.raw()
	s := await(t, "a session", r.session)
	if err := s.SendDatagram(gamenet.Packet{ID: 1, Payload: []byte("hello")}); err != nil {
		t.Fatal(err)
	}
	r.hears(Invalid, "handshake: invalid packet: the first one must be Hello")
}

// TestHangUpDuringAdmit hangs up while Admit runs: the player is let in and out
// again, in order, and then the ticket is free.
func TestHangUpDuringAdmit(t *testing.T) {
	overBoth(t, func(t *testing.T, start func(*testing.T, ServerConfig) *host) {
		asked, answer := make(chan struct{}), make(chan struct{})
		d := newDiary()
		h := start(t, ServerConfig{Admit: func(context.Context, *gamenet.Session, Hello) (Admission, error) {
			close(asked)
			<-answer
			return Admission{Handler: d}, nil
		}})
		r := h.raw(helloPacket(Hello{version: version, Ticket: "psess-1"}))
		await(t, "Admit", asked)
		r.cut()
		close(answer)
		d.wantEntries(t, "connected", "disconnected")
		eventuallyFree(t, h, "psess-1")
	})
}

// TestCloseDuringAdmit closes the server while Admit runs. StopAdmitting lets it
// give up; an Admit that succeeds all the same is undone.
func TestCloseDuringAdmit(t *testing.T) {
	for name, stubborn := range map[string]bool{"gives up": false, "succeeds": true} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{})
			d := newDiary()
			h := serve(t, ServerConfig{Admit: func(
				ctx context.Context, _ *gamenet.Session, _ Hello,
			) (Admission, error) {
				close(asked)
				<-ctx.Done()
				if stubborn {
					return Admission{Handler: d}, nil
				}
				return Admission{}, ctx.Err()
			}})
			r := h.raw(helloPacket(Hello{version: version, Ticket: "psess-1"}))
			await(t, "Admit", asked)
			h.StopAdmitting()
			if !stubborn {
				r.hears(Ending, "the game server is ending")
				return
			}
			closeWithin(t, h.net)
			d.wantEntries(t, "connected", "closing", "disconnected")
			r.endsWith("the service is closing")
		})
	}
}

// TestStopAdmitting lets nobody in any more, and those who play play on. Who has
// not said Hello hears of the end when the service closes.
func TestStopAdmitting(t *testing.T) {
	d := newDiary()
	h := serve(t, ServerConfig{Admit: admits(d, "")})
	c := h.enter(h.config("psess-1"))
	silent := h.raw()
	h.StopAdmitting()
	const text = "the game server is ending"
	h.refuses(h.config("psess-2"), Ending, text)
	if err := c.Session().Send(gamenet.Packet{ID: 1, Payload: []byte("still here")}); err != nil {
		t.Error(err)
	}
	eventually(t, "both sessions", func() bool { return len(slices.Collect(h.net.Sessions())) == 2 })
	closeWithin(t, h.net)
	silent.hears(Ending, text)
	await(t, "the end", c.Done())
}

// TestAdmitLimit ends the patience with Admit.
func TestAdmitLimit(t *testing.T) {
	h := serve(t, ServerConfig{AdmitLimit: time.Millisecond, Admit: func(
		ctx context.Context, _ *gamenet.Session, _ Hello,
	) (Admission, error) {
		<-ctx.Done()
		return Admission{}, fmt.Errorf("accept: %w", ctx.Err())
	}})
	h.refuses(h.config("psess-1"), Unavailable, "the player session could not be checked in time")
	if why := await(t, "Refused", h.refused); !errors.Is(why, context.DeadlineExceeded) {
		t.Errorf("Refused heard %v", why)
	}
}

func TestServerConfig(t *testing.T) {
	for field, cfg := range map[string]ServerConfig{
		"Admit":      {},
		"Limit":      {Admit: admits(newDiary(), ""), Limit: -1},
		"AdmitLimit": {Admit: admits(newDiary(), ""), AdmitLimit: -1},
	} {
		_, err := NewServer(cfg)
		if e, ok := errors.AsType[*gamenet.ConfigError](err); !ok || e.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
}
