package gamenet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

// pass moves a clock in small steps, as real time does, until a condition holds,
// and tells how long that took on the clock.
func pass(t testing.TB, clock *clockwork.FakeClock, step time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	began := clock.Now()
	eventually(t, what, func() bool {
		if holds() {
			return true
		}
		clock.Advance(step)
		return false
	})
	return clock.Since(began)
}

// answering reads packets until the connection ends, and answers pings if it
// shall. The channel gives what came.
func answering(t *testing.T, conn net.Conn, pings bool) <-chan []Packet {
	t.Helper()
	done := make(chan []Packet, 1)
	go func() {
		defer conn.Close()
		var all []Packet
		header := make([]byte, u16Header)
		for {
			if _, err := io.ReadFull(conn, header); err != nil {
				break
			}
			p := Packet{binary.LittleEndian.Uint16(header[2:]),
				make([]byte, binary.LittleEndian.Uint16(header)-u16Header)}
			if _, err := io.ReadFull(conn, p.Payload); err != nil {
				break
			}
			all = append(all, p)
			if p.ID == idPing && pings {
				_, _ = conn.Write(encode(t, Packet{idPong, p.Payload})) // reading notices
			}
		}
		done <- all
	}()
	return done
}

// TestIdleTimeout: who sends nothing for the idle timeout is out, not before, and
// hears why; who sends something stays.
func TestIdleTimeout(t *testing.T) {
	clock := clockwork.NewFakeClock()
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), IdleTimeout: time.Minute,
		PingInterval: -1, clock: clock}})
	if err := clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	silent := answering(t, dial(t, server), false)
	await(t, "a session", seen.onOpen)
	talks := dial(t, server)
	await(t, "another", seen.onOpen)
	beat := encode(t, Packet{1, []byte("beat")})
	packets := 0
	said := func() { // the one who talks has been heard
		write(t, talks, beat)
		packets++
		eventually(t, "the beat", func() bool { return seen.count() == packets })
	}
	took := pass(t, clock, 15*time.Second, "an end", func() bool { said(); return len(seen.onClose) > 0 })
	if took < time.Minute {
		t.Errorf("out after %v", took)
	}
	wantCause(t, await(t, "the end", seen.onClose), ErrIdle)
	if got := await(t, "the silent one's packets", silent); len(got) != 1 || got[0].ID != idBye {
		t.Errorf("it heard %v", got)
	}
	eventually(t, "one to be left", func() bool { return server.Count() == 1 })
	said()
}

// TestVanishedPeer: a peer that is gone without a word is noticed by its not
// answering pings; one that does nothing but answer them stays.
func TestVanishedPeer(t *testing.T) {
	clock := clockwork.NewFakeClock() // stands still: the test looks instead of the watch
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), PingInterval: 10 * time.Second,
		IdleTimeout: 30 * time.Second, clock: clock}})
	vanished := answering(t, dial(t, server), false)
	gone := await(t, "a session", seen.onOpen)
	awaitTurn(gone)
	lives := answering(t, dial(t, server), true)
	here := await(t, "another", seen.onOpen)
	for at := time.Duration(0); at <= 5*time.Minute; at += 2500 * time.Millisecond {
		open := len(seen.onClose) == 0
		pinged, answered := here.watched.pinged.Load(), here.Stats().PacketsIn+1
		gone.look(clock.Now().Add(at))
		here.look(clock.Now().Add(at))
		if here.watched.pinged.Load() != pinged {
			eventually(t, "the answer", func() bool { return here.Stats().PacketsIn == answered })
		}
		if at == 30*time.Second {
			eventually(t, "the vanished one to be out", func() bool { return len(seen.onClose) > 0 })
		} else if at < 30*time.Second && !open {
			t.Fatalf("somebody is out after %v", at)
		}
	}
	wantCause(t, await(t, "the end", seen.onClose), ErrIdle)
	if _, ok := server.Session(here.ID()); !ok || here.RTT() == 0 {
		t.Errorf("the one that answers is gone, or not measured: %v", here.RTT())
	}
	pings := 0
	for _, p := range await(t, "what the vanished one was sent", vanished) {
		if p.ID == idPing {
			pings++
		}
	}
	if pings != 2 { // after 10 and 20 seconds
		t.Errorf("the vanished one was asked %d times", pings)
	}
	if seen.count() != 0 {
		t.Errorf("the game saw %d packets of the library", seen.count())
	}
	here.Disconnect(Reason{})
	await(t, "what the other one was sent", lives)
}

