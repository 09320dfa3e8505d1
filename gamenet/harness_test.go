package gamenet

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// A script is a Handler made of functions, any of which may be nil.
type script struct {
	connected    func(*Session)
	packet       func(*Session, Packet)
	disconnected func(*Session, error)
}

func (h *script) OnConnected(s *Session) {
	if h.connected != nil {
		h.connected(s)
	}
}

func (h *script) OnPacket(s *Session, p Packet) {
	if h.packet != nil {
		h.packet(s, p)
	}
}

func (h *script) OnDisconnected(s *Session, cause error) {
	if h.disconnected != nil {
		h.disconnected(s, cause)
	}
}

// always is a factory of one handler for all sessions.
func always(h Handler) func(*Session) Handler { return func(*Session) Handler { return h } }

// echo sends back what comes.
var echo = &script{packet: func(s *Session, p Packet) { _ = s.Send(p) }}

// startServer runs a server until the test ends.
func startServer(t testing.TB, cfg ServerConfig) *ServerService {
	t.Helper()
	if cfg.Address == "" {
		cfg.Address = "127.0.0.1:0"
	}
	s, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWithin(t, s) })
	return s
}

// startClient connects to a server until the test ends.
func startClient(t testing.TB, server *ServerService, cfg ClientConfig) *ClientService {
	t.Helper()
	cfg.Address = server.Addr().String()
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWithin(t, c) })
	return c
}

func closeWithin(t testing.TB, s interface{ Close(context.Context) error }) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

// dial connects to a server without the library.
func dial(t testing.TB, server *ServerService) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// encode gives the bytes of packets as U16 has them.
func encode(t testing.TB, packets ...Packet) []byte {
	t.Helper()
	var b []byte
	for _, p := range packets {
		var err error
		if b, err = U16.Append(b, p, 1<<16); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// await receives from a channel.
func await[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// A diary is a Handler that notes what it is called with.
type diary struct {
	mu      sync.Mutex
	packets []Packet
	causes  []error
	opened  int
	session *Session

	onOpen  chan *Session
	onClose chan error
}

func newDiary() *diary {
	return &diary{onOpen: make(chan *Session, 1024), onClose: make(chan error, 1024)}
}

func (d *diary) OnConnected(s *Session) {
	d.mu.Lock()
	d.opened++
	d.session = s
	d.mu.Unlock()
	d.onOpen <- s
}

func (d *diary) OnPacket(_ *Session, p Packet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.packets = append(d.packets, Packet{p.ID, bytes.Clone(p.Payload)})
}

func (d *diary) OnDisconnected(_ *Session, cause error) {
	d.mu.Lock()
	d.causes = append(d.causes, cause)
	d.mu.Unlock()
	d.onClose <- cause
}

func (d *diary) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.packets)
}

func (d *diary) payloads() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, p := range d.packets {
		out = append(out, string(p.Payload))
	}
	return out
}

// wantCause checks why a session ended.
func wantCause(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("ended because of %v, want %v", got, want)
	}
}
