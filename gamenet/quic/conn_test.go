package quic

import (
	"bytes"
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

func TestEcho(t *testing.T) {
	client, server := pair(t)
	for _, text := range []string{"hello", "", "a second one", string(make([]byte, 100_000))} {
		var sent sync.WaitGroup
		for _, c := range [][2]*connection{{client, server}, {server, client}} {
			sent.Go(func() {
				if n, err := c[0].Write([]byte(text)); n != len(text) || err != nil {
					t.Errorf("Write = %d, %v", n, err)
				}
			})
			hear(t, c[1], text)
		}
		sent.Wait()
	}
	if client.RemoteAddr().String() != server.LocalAddr().String() ||
		client.LocalAddr().String() != server.RemoteAddr().String() {
		t.Errorf("addresses do not fit: client %v→%v, server %v→%v", client.LocalAddr(), client.RemoteAddr(),
			server.LocalAddr(), server.RemoteAddr())
	}
	if state := server.ConnectionState(); state.TLS.NegotiatedProtocol != protocol || state.Used0RTT {
		t.Errorf("protocol %q, 0-RTT %v", state.TLS.NegotiatedProtocol, state.Used0RTT)
	}
	if rtt := client.ConnectionStats().SmoothedRTT; rtt <= 0 {
		t.Errorf("RTT %v", rtt)
	}
}

func TestHalfClose(t *testing.T) {
	client, server := pair(t)
	say(t, client, "question")
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	hear(t, server, "question")
	if err := readError(t, server); err != io.EOF {
		t.Fatalf("after the other side's CloseWrite: %v, want EOF", err)
	}
	say(t, server, "answer")
	hear(t, client, "answer")
	if _, err := client.Write([]byte("more")); err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("Write after CloseWrite: %v", err)
	}
	if err := server.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := readError(t, client); err != io.EOF {
		t.Fatalf("got %v, want EOF", err)
	}
	if err := client.Close(); err != nil { // before the server, which waits for it
		t.Fatal(err)
	}
}

func TestClose(t *testing.T) {
	for _, closer := range []string{"client", "server"} {
		t.Run(closer, func(t *testing.T) {
			one, other := pair(t)
			if closer == "server" {
				one, other = other, one
			}
			reading := make(chan error, 1)
			go func() {
				_, err := one.Read(make([]byte, 1))
				reading <- err
			}()
			if err := one.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-reading; err != net.ErrClosed {
				t.Errorf("Read during Close: %v", err)
			}
			for what, err := range map[string]error{
				"Read":         readError(t, one),
				"Write":        second(one.Write([]byte("x"))),
				"CloseWrite":   one.CloseWrite(),
				"SetDeadline":  one.SetDeadline(time.Time{}),
				"SendDatagram": one.SendDatagram([]byte("x")),
				"Receive":      second(one.ReceiveDatagram(timely(t))),
			} {
				if !errors.Is(err, net.ErrClosed) {
					t.Errorf("%s after Close: %v, want net.ErrClosed", what, err)
				}
			}
			if err := one.Close(); err != nil {
				t.Error("Close again:", err)
			}
			<-other.quic.Context().Done()
			for what, err := range map[string]error{
				"Read":         readError(t, other),
				"Write":        second(other.Write([]byte("x"))),
				"SendDatagram": other.SendDatagram([]byte("x")),
				"Receive":      second(other.ReceiveDatagram(timely(t))),
			} {
				if err != io.EOF {
					t.Errorf("%s after the other side's Close: %v, want EOF", what, err)
				}
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestCloseEndsABlockedWrite(t *testing.T) {
	client, _ := pair(t)
	writing := make(chan error, 1)
	go func() { writing <- second(client.Write(make([]byte, 8*window))) }()
	// The write is under way when the window is full: the server reads nothing.
	waitFor(t, func() bool { return client.ConnectionStats().BytesSent > window/4 })
	client.Close()
	if err := <-writing; err != net.ErrClosed {
		t.Errorf("got %v, want net.ErrClosed", err)
	}
}

// waitFor waits for a condition that nothing announces.
func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	ctx := timely(t)
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("waited in vain")
		}
	}
}

func TestDeadlines(t *testing.T) {
	client, server := pair(t)
	if err := client.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if err := readError(t, client); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read: %v", err)
	}
	if err := client.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	n, err := client.Write(make([]byte, 8*window)) // the server reads nothing
	if n == 8*window || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write: %d, %v", n, err)
	}
	if err := client.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	say(t, server, "on we go")
	hear(t, client, "on we go")
}

func TestAbortedStream(t *testing.T) {
	client, server := pair(t)
	client.stream.Load().CancelWrite(7)
	err := readError(t, server)
	if e, ok := errors.AsType[*quicgo.StreamError](err); !ok || e.ErrorCode != 7 || errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want a stream error", err)
	}
}

func TestVanishedPeer(t *testing.T) {
	config := &quicgo.Config{MaxIdleTimeout: 200 * time.Millisecond, KeepAlivePeriod: 50 * time.Millisecond}
	ours, theirs := serverTransport(), clientTransport()
	ours.QUIC, theirs.QUIC = config, config
	l := listen(t, ours)
	network := newRelay(t, l.Addr())
	client := dial(t, theirs, network.address)
	server := serve(t, l)
	say(t, client, "still there")
	hear(t, server, "still there")
	network.every.Store(1)
	for side, c := range map[string]*connection{"client": client, "server": server} {
		err := readError(t, c)
		if _, ok := errors.AsType[*quicgo.IdleTimeoutError](err); !ok || errors.Is(err, net.ErrClosed) ||
			errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v, want an idle timeout", side, err)
		}
	}
}

// Both sides end at the same time, with much still on its way through a network
// that loses packets: everything arrives all the same.
func TestCloseKeepsWhatWasEnded(t *testing.T) {
	const size = 200_000
	l := listen(t, serverTransport())
	network := newRelay(t, l.Addr())
	client := dial(t, clientTransport(), network.address)
	server := serve(t, l)
	network.every.Store(7)
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	var both sync.WaitGroup
	for side, c := range map[string]*connection{"client": client, "server": server} {
		both.Go(func() {
			var writing sync.WaitGroup
			writing.Go(func() {
				if _, err := c.Write(content); err != nil {
					t.Errorf("%s writes: %v", side, err)
				}
				if err := c.CloseWrite(); err != nil {
					t.Errorf("%s ends: %v", side, err)
				}
			})
			got, err := io.ReadAll(c)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s read %d of %d bytes, %v", side, len(got), size, err)
			}
			writing.Wait()
			c.Close()
		})
	}
	both.Wait()
}
