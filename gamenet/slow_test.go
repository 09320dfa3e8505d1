package gamenet

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A gate is a Conn over no network: it gives nothing to read, and each write
// waits until the test takes it.
type gate struct {
	tape
	writes chan []byte
	closed chan struct{}
	once   sync.Once
}

func newGate() *gate { return &gate{writes: make(chan []byte), closed: make(chan struct{})} }

func (c *gate) Read([]byte) (int, error) { <-c.closed; return 0, io.EOF }
func (c *gate) Close() error             { c.once.Do(func() { close(c.closed) }); return nil }
func (c *gate) CloseWrite() error        { return nil }

func (c *gate) Write(b []byte) (int, error) {
	select {
	case c.writes <- bytes.Clone(b):
		return len(b), nil
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

// gated makes a session over a gate, until the test ends.
func gated(t *testing.T, cfg Config) (*Session, *gate) {
	t.Helper()
	seen := newDiary()
	cfg.NewHandler = always(seen)
	server, err := NewServer(ServerConfig{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	conn, done := newGate(), make(chan struct{})
	go func() { defer close(done); live(t, server, conn) }()
	s := await(t, "OnConnected", seen.onOpen)
	t.Cleanup(func() {
		conn.Close()
		<-done
		closeWithin(t, server)
	})
	return s, conn
}

// number is a packet that tells its place in a row.
func number(i int) Packet {
	return Packet{ID: 1, Payload: binary.LittleEndian.AppendUint32(nil, uint32(i))}
}

// numbers are the packets of a stream of them.
func numbers(t testing.TB, stream []byte) (all []int) {
	t.Helper()
	for len(stream) > 0 {
		p, size, err := U16.Decode(stream, 1<<16)
		if err != nil || size == 0 || size > len(stream) {
			t.Fatalf("a broken stream: size %d of %d, %v", size, len(stream), err)
		}
		stream = stream[size:]
		if p.ID != idBye {
			all = append(all, int(binary.LittleEndian.Uint32(p.Payload)))
		}
	}
	return all
}

// stuck sends numbers until the first one is being written, and gives how many
// were sent.
func stuck(t *testing.T, s *Session, conn *gate) {
	t.Helper()
	if err := s.Send(number(0)); err != nil {
		t.Fatal(err)
	}
	// The write has begun when nothing but it is left to take.
	eventually(t, "a write", func() bool {
		s.out.mu.Lock()
		defer s.out.mu.Unlock()
		return s.out.writing && len(s.out.frames) == 0
	})
}

func TestPolicies(t *testing.T) {
	const place = 4 // in the queue
	for _, c := range []struct {
		policy FullPolicy
		fails  error // what the packets that find no place hear
		want   []int // what arrives of 0 to 9
	}{
		{FullDropNewest, ErrDropped, []int{0, 1, 2, 3}},
		{FullDropOldest, nil, []int{0, 7, 8, 9}}, // 0 is being written
	} {
		t.Run(fmt.Sprint(c.policy), func(t *testing.T) {
			m := new(counts)
			s, conn := gated(t, Config{WhenFull: c.policy, QueuePackets: place, Metrics: m})
			stuck(t, s, conn)
			for i := 1; i < 10; i++ {
				err := s.Send(number(i))
				if want := c.fails; i < place && err != nil || i >= place && !errors.Is(err, want) {
					t.Errorf("packet %d: %v", i, err)
				}
			}
			if got := s.Stats(); got.Dropped != 6 || got.QueuedPackets != place || m.get("dropped") != 6 {
				t.Errorf("%+v, %d dropped", got, m.get("dropped"))
			}
			var stream []byte
			for len(stream) < place*8 {
				stream = append(stream, await(t, "a write", conn.writes)...)
			}
			if got := numbers(t, stream); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%v arrived, want %v", got, c.want)
			}
			eventually(t, "an empty queue", func() bool { return s.Stats().QueuedBytes == 0 })
		})
	}
}

func TestPolicyDisconnect(t *testing.T) {
	s, conn := gated(t, Config{QueuePackets: 4})
	stuck(t, s, conn)
	for i := 1; i < 4; i++ {
		if err := s.Send(number(i)); err != nil {
			t.Errorf("packet %d: %v", i, err)
		}
	}
	if err := s.Send(number(4)); !errors.Is(err, ErrSlowConsumer) {
		t.Errorf("one too many: %v", err)
	}
	wantCause(t, await(t, "the end", s.handler.(*diary).onClose), ErrSlowConsumer)
	if err := s.Send(number(5)); !errors.Is(err, ErrClosed) {
		t.Errorf("after it: %v", err)
	}
}

func TestPolicyBlock(t *testing.T) {
	s, conn := gated(t, Config{WhenFull: FullBlock, QueuePackets: 4})
	stuck(t, s, conn)
	const senders, each = 8, 50
	var sending sync.WaitGroup
	for n := range senders {
		sending.Go(func() {
			for i := range each {
				if err := s.Send(number(1 + n*each + i)); err != nil {
					t.Errorf("send: %v", err)
				}
			}
		})
	}
	eventually(t, "a full queue", func() bool { return s.Stats().QueuedPackets == 4 })
	var stream []byte
	for len(stream) < 8*(1+senders*each) {
		if got := s.Stats().QueuedPackets; got > 4 {
			t.Errorf("%d packets are queued", got)
		}
		stream = append(stream, await(t, "a write", conn.writes)...)
	}
	sending.Wait()
	next := make(map[int]int) // of each sender
	for _, n := range numbers(t, stream)[1:] {
		from, i := (n-1)/each, (n-1)%each
		if i != next[from] {
			t.Fatalf("sender %d: packet %d came, not %d", from, i, next[from])
		}
		next[from]++
	}
}

// TestSendContext waits whatever the policy, as long as its context says.
func TestSendContext(t *testing.T) {
	for policy := FullDisconnect; policy <= FullBlock; policy++ {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			s, conn := gated(t, Config{WhenFull: policy, QueuePackets: 1})
			stuck(t, s, conn)
			ctx, cancel := context.WithCancel(t.Context())
			results := make(chan error, 1)
			go func() { results <- s.SendContext(ctx, number(1)) }()
			waits := func() bool { s.out.mu.Lock(); defer s.out.mu.Unlock(); return s.out.space != nil }
			eventually(t, "it to wait", waits)
			cancel()
			if err := await(t, "it to give up", results); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
			go func() { results <- s.SendContext(t.Context(), number(2)) }()
			if got := numbers(t, await(t, "a write", conn.writes)); got[0] != 0 {
				t.Errorf("%v arrived", got)
			}
			if got := numbers(t, await(t, "the next", conn.writes)); got[0] != 2 {
				t.Errorf("%v arrived, want 2 alone", got)
			}
			if err := await(t, "it to be sent", results); err != nil {
				t.Errorf("sent: %v", err)
			}
			eventually(t, "an empty queue", func() bool { return s.Stats().QueuedBytes == 0 })
			stuck(t, s, conn)
			go func() { results <- s.SendContext(t.Context(), number(3)) }()
			eventually(t, "it to wait", waits)
			s.cut(ErrLost)
			if err := await(t, "it to give up", results); !errors.Is(err, ErrClosed) {
				t.Errorf("closed: %v", err)
			}
		})
	}
}

// TestDropOldestOnlyIfEnough: packets are not dropped for one that finds no place
// even so.
func TestDropOldestOnlyIfEnough(t *testing.T) {
	s, conn := gated(t, Config{WhenFull: FullDropOldest, MaxPacket: 1000, QueueBytes: 1000})
	if err := s.Send(Packet{ID: 1, Payload: make([]byte, 700)}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a write", func() bool {
		s.out.mu.Lock()
		defer s.out.mu.Unlock()
		return s.out.writing && len(s.out.frames) == 0
	})
	for i := range 3 {
		if err := s.Send(number(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Send(Packet{ID: 1, Payload: make([]byte, 500)}); !errors.Is(err, ErrDropped) {
		t.Errorf("one that has no place: %v", err)
	}
	if got := s.Stats(); got.Dropped != 1 || got.QueuedPackets != 4 {
		t.Errorf("%+v, want one dropped and the others waiting", got)
	}
	await(t, "the first write", conn.writes)
	if got := numbers(t, await(t, "the rest", conn.writes)); fmt.Sprint(got) != "[0 1 2]" {
		t.Errorf("%v arrived", got)
	}
}

// TestDropOldestFrames: frames are dropped whole, and counted in packets.
func TestDropOldestFrames(t *testing.T) {
	s, conn := gated(t, Config{WhenFull: FullDropOldest, QueuePackets: 10})
	stuck(t, s, conn)
	frames := make([]*Frame, 4)
	for i := range frames {
		frames[i] = newFrame(U16, 1000, smallestFrame)
		for k := range 3 {
			if err := frames[i].Append(number(10*(i+1) + k)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.SendFrame(frames[i]); err != nil {
			t.Errorf("frame %d: %v", i, err)
		}
	}
	if got := s.Stats(); got.Dropped != 3 || got.QueuedPackets != 10 {
		t.Errorf("%+v", got)
	}
	if got := frames[0].refs.Load(); got != 1 {
		t.Errorf("the dropped frame has %d references", got)
	}
	if err := s.Send(number(99)); err != nil { // costs a whole frame
		t.Error(err)
	}
	if got := s.Stats(); got.Dropped != 6 || got.QueuedPackets != 8 {
		t.Errorf("%+v", got)
	}
	large := newFrame(U16, 1000, smallestFrame)
	for range 11 {
		if err := large.Append(number(0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SendFrame(large); !errors.Is(err, ErrPacketTooLarge) {
		t.Errorf("a frame that no queue holds: %v", err)
	}
	large.Release()
	stream := append(await(t, "a write", conn.writes), await(t, "the rest", conn.writes)...)
	if got := numbers(t, stream); fmt.Sprint(got) != "[0 30 31 32 40 41 42 99]" {
		t.Errorf("%v arrived", got)
	}
	eventually(t, "an empty queue", func() bool { return s.Stats().QueuedBytes == 0 })
	for _, f := range frames {
		if got := f.refs.Load(); got != 1 {
			t.Errorf("a frame has %d references", got)
		}
		f.Release()
	}
}

// TestInvalidPacketCostsNothing: a packet that could never be sent neither ends a
// session whose queue is full, nor drops others, nor waits.
func TestInvalidPacketCostsNothing(t *testing.T) {
	for policy := FullDisconnect; policy <= FullBlock; policy++ {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			s, conn := gated(t, Config{WhenFull: policy, MaxPacket: 100, QueuePackets: 2})
			stuck(t, s, conn)
			if err := s.Send(number(1)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // so that it does not wait
			for _, p := range []struct {
				Packet
				want error
			}{
				{Packet{ID: 1, Payload: make([]byte, 97)}, ErrPacketTooLarge},
				{Packet{ID: FirstReservedID}, ErrInvalidID},
			} {
				send := func() error { return s.Send(p.Packet) }
				if policy == FullBlock {
					send = func() error { return s.SendContext(ctx, p.Packet) }
				}
				if err := send(); !errors.Is(err, p.want) {
					t.Errorf("got %v, want %v", err, p.want)
				}
			}
			if got := s.Stats(); got.Dropped != 0 || got.QueuedPackets != 2 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A breaker is a Conn that gives one packet to read, and whose write takes one byte
// and fails when the test says so. It counts writes.
type breaker struct {
	*gate
	packet []byte
	fail   chan struct{}
	tried  atomic.Int32
}

func (c *breaker) Read(b []byte) (int, error) {
	if n := copy(b, c.packet); n > 0 {
		c.packet = nil
		return n, nil
	}
	return c.gate.Read(b)
}

func (c *breaker) Write([]byte) (int, error) {
	c.tried.Add(1)
	<-c.fail
	return 1, io.ErrUnexpectedEOF
}

// TestFailedWriteIsTheLast: a callback that is under way when a write fails, or a
// delay that ends then, writes nothing more, although something is queued.
func TestFailedWriteIsTheLast(t *testing.T) {
	seen := newDiary()
	entered, leave := make(chan *Session), make(chan struct{})
	h := &script{packet: func(s *Session, _ Packet) { entered <- s; <-leave }, disconnected: seen.OnDisconnected}
	server, err := NewServer(ServerConfig{Config: Config{NewHandler: always(h)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWithin(t, server) })
	conn := &breaker{gate: newGate(), packet: encode(t, Packet{ID: 1}), fail: make(chan struct{})}
	done := make(chan struct{})
	go func() { defer close(done); live(t, server, conn) }()
	s := await(t, "OnPacket", entered)
	if err := s.Send(Packet{ID: 1, Payload: make([]byte, 100)}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a write", func() bool { return conn.tried.Load() == 1 })
	if err := s.Send(number(1)); err != nil {
		t.Fatal(err)
	}
	close(conn.fail)
	eventually(t, "the write to have failed", func() bool { return s.out.whenStopped() == nil })
	s.flushDelayed()  // as the delay would
	s.flushGathered() // as the reader would after several packets
	s.finishWriting() // as it would at the end of the stream
	close(leave)
	wantCause(t, await(t, "the end", seen.onClose), ErrLost)
	<-done
	if got := conn.tried.Load(); got != 1 {
		t.Errorf("%d writes, want the failed one alone", got)
	}
}

// TestNeverReads: with a real connection whose other side reads nothing, the
// queue keeps to its bounds; when the other side reads at last, what arrives is
// what was sent but for what was reported as dropped.
func TestNeverReads(t *testing.T) {
	const queue = 64 << 10
	for _, policy := range []FullPolicy{FullDropNewest, FullDropOldest} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			seen := newDiary()
			server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), WhenFull: policy,
				MaxPacket: 5_000, QueueBytes: queue, WriteTimeout: time.Minute}})
			conn := dial(t, server)
			s := await(t, "the session", seen.onOpen)
			sent, refused := 0, 0
			payload := make([]byte, 4_000)
			for s.Stats().Dropped < 100 {
				binary.LittleEndian.PutUint32(payload, uint32(sent))
				sent++
				switch err := s.Send(Packet{ID: 1, Payload: payload}); {
				case errors.Is(err, ErrDropped):
					refused++
				case err != nil:
					t.Fatal(err)
				}
				if got := s.Stats(); got.QueuedBytes > queue {
					t.Fatalf("%d bytes are queued", got.QueuedBytes)
				}
			}
			dropped := int(s.Stats().Dropped)
			if policy == FullDropNewest && refused != dropped {
				t.Errorf("%d sends answered ErrDropped, %d are counted", refused, dropped)
			}
			s.Disconnect(Reason{})
			got := numbers(t, readAll(t, conn))
			conn.Close()
			if len(got) != sent-dropped {
				t.Errorf("%d sent, %d dropped, but %d arrived", sent, dropped, len(got))
			}
			for i := 1; i < len(got); i++ {
				if got[i] <= got[i-1] {
					t.Fatalf("%d came after %d", got[i], got[i-1])
				}
			}
			wantCause(t, await(t, "the end", seen.onClose), ErrDisconnected)
		})
	}
}

// TestNeverReadsInCallback: an echo whose client sends and does not read ends as
// a slow consumer; the callback that notices is its own.
func TestNeverReadsInCallback(t *testing.T) {
	seen := newDiary()
	h := &script{packet: echo.packet, disconnected: seen.OnDisconnected}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(h), MaxPacket: 5_000,
		QueueBytes: 64 << 10}})
	conn := dial(t, server)
	b := encode(t, Packet{1, make([]byte, 4_000)})
	for {
		if _, err := conn.Write(b); err != nil {
			break // thrown out
		}
	}
	wantCause(t, await(t, "the end", seen.onClose), ErrSlowConsumer)
	eventually(t, "the place to be free", func() bool { return server.Count() == 0 })
}

// TestWriteTimeout: a peer that reads nothing ends the session in the end, also
// one that a sender waits for, and over TLS as quickly.
func TestWriteTimeout(t *testing.T) {
	serverTLS, clientTLS := certificate(t)
	for name, transport := range map[string]Transport{"tcp": TCP, "tls": TLS(serverTLS)} {
		t.Run(name, func(t *testing.T) {
			seen := newDiary()
			server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), Transport: transport,
				WhenFull: FullBlock, WriteTimeout: 50 * time.Millisecond}})
			conn := dial(t, server)
			if name == "tls" {
				if err := tls.Client(conn, named(clientTLS)).HandshakeContext(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			s := await(t, "the session", seen.onOpen)
			began := time.Now()
			for {
				if err := s.Send(Packet{ID: 1, Payload: make([]byte, 10_000)}); err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Errorf("send: %v", err)
					}
					break
				}
			}
			wantCause(t, await(t, "the end", seen.onClose), ErrWriteTimeout)
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestSendLongAfterSlowWrite: a write that had to wait leaves no deadline behind
// for those after it.
func TestSendLongAfterSlowWrite(t *testing.T) {
	const timeout = 300 * time.Millisecond
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), WriteTimeout: timeout}})
	conn := dial(t, server)
	s := await(t, "the session", seen.onOpen)
	sent := 0
	send := func(size int) error {
		sent += size + u16Header
		return s.Send(Packet{ID: 1, Payload: make([]byte, size)})
	}
	for s.Stats().QueuedBytes < 100_000 { // more than the system takes at once
		if err := send(20_000); err != nil {
			t.Fatal(err)
		}
	}
	arrived := make(chan int64, 1)
	go func() {
		n, _ := io.Copy(io.Discard, conn)
		arrived <- n
	}()
	empty := func() bool { return s.Stats().QueuedBytes == 0 }
	eventually(t, "an empty queue", empty)
	began := time.Now()
	eventually(t, "the write's deadline to pass",
		func() bool { return time.Since(began) > timeout+50*time.Millisecond })
	for range 2 {
		if err := send(1); err != nil {
			t.Fatalf("the session ended: %v", err)
		}
		eventually(t, "an empty queue", empty)
	}
	s.Disconnect(Reason{})
	sent += len(encode(t, bye(Reason{})))
	if got := await(t, "the stream's end", arrived); got != int64(sent) {
		t.Errorf("%d bytes arrived of %d", got, sent)
	}
	conn.Close()
	wantCause(t, await(t, "the end", seen.onClose), ErrDisconnected)
}