// TestLostPeerByDefault: a client or server with the defaults pings a peer that is silent, and ends the session when
// the peer does not answer, as after a cut cable.
func TestLostPeerByDefault(t *testing.T) {
	for _, c := range []struct {
		codec Codec
		lost  bool
	}{{nil, true}, {foreign{U16}, true}, {U32, false}} {
		for _, side := range []string{"server", "client"} {
			t.Run(fmt.Sprintf("%s/%T", side, c.codec), func(t *testing.T) {
				clock := clockwork.NewFakeClock()
				seen := newDiary()
				cfg := Config{NewHandler: always(seen), Codec: c.codec, clock: clock}
				peer := lostPeer(t, side, cfg)
				s := await(t, "the session", seen.onOpen)
				awaitTurn(s)
				start := clock.Now() // the clock never advances: the test calls look
				for at := time.Duration(0); at < 30*time.Second; at += 5 * time.Second {
					s.look(start.Add(at))
				}
				if len(seen.onClose) != 0 {
					t.Error("the session ended within 30 s")
				}
				s.look(start.Add(time.Hour))
				if !c.lost {
					if s.over.Load() {
						t.Error("a session without pings ended")
					}
					return
				}
				wantCause(t, await(t, "the end", seen.onClose), ErrIdle)
				packets := await(t, "the packets of the peer", answering(t, peer, false))
				if len(packets) != 6 || packets[0].ID != idPing || packets[5].ID != idBye {
					t.Errorf("the peer received %v, want five pings and the reason", packets)
				}
			})
		}
	}
}

// awaitTurn waits until no callback of a session runs.
func awaitTurn(s *Session) {
	s.turn.Lock()
	s.turn.Unlock() //nolint:staticcheck // an empty critical section: only the wait matters
}

// A foreign codec has ids and is not of this package.
type foreign struct{ Codec }

// lostPeer starts a server or a client and returns the other end of its connection.
func lostPeer(t *testing.T, side string, cfg Config) net.Conn {
	if side == "server" {
		return dial(t, startServer(t, ServerConfig{Config: cfg}))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cfg.Address = listener.Addr().String()
	client, err := NewClient(ClientConfig{Config: cfg})
	if err == nil {
		err = client.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWithin(t, client) })
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestWatchDefaults checks the defaults of PingInterval and IdleTimeout.
func TestWatchDefaults(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		codec                          Codec
		ping, idle, wantPing, wantIdle time.Duration
	}{
		{U16, 0, 0, 5 * s, 30 * s},
		{U16, -1, 0, 0, 0},
		{U16, 0, -1, 5 * s, 0},
		{U16, -1, -1, 0, 0},
		{U16, -1, 8 * s, 0, 8 * s},
		{U16, 0, 60 * s, 5 * s, 60 * s},
		{U16, 0, 12 * s, 4 * s, 12 * s},
		{U16, 1 * s, 0, 1 * s, 30 * s},
		{U16, 29 * s, 0, 29 * s, 30 * s},
		{U16, 30 * s, 0, 30 * s, 90 * s},
		{U16, 2 * s, 7 * s, 2 * s, 7 * s},
		{U32, 0, 0, 0, 0},
		{U32, -1, -1, 0, 0},
		{Raw, 0, 8 * s, 0, 8 * s},
	} {
		cfg := Config{Codec: c.codec, PingInterval: c.ping, IdleTimeout: c.idle}
		cfg.fill()
		if cfg.PingInterval != c.wantPing || cfg.IdleTimeout != c.wantIdle {
			t.Errorf("%T, ping %v, idle %v: got %v, %v; want %v, %v", c.codec, c.ping, c.idle, cfg.PingInterval,
				cfg.IdleTimeout, c.wantPing, c.wantIdle)
		}
	}
}

