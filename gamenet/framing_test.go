package gamenet

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"
)

// live runs the whole life of a session of a service that was not started, over
// a connection without a network.
func live(t testing.TB, server *ServerService, conn Conn) {
	t.Helper()
	if !server.takeSlot() {
		t.Fatal("no place")
	}
	session, ok := server.newSession(conn, nil)
	if !ok {
		t.Fatal("the service is closed")
	}
	session.run(t.Context())
}

// A tape is a Conn that gives out a stream in pieces and takes everything.
type tape struct {
	stream []byte
	piece  func(most int) int
}

func (c *tape) Read(b []byte) (int, error) {
	if len(c.stream) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), c.piece(len(b)))], c.stream)
	c.stream = c.stream[n:]
	return n, nil
}

func (c *tape) Write(b []byte) (int, error)      { return len(b), nil }
func (c *tape) Close() error                     { return nil }
func (c *tape) CloseWrite() error                { return nil }
func (c *tape) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *tape) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *tape) SetDeadline(time.Time) error      { return nil }
func (c *tape) SetReadDeadline(time.Time) error  { return nil }
func (c *tape) SetWriteDeadline(time.Time) error { return nil }

// write sends bytes without the library.
func write(t testing.TB, conn io.Writer, b []byte) {
	t.Helper()
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
}

// read expects so many bytes.
func read(t testing.TB, conn io.Reader, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if got, err := io.ReadFull(conn, b); err != nil {
		t.Fatalf("%d of %d bytes came: %v", got, n, err)
	}
	return b
}

func TestOneByteFragments(t *testing.T) {
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen)}})
	conn := dial(t, server)
	want := []string{"", "a", "bb", string(bytes.Repeat([]byte("c"), 700))}
	for _, text := range want {
		for _, b := range encode(t, Packet{1, []byte(text)}) {
			write(t, conn, []byte{b})
			runtime.Gosched()
		}
	}
	eventually(t, "all packets", func() bool { return seen.count() == len(want) })
	if got := seen.payloads(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	closeWrite(t, conn)
	wantCause(t, await(t, "the end", seen.onClose), ErrPeerClosed)
}

func closeWrite(t testing.TB, conn *net.TCPConn) {
	t.Helper()
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
}

// TestCoalescedPackets: many packets and a half in one write, then the other half.
func TestCoalescedPackets(t *testing.T) {
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen)}})
	conn := dial(t, server)
	var packets []Packet
	for i := range 5_000 {
		packets = append(packets, Packet{uint16(i), fmt.Append(nil, "packet ", i)})
	}
	all := encode(t, packets...)
	write(t, conn, all[:len(all)-5])
	eventually(t, "all but the last", func() bool { return seen.count() == len(packets)-1 })
	write(t, conn, all[len(all)-5:])
	eventually(t, "the last", func() bool { return seen.count() == len(packets) })
	if !samePackets(seen.copy(), packets) {
		t.Error("other packets came than were sent")
	}
}

// TestBadFrames: whoever sends what is no packet loses the connection, after what
// came before was delivered; another player notices nothing.
func TestBadFrames(t *testing.T) {
	const most = 100
	good := encode(t, Packet{1, []byte("good")})
	for name, bad := range map[string][]byte{
		"size 0":      {0, 0, 1, 0},
		"size 3":      {3, 0, 1, 0},
		"max+1":       {most + 1, 0, 1, 0},
		"largest":     {0xFF, 0xFF},
		"garbage":     []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"after good":  append(bytes.Clone(good), 2, 0),
		"a lot of it": bytes.Repeat([]byte{0xFF}, 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			seen := newDiary()
			server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), MaxPacket: most}})
			other := dial(t, server)
			await(t, "another session", seen.onOpen)
			conn := dial(t, server)
			await(t, "the session", seen.onOpen)
			_, _ = conn.Write(bad) // may fail when the server has seen enough
			wantCause(t, await(t, "the end", seen.onClose), ErrFrame)
			if want := bytes.Count(bad, []byte("good")); seen.count() != want {
				t.Errorf("%d packets, want %d", seen.count(), want)
			}
			before := seen.count()
			write(t, other, good)
			eventually(t, "the other's packet", func() bool { return seen.count() == before+1 })
			eventually(t, "the place to be free", func() bool { return server.Count() == 1 })
		})
	}
}

// TestFloodAfterCut: somebody who goes on sending as fast as it goes is thrown out
// all the same.
func TestFloodAfterCut(t *testing.T) {
	serverTLS, clientTLS := certificate(t)
	for name, transport := range map[string]Transport{"tcp": TCP, "tls": TLS(serverTLS)} {
		t.Run(name, func(t *testing.T) {
			seen := newDiary()
			server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), Transport: transport,
				CloseTimeout: 50 * time.Millisecond}})
			var conn net.Conn = dial(t, server)
			if name == "tls" {
				conn = tls.Client(conn, named(clientTLS))
			}
			flooded := make(chan struct{})
			go func() {
				defer close(flooded)
				for garbage := make([]byte, 256<<10); ; {
					if _, err := conn.Write(garbage); err != nil {
						return
					}
				}
			}()
			wantCause(t, await(t, "the end", seen.onClose), ErrFrame)
			await(t, "the flood to end", flooded)
			eventually(t, "the place to be free", func() bool { return server.Count() == 0 })
		})
	}
}

