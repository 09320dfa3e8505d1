package gamenet

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A referee is a Handler that notes what is not as Handler promises: callbacks
// that overlap, or come in another order.
type referee struct {
	t                     testing.TB
	inside                atomic.Int32
	stage                 atomic.Int32 // 0 before OnConnected, 1 before OnDisconnected, 2 after it
	sentInside, sentBytes atomic.Int64
	packets               atomic.Int64

	connected, disconnected chan *Session
	packet                  func(*Session, Packet)
}

func newReferee(t testing.TB) *referee {
	return &referee{t: t, connected: make(chan *Session, 1), disconnected: make(chan *Session, 1)}
}

func (r *referee) enter(what string, stage, next int32) (leave func()) {
	if r.inside.Add(1) != 1 {
		r.t.Errorf("%s overlaps another callback", what)
	}
	if got := r.stage.Swap(next); got != stage {
		r.t.Errorf("%s at stage %d, want %d", what, got, stage)
	}
	return func() { r.inside.Add(-1) }
}

func (r *referee) OnConnected(s *Session) {
	defer r.enter("OnConnected", 0, 1)()
	r.connected <- s
}

func (r *referee) OnPacket(s *Session, p Packet) {
	defer r.enter("OnPacket", 1, 1)()
	r.packets.Add(1)
	if r.packet != nil {
		r.packet(s, p)
	}
}

func (r *referee) OnClosing(s *Session) { defer r.enter("OnClosing", 1, 1)() }

func (r *referee) OnDisconnected(s *Session, _ error) {
	defer r.enter("OnDisconnected", 1, 2)()
	if r.sentInside.Load() != 0 {
		r.t.Error("OnSent overlaps OnDisconnected")
	}
	r.disconnected <- s
}

func (r *referee) OnSent(_ *Session, n int) {
	if r.sentInside.Add(1) != 1 {
		r.t.Error("OnSent overlaps itself")
	}
	defer r.sentInside.Add(-1)
	if r.stage.Load() != 1 {
		r.t.Errorf("OnSent at stage %d", r.stage.Load())
	}
	r.sentBytes.Add(int64(n))
}

// TestOrder: sixteen goroutines send on one session while packets come in. The
// callbacks keep their order and never overlap, what each goroutine sends arrives
// in its order, and OnSent counts what was written.
func TestOrder(t *testing.T) {
	for name, use := range transports(t) {
		t.Run(name, func(t *testing.T) {
			const senders, each = 16, 200
			judge := newReferee(t)
			sc, cc := ServerConfig{}, ClientConfig{}
			use(&sc.Config, &cc.Config)
			sc.NewHandler, sc.WhenFull = always(judge), FullBlock
			last := -1
			judge.packet = func(_ *Session, p Packet) {
				var i int
				if _, err := fmt.Sscan(string(p.Payload), &i); err != nil || i != last+1 {
					t.Errorf("packet %q after %d", p.Payload, last)
				}
				last = i
			}
			next := make(map[uint16]int)
			got := make(chan int, senders*each)
			cc.NewHandler = always(&script{
				connected: func(s *Session) {
					for i := range each {
						if err := s.Send(Packet{ID: 1, Payload: fmt.Append(nil, i)}); err != nil {
							t.Errorf("client's send: %v", err)
						}
					}
				},
				packet: func(_ *Session, p Packet) {
					if want := fmt.Sprint(next[p.ID]); string(p.Payload) != want {
						t.Errorf("sender %d: %q came, want %s", p.ID, p.Payload, want)
					}
					next[p.ID]++
					got <- int(p.ID)
				},
			})
			server := startServer(t, sc)
			client := startClient(t, server, cc)
			s := await(t, "the session", judge.connected)
			var sending sync.WaitGroup
			for id := range senders {
				sending.Go(func() {
					for i := range each {
						if err := s.Send(Packet{ID: uint16(id), Payload: fmt.Append(nil, i)}); err != nil {
							t.Errorf("send: %v", err)
						}
					}
				})
			}
			sending.Wait()
			for range senders * each {
				await(t, "a packet", got)
			}
			eventually(t, "the client's packets", func() bool { return judge.packets.Load() == each })
			closeWithin(t, server)
			await(t, "OnDisconnected", judge.disconnected)
			if stats := s.Stats(); uint64(judge.sentBytes.Load()) != stats.BytesOut || stats.BytesOut == 0 {
				t.Errorf("OnSent heard of %d bytes, written were %d", judge.sentBytes.Load(), stats.BytesOut)
			}
			closeWithin(t, client)
		})
	}
}