// TestIdleTimeoutOfBusyHandler: a callback that takes longer than IdleTimeout does not end its session, neither while
// it runs nor after it.
func TestIdleTimeoutOfBusyHandler(t *testing.T) {
	clock := clockwork.NewFakeClock() // never advances: the test calls look
	entered, release := make(chan *Session), make(chan struct{})
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{clock: clock, NewHandler: always(&script{
		connected:    func(s *Session) { entered <- s; <-release },
		packet:       seen.OnPacket,
		disconnected: seen.OnDisconnected,
	})}})
	conn := dial(t, server)
	s := await(t, "the callback", entered)
	start := clock.Now()
	for at := time.Duration(0); at <= 65*time.Second; at += 5 * time.Second {
		s.look(start.Add(at))
	}
	close(release)
	write(t, conn, encode(t, Packet{ID: 1}))
	eventually(t, "the packet", func() bool { return seen.count() == 1 })
	awaitTurn(s)
	s.look(start.Add(70 * time.Second))
	if s.over.Load() {
		t.Error("the session ended")
	}
	s.look(start.Add(100 * time.Second))
	wantCause(t, await(t, "the end", seen.onClose), ErrIdle)
}

// TestRTT measures a ping on the clock, and only the answer to the last one.
func TestRTT(t *testing.T) {
	clock := clockwork.NewFakeClock()
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), PingInterval: time.Hour,
		clock: clock}})
	conn := dial(t, server)
	s := await(t, "the session", seen.onOpen)
	s.ping(clock.Now())
	clock.Advance(time.Millisecond)
	s.ping(clock.Now())
	first, last := read(t, conn, 12), read(t, conn, 12)
	if id := binary.LittleEndian.Uint16(last[2:]); id != idPing {
		t.Fatalf("packet %x", id)
	}
	clock.Advance(30 * time.Millisecond)
	write(t, conn, encode(t, Packet{idPong, first[4:]}, Packet{idPong, nil}, Packet{idPong, make([]byte, 9)},
		Packet{1, []byte("marker")}))
	eventually(t, "the marker", func() bool { return seen.count() == 1 })
	if s.RTT() != 0 {
		t.Errorf("%v by what is no answer to the last ping", s.RTT())
	}
	write(t, conn, encode(t, Packet{idPong, last[4:]}))
	eventually(t, "the time", func() bool { return s.RTT() != 0 })
	if s.RTT() != 30*time.Millisecond {
		t.Errorf("%v, want 30ms", s.RTT())
	}
	// The other way round: the library answers a ping with what it carries.
	write(t, conn, encode(t, Packet{idPing, []byte("anything")}))
	if got, want := read(t, conn, 12), encode(t, Packet{idPong, []byte("anything")}); !bytes.Equal(got, want) {
		t.Errorf("answered with %q", got)
	}
	if seen.count() != 1 {
		t.Error("the game saw a ping")
	}
}

// TestFirstPacketTimeout: who connects and says nothing is out; who has said
// something may be silent from then on.
func TestFirstPacketTimeout(t *testing.T) {
	clock := clockwork.NewFakeClock()
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), FirstPacketTimeout: 8 * time.Second,
		PingInterval: -1, clock: clock}})
	if err := clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	said := dial(t, server)
	await(t, "a session", seen.onOpen)
	write(t, said, encode(t, Packet{1, []byte("hello")}))
	eventually(t, "its packet", func() bool { return seen.count() == 1 })
	half := dial(t, server)
	await(t, "another", seen.onOpen)
	write(t, half, []byte{9, 0, 1}) // not a packet yet
	heard := answering(t, half, false)
	took := pass(t, clock, time.Second, "its end", func() bool { return len(seen.onClose) > 0 })
	if took < 8*time.Second {
		t.Errorf("out after %v", took)
	}
	wantCause(t, await(t, "the end", seen.onClose), ErrFirstPacket)
	if got := await(t, "what it heard", heard); len(got) != 1 ||
		readReason(got[0].Payload) != reasonFirstPacket {
		t.Errorf("it heard %v", got)
	}
	clock.Advance(time.Minute)
	write(t, said, encode(t, Packet{1, []byte("still here")}))
	eventually(t, "its packet", func() bool { return seen.count() == 2 })
}