// TestReasonOfBadFrame: who is thrown out hears why.
func TestReasonOfBadFrame(t *testing.T) {
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(newDiary())}})
	conn := dial(t, server)
	write(t, conn, []byte{3, 0})
	want := encode(t, bye(reasonInvalidPacket))
	if got := read(t, conn, len(want)); !bytes.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection goes on")
	}
}

// TestLargestPacket: a packet of exactly the maximum passes in both directions,
// one byte more does not.
func TestLargestPacket(t *testing.T) {
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) {
			const most = 100
			seen := newDiary()
			server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), Codec: codec,
				MaxPacket: most, QueueBytes: most}})
			conn := dial(t, server)
			session := await(t, "the session", seen.onOpen)
			header := codec.Header()
			if codec == Varint {
				header = 1 // of such a short one
			}
			largest := Packet{Payload: bytes.Repeat([]byte("x"), most-header)}
			if err := session.Send(largest); err != nil {
				t.Errorf("send the largest: %v", err)
			}
			if err := session.Send(Packet{Payload: append(largest.Payload, 'x')}); !errors.Is(err, ErrPacketTooLarge) {
				t.Errorf("send one byte more: %v", err)
			}
			b := read(t, conn, most)
			write(t, conn, b)
			eventually(t, "the packet back",
				func() bool { return len(bytes.Join(payloadsOf(seen.copy()), nil)) == len(largest.Payload) })
			if session.Stats().BytesOut != most || session.Stats().BytesIn != most {
				t.Errorf("%+v", session.Stats())
			}
		})
	}
}

// copy is what was received so far.
func (d *diary) copy() []Packet {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.packets)
}

// TestRawEmptyPacket: nothing is nothing, however often it is sent.
func TestRawEmptyPacket(t *testing.T) {
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), Codec: Raw, QueuePackets: 10}})
	conn := dial(t, server)
	session := await(t, "the session", seen.onOpen)
	for i := range 100 {
		if err := session.Send(Packet{}); err != nil {
			t.Fatalf("empty packet %d: %v", i, err)
		}
		eventually(t, "an empty queue", func() bool { return session.Stats().QueuedPackets == 0 })
	}
	if err := session.Send(Packet{Payload: []byte("x")}); err != nil {
		t.Error(err)
	}
	read(t, conn, 1)
}

// TestTLSOnPlainPort: somebody who speaks TLS to a plain server gets nowhere, and
// nobody else notices.
func TestTLSOnPlainPort(t *testing.T) {
	seen := newDiary()
	handler := &script{connected: seen.OnConnected, packet: echo.packet, disconnected: seen.OnDisconnected}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(handler), MaxPacket: 512}})
	_, config := certificate(t)
	conn := tls.Client(dial(t, server), named(config))
	if err := conn.HandshakeContext(t.Context()); err == nil {
		t.Error("a handshake with a plain server")
	}
	conn.NetConn().Close()
	wantCause(t, await(t, "its end", seen.onClose), ErrFrame) // a record's header announces 790 bytes
	roundTrip(t, dial(t, server))
	eventually(t, "its place to be free", func() bool { return server.Count() == 1 })
}

// roundTrip sends a packet to an echo server and expects it back.
func roundTrip(t testing.TB, conn io.ReadWriter) {
	t.Helper()
	b := encode(t, Packet{1, []byte("there and back")})
	write(t, conn, b)
	if got := read(t, conn, len(b)); !bytes.Equal(got, b) {
		t.Errorf("got %q", got)
	}
}

// TestPlainOnTLSPort: bytes that are no handshake never become a session that
// the game sees.
func TestPlainOnTLSPort(t *testing.T) {
	config, clientConfig := certificate(t)
	seen, causes := newDiary(), &closings{}
	handler := &script{connected: seen.OnConnected, packet: echo.packet, disconnected: seen.OnDisconnected}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(handler), Transport: TLS(config),
		Metrics: causes}})
	for _, bad := range [][]byte{encode(t, Packet{1, []byte("plain")}), []byte("GET / " +
		"HTTP/1.1\r\n\r\n"), bytes.Repeat([]byte{0x16}, 5_000), {0x16}} {
		conn := dial(t, server)
		_, _ = conn.Write(bad) // may fail when the server has seen enough
		_ = conn.CloseWrite()
		_, _ = io.Copy(io.Discard, conn) // an alert, perhaps
		conn.Close()
	}
	eventually(t, "four refusals", func() bool { return len(causes.all()) == 4 })
	for _, cause := range causes.all() {
		wantCause(t, cause, ErrHandshake)
	}
	good := tls.Client(dial(t, server), named(clientConfig))
	roundTrip(t, good)
	if opened, closed := seen.lives(); opened != 1 || closed != 0 || server.Count() != 1 {
		t.Errorf("%d opened, %d closed, %d sessions", opened, closed, server.Count())
	}
}

