package handshake

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// version is that of the tests' game.
const version = 7

// A diary is a game's handler that notes what it is called with.
type diary struct {
	mu      sync.Mutex
	entries []string
	ended   chan struct{} // closed by OnDisconnected
	cause   error

	connected func(*gamenet.Session) // nil for nothing
	packet    func(*gamenet.Session, gamenet.Packet)
	gone      func()
}

func newDiary() *diary { return &diary{ended: make(chan struct{})} }

func (d *diary) note(entry string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, entry)
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.entries...)
}

func (d *diary) OnConnected(s *gamenet.Session) {
	d.note("connected")
	if d.connected != nil {
		d.connected(s)
	}
}

func (d *diary) OnPacket(s *gamenet.Session, p gamenet.Packet) {
	d.note("packet " + string(p.Payload))
	if d.packet != nil {
		d.packet(s, p)
	}
}

func (d *diary) OnClosing(*gamenet.Session) { d.note("closing") }

func (d *diary) OnDisconnected(_ *gamenet.Session, cause error) {
	d.note("disconnected")
	if d.gone != nil {
		d.gone()
	}
	d.cause = cause
	close(d.ended)
}

// admits lets everybody in, with one handler.
func admits(h gamenet.Handler, data string) func(context.Context, *gamenet.Session, Hello) (Admission, error) {
	return func(context.Context, *gamenet.Session, Hello) (Admission, error) {
		return Admission{Handler: h, Data: []byte(data)}, nil
	}
}

// A host is a server under test.
type host struct {
	*Server
	t         *testing.T
	net       *gamenet.ServerService
	transport gamenet.Transport // of clients; nil for TCP
	refused   chan error        // what Refused heard
}

// serve runs a server until the test ends.
func serve(t *testing.T, cfg ServerConfig) *host {
	return serveOver(t, cfg, gamenet.Config{}, nil)
}

// serveOver is serve with a configuration of gamenet, and a transport for clients.
func serveOver(t *testing.T, cfg ServerConfig, network gamenet.Config, client gamenet.Transport) *host {
	t.Helper()
	h := &host{t: t, transport: client, refused: make(chan error, 1000)}
	cfg.Version = version
	cfg.Refused = func(_ *gamenet.Session, why error) { h.refused <- why }
	var err error
	if h.Server, err = NewServer(cfg); err != nil {
		t.Fatal(err)
	}
	network.Address, network.NewHandler = "127.0.0.1:0", h.NewHandler
	h.net, err = gamenet.NewServer(gamenet.ServerConfig{Config: network})
	if err == nil {
		err = h.net.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.StopAdmitting()
		closeWithin(t, h.net)
	})
	return h
}

// config is that of a client of the host, which need not look at what comes.
func (h *host) config(ticket string) Config {
	return Config{
		Config: gamenet.Config{
			Address: h.net.Addr().String(), Transport: h.transport,
			NewHandler: func(*gamenet.Session) gamenet.Handler { return newDiary() },
		},
		Version: version, Ticket: ticket,
	}
}

// dial dials, with patience.
func dial(t *testing.T, cfg Config) (*Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return Dial(ctx, cfg)
}

// enter dials and expects to be let in, until the test ends.
func (h *host) enter(cfg Config) *Conn {
	h.t.Helper()
	c, err := dial(h.t, cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { closeWithin(h.t, c) })
	return c
}

// refuses dials and expects a refusal.
func (h *host) refuses(cfg Config, code Code, text string) {
	h.t.Helper()
	c, err := dial(h.t, cfg)
	if err == nil {
		closeWithin(h.t, c)
	}
	wantRefusal(h.t, err, code, text)
}

// wantRefusal checks what a player has heard.
func wantRefusal(t *testing.T, err error, code Code, text string) {
	t.Helper()
	if r, ok := errors.AsType[*RefusedError](err); !ok || r.Code != code || r.Text != text {
		t.Errorf("got %v, want %v: %q", err, code, text)
	}
}

// A raw is a client without the handshake.
type raw struct {
	t       *testing.T
	service *gamenet.ClientService
	session chan *gamenet.Session
	packets chan gamenet.Packet
	ended   chan error
}

// raw connects and sends packets.
func (h *host) raw(packets ...gamenet.Packet) *raw {
	h.t.Helper()
	r := &raw{t: h.t, session: make(chan *gamenet.Session, 1), packets: make(chan gamenet.Packet, 100),
		ended: make(chan error, 1)}
	var err error
	r.service, err = gamenet.NewClient(gamenet.ClientConfig{Config: gamenet.Config{
		Address: h.net.Addr().String(), Transport: h.transport,
		NewHandler: func(*gamenet.Session) gamenet.Handler { return rawHandler{r, packets} },
	}})
	if err == nil {
		err = r.service.Start(h.t.Context())
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { closeWithin(h.t, r.service) })
	return r
}

// hears waits for the refusal and then the end, with the same text.
func (r *raw) hears(code Code, text string) {
	r.t.Helper()
	refusal := await(r.t, "a packet", r.packets)
	if want := appendRefusal(nil, &RefusedError{code, text}); refusal.ID != idRefusal ||
		!bytes.Equal(refusal.Payload, want) {
		r.t.Errorf("heard %#x %q, want %q", refusal.ID, refusal.Payload, want)
	}
	r.endsWith(text)
}

// endsWith waits for the end and its reason.
func (r *raw) endsWith(text string) {
	r.t.Helper()
	cause := await(r.t, "the end", r.ended)
	if told, ok := errors.AsType[*gamenet.PeerError](cause); !ok || told.Text != text {
		r.t.Errorf("ended because of %v, want %q", cause, text)
	}
}

// cut hangs up at once.
func (r *raw) cut() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.service.Close(now)
}

type rawHandler struct {
	*raw
	send []gamenet.Packet
}

func (r rawHandler) OnConnected(s *gamenet.Session) {
	for _, p := range r.send {
		_ = s.Send(p)
	}
	r.session <- s
}

func (r rawHandler) OnPacket(_ *gamenet.Session, p gamenet.Packet) {
	p.Payload = bytes.Clone(p.Payload)
	r.packets <- p
}

func (r rawHandler) OnDisconnected(_ *gamenet.Session, cause error) { r.ended <- cause }

// helloPacket is a Hello on the wire.
func helloPacket(h Hello) gamenet.Packet {
	return gamenet.Packet{ID: idHello, Payload: appendHello(nil, h)}
}

// await receives from a channel.
func await[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func closeWithin(t *testing.T, s interface{ Close(context.Context) error }) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}