// TestFirstPacketIsTheGames: answering pings, which clients do by themselves, is
// not the first packet.
func TestFirstPacketIsTheGames(t *testing.T) {
	clock := clockwork.NewFakeClock()
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), FirstPacketTimeout: 8 * time.Second,
		PingInterval: 2 * time.Second, clock: clock}})
	if err := clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	conn := dial(t, server)
	s := await(t, "the session", seen.onOpen)
	write(t, conn, encode(t, Packet{idPong, make([]byte, 8)}, Packet{idPing, make([]byte, 8)}))
	eventually(t, "them to arrive", func() bool { return s.Stats().PacketsIn == 2 })
	for range 20 {
		clock.Advance(time.Second)
	}
	pass(t, clock, time.Second, "its end", func() bool { return len(seen.onClose) > 0 })
	wantCause(t, await(t, "the end", seen.onClose), ErrFirstPacket)
}

// TestHandshakeTimeout: a client that never says hello over TLS costs a place for
// so long, and no more.
func TestHandshakeTimeout(t *testing.T) {
	config, _ := certificate(t)
	causes, seen := new(closings), newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), Transport: TLS(config),
		HandshakeTimeout: 50 * time.Millisecond, Metrics: causes}})
	for _, hello := range [][]byte{nil, {0x16, 3, 1}} {
		conn := dial(t, server)
		before := len(causes.all())
		write(t, conn, hello)
		_, _ = io.Copy(io.Discard, conn)
		eventually(t, "its end", func() bool { return len(causes.all()) == before+1 && server.Count() == 0 })
		wantCause(t, causes.all()[before], ErrHandshake)
	}
	if opened, closed := seen.lives(); opened != 0 || closed != 0 {
		t.Errorf("the game saw %d come and %d go", opened, closed)
	}
}

// TestCloseEndsHandshakes: closing does not wait for clients that never say hello.
func TestCloseEndsHandshakes(t *testing.T) {
	config, _ := certificate(t)
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(echo), Transport: TLS(config),
		HandshakeTimeout: time.Hour, CloseTimeout: time.Hour}})
	dial(t, server)
	eventually(t, "a session", func() bool { return server.Count() == 1 })
	closeWithin(t, server)
	if server.Count() != 0 {
		t.Errorf("%d sessions", server.Count())
	}
}

// TestCloseTimeout: a peer that does not close after a Disconnect is cut off by
// the clock, with the cause that Disconnect gave.
func TestCloseTimeout(t *testing.T) {
	clock := clockwork.NewFakeClock()
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), CloseTimeout: 7 * time.Second,
		clock: clock}})
	conn := dial(t, server)
	s := await(t, "the session", seen.onOpen)
	s.Disconnect(Reason{})
	readAll(t, conn) // it has stopped writing, and waits
	write(t, conn, encode(t, Packet{1, []byte("late")}))
	clock.Advance(6 * time.Second)
	if _, closed := seen.lives(); closed != 0 {
		t.Error("it was cut too early")
	}
	pass(t, clock, time.Second, "the end", func() bool { return len(seen.onClose) > 0 })
	wantCause(t, await(t, "the end", seen.onClose), ErrDisconnected)
	if seen.count() != 0 {
		t.Error("a packet was delivered after Disconnect")
	}
	eventually(t, "the place to be free", func() bool { return server.Count() == 0 })
}

// TestFlushDelay: packets that follow one another within the delay go out
// together when it is over, and everything arrives.
func TestFlushDelay(t *testing.T) {
	const delay, packets = 5 * time.Millisecond, 40
	clock := clockwork.NewFakeClock()
	written, seen := new(writes), newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), FlushDelay: delay, clock: clock,
		Metrics: written}})
	clock.Advance(time.Second)
	conn := dial(t, server)
	s := await(t, "the session", seen.onOpen)
	send := func(from, to int) {
		for i := from; i < to; i++ {
			if err := s.Send(number(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(0, 1) // after a long silence it does not wait
	if got := numbers(t, read(t, conn, 8)); got[0] != 0 {
		t.Errorf("%v came", got)
	}
	send(1, packets)
	if got := s.Stats(); got.QueuedPackets != packets-1 {
		t.Errorf("%d packets wait", got.QueuedPackets)
	}
	clock.Advance(delay)
	if got := numbers(t, read(t, conn, 8*(packets-1))); got[0] != 1 || len(got) != packets-1 {
		t.Errorf("%v came", got)
	}
	eventually(t, "an empty queue", func() bool { return s.Stats().QueuedPackets == 0 })
	eventually(t, "two writes", func() bool { return written.number.Load() == 2 })

	send(packets, packets+10)
	if err := s.Flush(); err != nil { // what waits goes now
		t.Error(err)
	}
	read(t, conn, 80)
	eventually(t, "an empty queue", func() bool { return s.Stats().QueuedPackets == 0 })
	eventually(t, "one more", func() bool { return written.number.Load() == 3 })
	if err := s.Flush(); err != nil { // nothing waits
		t.Error(err)
	}

	send(0, 5)
	s.Disconnect(Reason{}) // what waits goes before the end
	if got := numbers(t, readAll(t, conn)); len(got) != 5 {
		t.Errorf("%v came before the end", got)
	}
	conn.Close()
	await(t, "the end", seen.onClose)
}

// TestFlushDelayIsCutShort: much data does not wait for the delay.
func TestFlushDelayIsCutShort(t *testing.T) {
	clock := clockwork.NewFakeClock()
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), FlushDelay: time.Hour,
		clock: clock}})
	conn := dial(t, server)
	s := await(t, "the session", seen.onOpen)
	for range 4 {
		if err := s.Send(Packet{1, make([]byte, 10_000)}); err != nil {
			t.Fatal(err)
		}
	}
	read(t, conn, 40_000)
}