// named is a client's configuration for a connection that does not know its
// server's address.
func named(config *tls.Config) *tls.Config {
	config = config.Clone()
	config.ServerName = "127.0.0.1"
	return config
}

// lives is how often OnConnected and OnDisconnected were called.
func (d *diary) lives() (opened, closed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opened, len(d.causes)
}

// closings are Metrics that keep the causes.
type closings struct {
	counts
	causes []error
}

func (c *closings) Closed(cause error) {
	c.counts.Closed(cause)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.causes = append(c.causes, cause)
}

func (c *closings) all() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.causes)
}

// TestDataThenFIN: what was sent before the end is delivered before the end, and
// answered: the other side has only stopped writing.
func TestDataThenFIN(t *testing.T) {
	seen := newDiary()
	both := &script{packet: func(s *Session, p Packet) {
		seen.OnPacket(s, p)
		_ = s.Send(p)
	}, disconnected: seen.OnDisconnected}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(both)}})
	for range 50 {
		conn := dial(t, server)
		before := seen.count()
		b := encode(t, Packet{1, []byte("one")}, Packet{2, []byte("two")}, Packet{3, bytes.Repeat([]byte("3"), 3_000)})
		write(t, conn, append(b, b[:5]...)) // and a bit that never becomes a packet
		closeWrite(t, conn)
		if got := read(t, conn, len(b)); !bytes.Equal(got, b) {
			t.Fatalf("answered with %q", got)
		}
		wantCause(t, await(t, "the end", seen.onClose), ErrPeerClosed)
		if got := seen.count() - before; got != 3 {
			t.Fatalf("%d packets before the end", got)
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Fatal("more bytes came")
		}
	}
	eventually(t, "all places to be free", func() bool { return server.Count() == 0 })
}

// TestDataThenRST: a connection that is torn down at once is one disconnect,
// noticed soon whatever the timeouts are, and an answer into the void is no fault.
func TestDataThenRST(t *testing.T) {
	for name, packet := range map[string]func(*Session, Packet){
		"answers": echo.packet, "listens": func(*Session, Packet) {},
	} {
		for _, idle := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprint(name, "/", idle), func(t *testing.T) {
				seen := newDiary()
				both := &script{connected: seen.OnConnected, packet: packet, disconnected: seen.OnDisconnected}
				server := startServer(t, ServerConfig{Config: Config{NewHandler: always(both), IdleTimeout: idle}})
				const times = 50
				b := encode(t, Packet{1, make([]byte, 1_000)})
				for range times {
					conn := dial(t, server)
					for range 20 {
						write(t, conn, b)
					}
					reset(t, conn)
				}
				for range times {
					await(t, "OnConnected", seen.onOpen)
					cause := await(t, "the end", seen.onClose)
					if name == "answers" && errors.Is(cause, ErrPeerClosed) {
						continue // the write of an answer got the system's only report of the reset; the read, the end
					}
					wantCause(t, cause, ErrLost)
				}
				eventually(t, "all places to be free", func() bool { return server.Count() == 0 })
			})
		}
	}
}

// reset tears a connection down with an RST.
func reset(t testing.TB, conn *net.TCPConn) {
	t.Helper()
	if err := errors.Join(conn.SetLinger(0), conn.Close()); err != nil {
		t.Error(err)
	}
}

// TestLargePacketGrowsGeometrically: the cost of a large packet is its size, not
// its square.
func TestLargePacketGrowsGeometrically(t *testing.T) {
	const size = 8 << 20
	seen := make(chan int, 1)
	handler := &script{packet: func(_ *Session, p Packet) { seen <- len(p.Payload) }}
	server, err := NewServer(ServerConfig{Config: Config{NewHandler: always(handler), Codec: U32, MaxPacket: 2 * size,
		QueueBytes: 2 * size}})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := U32.Append(nil, Packet{Payload: make([]byte, size)}, 2*size)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	live(t, server, &tape{stream: stream, piece: func(most int) int { return most }})
	runtime.ReadMemStats(&after)
	if got := await(t, "the packet", seen); got != size {
		t.Errorf("a packet of %d bytes", got)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 10*size {
		t.Errorf("%d MiB were allocated for a packet of %d MiB", got>>20, size>>20)
	}
	closeWithin(t, server)
}

// TestMemoryFollowsBytes: a header that announces much costs nothing before the
// bytes come, and half a packet holds a small buffer.
func TestMemoryFollowsBytes(t *testing.T) {
	var in inbox
	defer in.free()
	n := copy(in.space(readSize), []byte{0xFF, 0xFF, 1, 0})
	in.end += n
	in.settle()
	if got := cap(in.frame.bytes); got > restSize {
		t.Errorf("four bytes hold %d", got)
	}
	if !bytes.Equal(in.rest(), []byte{0xFF, 0xFF, 1, 0}) {
		t.Errorf("the rest is % x", in.rest())
	}
	in.start = in.end
	in.settle()
	if in.frame != nil {
		t.Error("nothing holds a buffer")
	}
}