// TestOnClosingInTurn: OnClosing comes after the callback that runs and before
// OnDisconnected, for every session of a busy server.
func TestOnClosingInTurn(t *testing.T) {
	const sessions = 50
	var mu sync.Mutex
	var judges []*referee
	server := startServer(t, ServerConfig{Config: Config{NewHandler: func(*Session) Handler {
		judge := newReferee(t)
		judge.packet = func(s *Session, p Packet) { _ = s.Send(p) }
		mu.Lock()
		defer mu.Unlock()
		judges = append(judges, judge)
		return judge
	}}})
	var busy sync.WaitGroup
	for range sessions {
		conn := dial(t, server)
		roundTrip(t, conn)
		busy.Go(func() {
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		})
		b := encode(t, Packet{1, []byte("ball")})
		busy.Go(func() {
			for {
				if _, err := conn.Write(b); err != nil {
					return
				}
			}
		})
	}
	for range 20 { // some that have only just come
		conn := dial(t, server)
		busy.Go(func() { _, _ = io.Copy(io.Discard, conn); conn.Close() })
	}
	closeWithin(t, server)
	busy.Wait()
	mu.Lock()
	defer mu.Unlock()
	for _, judge := range judges {
		if stage := judge.stage.Load(); stage == 1 {
			t.Error("connected, and never disconnected")
		}
	}
}

// TestOnClosingWaitsItsTurn: while a callback runs its session's OnClosing waits,
// and that of others does not.
func TestOnClosingWaitsItsTurn(t *testing.T) {
	const others = 20
	entered, closing := make(chan *Session), make(chan *Session, others+1)
	release := make(chan struct{})
	h := &announcer{script{connected: func(s *Session) {
		if s.ID() > 1 {
			entered <- s
		}
	}, packet: func(s *Session, _ Packet) { entered <- s; <-release }}, closing}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(h), CloseTimeout: time.Millisecond}})
	busy := dial(t, server)
	write(t, busy, encode(t, Packet{ID: 1}))
	blocked := await(t, "the callback", entered)
	for range others {
		dial(t, server)
		await(t, "another session", entered)
	}
	closed := make(chan struct{})
	go func() { defer close(closed); closeWithin(t, server) }()
	for range others {
		if s := await(t, "OnClosing of others", closing); s == blocked {
			t.Error("OnClosing ran beside another callback")
		}
	}
	close(release)
	if s := await(t, "the last OnClosing", closing); s != blocked && !t.Failed() {
		t.Errorf("OnClosing of session %d again", s.ID())
	}
	await(t, "the close", closed)
}

// An announcer tells which sessions are closing.
type announcer struct {
	script
	closing chan *Session
}

func (a *announcer) OnClosing(s *Session) { a.closing <- s }

// TestPipelinedAnswers: packets that arrive together are answered in order, and
// what their callbacks send goes out together.
func TestPipelinedAnswers(t *testing.T) {
	written := new(writes)
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(echo), Metrics: written}})
	conn := dial(t, server)
	var packets []Packet
	for i := range 500 {
		packets = append(packets, Packet{uint16(i), fmt.Append(nil, "packet ", i)})
	}
	b := encode(t, packets...)
	for round := range 5 {
		write(t, conn, b)
		if got := read(t, conn, len(b)); !bytes.Equal(got, b) {
			t.Fatalf("round %d: other bytes came back", round)
		}
	}
	if n := written.number.Load(); n > 5*len64(packets)/10 {
		t.Errorf("%d packets took %d writes", 5*len(packets), n)
	}
}

func len64[T any](s []T) int64 { return int64(len(s)) }

// writes are Metrics that count writes too.
type writes struct {
	counts
	number atomic.Int64
}

func (w *writes) Sent(bytes, packets, queued int) {
	w.counts.Sent(bytes, packets, queued)
	w.number.Add(1)
}

// TestBlockedCallbackHoldsNobodyBack: while a callback blocks, others send on the
// same session, and other sessions go on, also if more packets wait behind the
// one whose callback blocks.
func TestBlockedCallbackHoldsNobodyBack(t *testing.T) {
	for name, packets := range map[string]int{"alone": 1, "more wait": 3} {
		t.Run(name, func(t *testing.T) {
			blocked, release := make(chan *Session), make(chan struct{})
			h := &script{packet: func(s *Session, p Packet) {
				if p.ID == 99 {
					blocked <- s
					<-release
					return
				}
				_ = s.Send(p)
			}}
			server := startServer(t, ServerConfig{Config: Config{NewHandler: always(h)}})
			free := sync.OnceFunc(func() { close(release) })
			defer free()
			other := dial(t, server)
			roundTrip(t, other)
			conn := dial(t, server)
			rest := bytes.Repeat(encode(t, Packet{2, []byte("behind")}), packets-1)
			write(t, conn, append(encode(t, Packet{ID: 99}), rest...))
			s := await(t, "the callback", blocked)
			if err := s.Send(Packet{1, []byte("meanwhile")}); err != nil {
				t.Error(err)
			}
			want := encode(t, Packet{1, []byte("meanwhile")})
			if got := read(t, conn, len(want)); !bytes.Equal(got, want) {
				t.Errorf("got %q", got)
			}
			roundTrip(t, other)
			free()
			if got := read(t, conn, len(rest)); !bytes.Equal(got, rest) {
				t.Errorf("then came %q", got)
			}
		})
	}
}