// TestFlushDelayForMany: one delay serves all sessions, in real time, and nothing
// is left behind.
func TestFlushDelayForMany(t *testing.T) {
	const players, ticks = 20, 50
	written, seen, there := new(writes), newDiary(), newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), FlushDelay: 2 * time.Millisecond,
		Metrics: written}})
	startClient(t, server, ClientConfig{Config: Config{NewHandler: always(there)}, Sessions: players})
	for range players {
		await(t, "a session", seen.onOpen)
	}
	for i := range ticks {
		if err := server.Broadcast(number(i)); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "all of it", func() bool { return there.count() == players*ticks })
	if n := written.number.Load(); n > players*ticks/2 {
		t.Errorf("%d packets took %d writes", players*ticks, n)
	}
}

// TestStoppedReading: OnPacket that takes its time makes the sender wait, and
// costs no memory here.
func TestStoppedReading(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{}, 1)
	h := &script{packet: func(*Session, Packet) {
		select {
		case entered <- struct{}{}:
			<-release
		default:
		}
	}}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(h)}})
	conn := dial(t, server)
	write(t, conn, encode(t, Packet{ID: 1}))
	await(t, "the callback", entered)
	entered <- struct{}{}
	if err := conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	b := encode(t, Packet{1, make([]byte, 60_000)})
	sent := len(encode(t, Packet{ID: 1}))
	for {
		n, err := conn.Write(b)
		sent += n
		if errors.Is(err, net.ErrClosed) || sent > 256<<20 {
			t.Fatalf("%d bytes were taken, %v", sent, err)
		}
		if err != nil {
			break // the system's buffers are full
		}
	}
	close(release)
	closeWrite(t, conn)
	eventually(t, "the end", func() bool { return server.Count() == 0 })
}

// TestSessionsByID: ids ascend and are never used again, and a session is found
// by its own as long as it lives.
func TestSessionsByID(t *testing.T) {
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen)}})
	var ids []uint64
	for i := range 5 {
		conn := dial(t, server)
		s := await(t, "a session", seen.onOpen)
		ids = append(ids, s.ID())
		if found, ok := server.Session(s.ID()); !ok || found != s {
			t.Errorf("session %d is not found", s.ID())
		}
		if s.RemoteAddr().String() != conn.LocalAddr().String() ||
			s.Conn().LocalAddr().String() != conn.RemoteAddr().String() || s.Handler() != seen {
			t.Error("a session does not know whose it is")
		}
		if i%2 == 0 {
			conn.Close()
			await(t, "its end", seen.onClose)
		}
	}
	if !slices.Equal(ids, []uint64{1, 2, 3, 4, 5}) {
		t.Errorf("ids %v", ids)
	}
	eventually(t, "two to be left", func() bool { return server.Count() == 2 })
	var left []uint64
	for s := range server.Sessions() {
		left = append(left, s.ID())
	}
	slices.Sort(left)
	if !slices.Equal(left, []uint64{2, 4}) {
		t.Errorf("left are %v", left)
	}
	if _, ok := server.Session(1); ok {
		t.Error("session 1 is still found")
	}
}
