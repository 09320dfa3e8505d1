package quic

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"
)

func TestGarbage(t *testing.T) {
	l := listen(t, serverTransport())
	attacker, err := net.Dial("udp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer attacker.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		b := make([]byte, random.IntN(1500))
		for j := range b {
			b[j] = byte(random.Uint32())
		}
		if i%2 == 0 && len(b) > 6 { // a first packet of QUIC version 1, as it seems
			copy(b, []byte{0xC0 | b[0]&0x0F, 0, 0, 0, 1, 8})
		}
		_, _ = attacker.Write(b) // it may be lost
	}
	client := dial(t, clientTransport(), l.Addr().String())
	say(t, client, "I am real")
	hear(t, serve(t, l), "I am real")
}

func TestListenerClose(t *testing.T) {
	l := listen(t, serverTransport())
	address := l.Addr().String()
	client := dial(t, clientTransport(), address)
	server := serve(t, l)
	accepting := make(chan error, 1)
	go func() { accepting <- second(l.Accept()) }()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-accepting; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v, want net.ErrClosed", err)
	}
	if err := second(l.Accept()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept again: %v, want net.ErrClosed", err)
	}
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Close again: %v, want net.ErrClosed", err)
	}

	transport := clientTransport()
	transport.QUIC = &quicgo.Config{HandshakeIdleTimeout: 50 * time.Millisecond}
	if _, err := transport.Dial(timely(t), address); err == nil {
		t.Error("a client connected after Close")
	}
	say(t, client, "and we go on")
	hear(t, server, "and we go on")
	if err := server.SendDatagram([]byte("with both")); err != nil {
		t.Fatal(err)
	}
	if b, err := client.ReceiveDatagram(timely(t)); err != nil || string(b) != "with both" {
		t.Fatalf("got %q, %v", b, err)
	}
	if err := server.Close(); err != nil { // the last one: listen checks that the port is free
		t.Fatal(err)
	}
	if err := readError(t, client); err != io.EOF {
		t.Errorf("the client hears %v", err)
	}
}

func TestListenerCloseBeforeAccept(t *testing.T) {
	l := listen(t, serverTransport())
	address := l.Addr().String()
	clients := []*connection{dial(t, clientTransport(), address), dial(t, clientTransport(), address)}
	// One round trip later the server has queued both.
	l.Close()
	for _, client := range clients {
		if err := readError(t, client); err == nil || errors.Is(err, net.ErrClosed) {
			t.Errorf("the client hears %v", err)
		}
	}
}

// Closing a listener while clients come in leaves nothing behind, and whoever got
// through hears of the end at once, not when the connection times out.
func TestListenerCloseAmidDials(t *testing.T) {
	transport := clientTransport()
	transport.QUIC = &quicgo.Config{HandshakeIdleTimeout: time.Second, MaxIdleTimeout: time.Hour}
	for range 5 {
		l := listen(t, serverTransport())
		var clients, server sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				c, err := transport.Dial(timely(t), l.Addr().String())
				if err != nil {
					return
				}
				defer c.Close()
				if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
					t.Error(err)
				}
				if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error("the server has gone without a word")
				}
			})
		}
		server.Go(func() {
			for n := 0; ; n++ {
				c, err := l.Accept()
				if err != nil {
					return
				}
				if n == 2 {
					server.Go(func() { l.Close() })
				}
				c.Close()
			}
		})
		clients.Wait()
		l.Close() // if so few came
		server.Wait()
	}
}

func TestDialGivesUp(t *testing.T) {
	nobody, err := net.ListenPacket("udp", "127.0.0.1:0") // reads nothing, answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer nobody.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := clientTransport().Dial(ctx, nobody.LocalAddr().String()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	for _, address := range []string{"", "127.0.0.1", "127.0.0.1:http3-no-such-port", "127.0.0.1:70000"} {
		if _, err := clientTransport().Dial(t.Context(), address); err == nil {
			t.Errorf("%q was accepted as an address", address)
		}
	}
}

func TestDialNames(t *testing.T) {
	l := listen(t, serverTransport())
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"localhost", ""} {
		client := dial(t, clientTransport(), net.JoinHostPort(host, port))
		say(t, client, host+"!")
		hear(t, serve(t, l), host+"!")
	}
}