// TestCloseWithStuckPeers: sessions whose peers read nothing hold up the close of
// their service for the close timeout or until its context is done, and together,
// not one after another.
func TestCloseWithStuckPeers(t *testing.T) {
	serverTLS, clientTLS := certificate(t)
	for name, transport := range map[string]Transport{"tcp": TCP, "tls": TLS(serverTLS)} {
		for _, forced := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/", forced), func(t *testing.T) {
				const players = 5
				cfg := Config{NewHandler: always(newDiary()), Transport: transport,
					CloseTimeout: 100 * time.Millisecond}
				if forced {
					cfg.CloseTimeout = time.Hour
				}
				seen := newDiary()
				cfg.NewHandler = always(seen)
				server := startServer(t, ServerConfig{Config: cfg})
				for range players {
					conn := dial(t, server)
					if name == "tls" {
						if err := tls.Client(conn, named(clientTLS)).HandshakeContext(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					s := await(t, "a session", seen.onOpen)
					for s.Stats().QueuedBytes < 500_000 {
						if err := s.Send(Packet{1, make([]byte, 10_000)}); err != nil {
							t.Fatal(err)
						}
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				if forced {
					cancel()
				}
				defer cancel()
				began := time.Now()
				if err := server.Close(ctx); forced != errors.Is(err, context.Canceled) {
					t.Errorf("close: %v", err)
				}
				if took := time.Since(began); took > 4*time.Second {
					t.Errorf("it took %v", took)
				}
				for range players {
					wantCause(t, await(t, "an end", seen.onClose), ErrServiceClosed)
				}
			})
		}
	}
}
