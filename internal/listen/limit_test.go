package listen_test

import (
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/muster-gg/muster/internal/listen"
)

// A queue is a listener of the connections that a test puts in.
type queue struct {
	conns chan net.Conn
}

func (q queue) Accept() (net.Conn, error) {
	c, ok := <-q.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (q queue) Close() error { close(q.conns); return nil }
func (queue) Addr() net.Addr { return &net.TCPAddr{} }

// come makes a connection from an address.
func (q queue) come(t *testing.T, ip string) (client net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { _ = client.Close() })
	q.conns <- remote{server, &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}}
	return client
}

type remote struct {
	net.Conn
	from net.Addr
}

func (r remote) RemoteAddr() net.Addr { return r.from }

// Connections are bounded in all and for each address; who closes one makes room for
// another, once.
func TestLimits(t *testing.T) {
	first, second := queue{make(chan net.Conn, 16)}, queue{make(chan net.Conn, 16)}
	limits := listen.NewLimits(5, 2, slog.New(slog.DiscardHandler))
	l, other := limits.Listen(first), limits.Listen(second)
	accept := func(l net.Listener) net.Conn {
		t.Helper()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	refused := func(c net.Conn) {
		t.Helper()
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("a connection too many ends with %v", err)
		}
	}

	first.come(t, "192.0.2.1")
	a := accept(l)
	second.come(t, "192.0.2.1")
	b := accept(other)
	third := first.come(t, "192.0.2.1")
	first.come(t, "192.0.2.2")
	c := accept(l)
	refused(third)

	_ = a.Close()
	_ = a.Close() // counts once
	first.come(t, "192.0.2.1")
	a = accept(l)
	third = first.come(t, "::ffff:192.0.2.1") // the same address
	first.come(t, "2001:db8::1")
	d := accept(l)
	refused(third)

	first.come(t, "2001:db8::ffff")
	e := accept(l) // the fifth in all
	sixth := first.come(t, "192.0.2.3")
	_ = first.Close()
	if _, err := l.Accept(); err != net.ErrClosed {
		t.Error(err)
	}
	refused(sixth)

	_ = e.Close()
	second.come(t, "2001:db8:0:1::1")
	e = accept(other)
	_ = e.Close()
	second.come(t, "2001:db8::2")
	second.come(t, "192.0.2.9")
	if e = accept(other); e.RemoteAddr().String() != "[2001:db8::2]:1" {
		t.Errorf("accepted %s", e.RemoteAddr())
	}
	second.come(t, "2001:db8::3") // of the same network as two others
	_ = second.Close()
	if _, err := other.Accept(); err != net.ErrClosed {
		t.Error(err)
	}
	for _, c := range []net.Conn{b, c, d, e, a} {
		_ = c.Close()
	}
}
