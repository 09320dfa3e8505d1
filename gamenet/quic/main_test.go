package quic

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// certificates are the same in all tests: making them takes time.
var certificates = sync.OnceValues(func() (server, client *tls.Config) {
	server, client, err := SelfSigned()
	if err != nil {
		panic(err)
	}
	return server, client
})

func serverTransport() *transport {
	server, _ := certificates()
	return &transport{Config{TLS: server}}
}

func clientTransport() *transport {
	_, client := certificates()
	return &transport{Config{TLS: client}}
}

func timely(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// listen opens a listener on any port. When the test ends, and all connections
// have been closed, the port must be free.
func listen(t *testing.T, transport gamenet.Transport) *listener {
	t.Helper()
	l, err := transport.Listen(timely(t), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		again, err := net.ListenPacket("udp", l.Addr().String())
		if err != nil {
			t.Error("the port is not free after everything was closed:", err)
			return
		}
		again.Close()
	})
	return l.(*listener)
}

// dial connects to an address.
func dial(t *testing.T, transport gamenet.Transport, address string) *connection {
	t.Helper()
	c, err := transport.Dial(timely(t), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*connection)
}

// accept takes the next connection in.
func accept(t *testing.T, l *listener) *connection {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*connection)
}

// serve takes the next connection in and does its handshake.
func serve(t *testing.T, l *listener) *connection {
	t.Helper()
	c := accept(t, l)
	if err := c.HandshakeContext(timely(t)); err != nil {
		t.Fatal(err)
	}
	return c
}

// pair is a connection, seen from both sides.
func pair(t *testing.T) (client, server *connection) {
	t.Helper()
	l := listen(t, serverTransport())
	client = dial(t, clientTransport(), l.Addr().String())
	return client, serve(t, l)
}

// say writes a text.
func say(t *testing.T, c *connection, text string) {
	t.Helper()
	if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
}

// hear reads a text.
func hear(t *testing.T, c *connection, text string) {
	t.Helper()
	b := make([]byte, len(text))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != text {
		t.Fatalf("read %q, %v; want %q", b, err, text)
	}
}

// readError is how the next Read fails.
func readError(t *testing.T, c *connection) error {
	t.Helper()
	n, err := c.Read(make([]byte, 1))
	if n != 0 || err == nil {
		t.Fatalf("Read = %d, %v; want an error", n, err)
	}
	return err
}
