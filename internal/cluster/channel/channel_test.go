package channel_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/cluster/channel"
)

// pair is two ends and a network between them that does what it wants.
type pair struct {
	rnd     *rand.Rand
	now     time.Duration
	ends    [2]*channel.Stream
	air     [2][]channel.Packet // towards each end
	packets int
	got     [2][]channel.Frame
	lose    float64
}

func newPair(seed uint64, maxPiece int, lose float64) *pair {
	return &pair{
		rnd: rand.New(rand.NewPCG(seed, 2)), lose: lose,
		ends: [2]*channel.Stream{channel.NewStream(maxPiece, time.Hour), channel.NewStream(maxPiece, time.Hour)},
	}
}

// turn lets each end send, and delivers some of what is on its way, in any order.
func (p *pair) turn(t *testing.T) {
	p.now += time.Duration(p.rnd.Int64N(int64(30 * time.Millisecond)))
	for i, end := range p.ends {
		for {
			packet, ok := end.Next(p.now)
			if !ok {
				break
			}
			p.packets++
			packet.Piece = slices.Clone(packet.Piece)
			for p.rnd.Float64() >= p.lose { // now and then more than once
				p.air[1-i] = append(p.air[1-i], packet)
				if p.rnd.Float64() >= p.lose {
					break
				}
			}
		}
	}
	for i, end := range p.ends {
		if p.lose > 0 {
			p.rnd.Shuffle(len(p.air[i]), func(a, b int) { p.air[i][a], p.air[i][b] = p.air[i][b], p.air[i][a] })
		}
		for _, packet := range p.air[i] {
			if err := end.Receive(p.now, packet, func(f channel.Frame) { p.got[i] = append(p.got[i], f) }); err != nil {
				t.Fatal(err)
			}
		}
		p.air[i] = nil
	}
}

func frame(rnd *rand.Rand, id int) channel.Frame {
	body := make([]byte, rnd.IntN(50))
	if rnd.IntN(10) == 0 {
		body = make([]byte, rnd.IntN(3000))
	}
	for i := range body {
		body[i] = byte(id + i)
	}
	f := channel.Frame{Kind: channel.Answer, ID: uint64(id), Body: body}
	if rnd.IntN(2) == 0 {
		f.Kind, f.Shard, f.Try = channel.Command, rnd.Uint64N(300), rnd.Uint64N(3)
	}
	return f
}

func TestEverythingArrivesOnceAndInOrder(t *testing.T) {
	for seed := range uint64(60) {
		p := newPair(seed, []int{7, 1000, 1 << 20}[seed%3], []float64{0, 0.1, 0.4}[seed%3])
		var sent [2][]channel.Frame
		for id := range 300 {
			i := p.rnd.IntN(2)
			f := frame(p.rnd, id)
			sent[i] = append(sent[i], f)
			p.ends[i].Write(f)
			if p.rnd.IntN(4) == 0 {
				p.turn(t)
			}
		}
		for n := 0; !p.ends[0].Idle() || !p.ends[1].Idle(); n++ {
			if n > 20_000 {
				t.Fatalf("seed %d: it takes for ever", seed)
			}
			p.turn(t)
		}
		for i := range sent {
			if !reflect.DeepEqual(sent[i], p.got[1-i]) {
				t.Fatalf("seed %d: %d frames were sent, %d others came", seed, len(sent[i]), len(p.got[1-i]))
			}
		}
	}
}

func TestFramesGather(t *testing.T) {
	p := newPair(1, 1<<20, 0)
	for id := range 1000 {
		p.ends[0].Write(channel.Frame{Kind: channel.Command, ID: uint64(id), Body: []byte("command")})
	}
	for !p.ends[0].Idle() {
		p.turn(t)
	}
	if len(p.got[1]) != 1000 || p.packets != 2 {
		t.Errorf("%d frames came, and %d packets were sent: want one, and its acknowledgement", len(p.got[1]),
			p.packets)
	}
}

func TestStalled(t *testing.T) {
	s := channel.NewStream(100, time.Hour)
	if _, ok := s.Due(); ok {
		t.Error("an idle stream waits for something")
	}
	if at := s.Write(channel.Frame{Kind: channel.Answer}); at != 0 || s.Packed() != 0 {
		t.Error(at, s.Packed())
	}
	for now := time.Duration(0); now < time.Second; now += 10 * time.Millisecond {
		s.Next(now)
	}
	if d := s.Stalled(time.Second); d != time.Second {
		t.Errorf("stalled for %v, want 1s", d)
	}
	if s.Write(channel.Frame{Kind: channel.Answer}) != s.Packed() {
		t.Error("what was written behind the packet counts as sent")
	}
}

// A stream that gives up sends nothing more: the other end may have given up before it.
func TestGivenUp(t *testing.T) {
	const patience = 10 * time.Second
	s := channel.NewStream(100, patience)
	s.Write(channel.Frame{Kind: channel.Command, ID: 1})
	last := time.Duration(-1)
	for now := time.Duration(0); now < 2*patience; now += 10 * time.Millisecond {
		if _, ok := s.Next(now); ok {
			last = now
		}
		if s.GivenUp(now) != (now >= patience) {
			t.Fatalf("after %v it has given up: %v", now, s.GivenUp(now))
		}
	}
	if last < patience-2*channel.Retransmit || last >= patience {
		t.Errorf("sent the last packet after %v, want it before %v", last, patience)
	}
}

func TestClosed(t *testing.T) {
	s := channel.NewStream(100, time.Hour)
	s.Write(channel.Frame{Kind: channel.Command, ID: 1})
	s.Close()
	if p, ok := s.Next(0); ok || s.Packed() != 0 {
		t.Errorf("a closed stream sends %+v", p)
	}
}

func TestGenerations(t *testing.T) {
	var g channel.Generations
	open := func(process string, generation uint64, now time.Duration, want bool) {
		t.Helper()
		if g.Open(process, generation, now) != want {
			t.Errorf("generation %d of %s after %v: want %v", generation, process, now, want)
		}
	}
	open("a", 3, 0, true)
	open("a", 3, 0, false)
	open("a", 2, 0, false)
	open("b", 2, 0, true)
	member := func(process string) bool { return process == "a" }
	g.Forget(2*time.Hour, member)
	open("a", 3, 2*time.Hour, false) // while it is a member, for ever
	open("b", 2, 2*time.Hour, true)  // forgotten: no packet is on its way for so long
	g.Forget(2*time.Hour+59*time.Minute, func(string) bool { return false })
	open("a", 3, 3*time.Hour, false)
	open("a", 4, 3*time.Hour, true)
}

func TestMalformed(t *testing.T) {
	s := channel.NewStream(100, time.Hour)
	for name, p := range map[string]channel.Packet{
		"acknowledges what was never sent": {Received: 1},
		"frame of no kind":                 {Number: 1, Piece: []byte{2, 99, 1}},
		"empty frame":                      {Number: 2, Piece: []byte{0}},
		"huge frame":                       {Number: 3, Piece: bytes.Repeat([]byte{0xff}, 9)},
		"frame without its fields":         {Number: 4, Piece: []byte{2, channel.Command, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if p.Number > 0 {
				s, p.Number = channel.NewStream(100, time.Hour), 1
			}
			if err := s.Receive(0, p, func(channel.Frame) { t.Error("a frame came") }); name != "huge frame" &&
				!errors.Is(err, channel.ErrMalformed) {
				t.Errorf("got %v, want ErrMalformed", err)
			}
		})
	}
}

func TestPacket(t *testing.T) {
	p := channel.Packet{Kind: channel.FromServer, From: "process", Generation: 3, Number: 300, Received: 1 << 40,
		Piece: []byte("piece")}
	data := channel.AppendPacket(nil, p)
	if got, err := channel.ReadPacket(data); err != nil || !reflect.DeepEqual(got, p) {
		t.Error(got, err)
	}
	if len(data) > channel.Overhead("process")+len("piece") {
		t.Error("the overhead is larger than said:", len(data))
	}
	for i := range len(data) - len("piece") + 1 {
		if _, err := channel.ReadPacket(data[:i]); err == nil {
			t.Errorf("%d bytes of it are a packet, too", i)
		}
	}
}

// A server is paused before its answer is acknowledged, and gives up on the channel when it resumes. The client, which
// only waits, learns that it must not wait any longer, and its next command reaches the next owner.
func TestForwarderLearnsThatItsChannelWasDropped(t *testing.T) {
	const patience = 10 * time.Second
	config := func(process string, ends *[]*channel.End) channel.Config {
		return channel.Config{
			Process: process, Patience: patience, MaxPiece: func() int { return 1000 },
			Carry: func(e *channel.End) channel.Carrier { *ends = append(*ends, e); return idleCarrier{} },
		}
	}
	var client, server []*channel.End
	var broken []channel.Packet
	f := channel.NewForwarder(config("client", &client), 1, 10, func(err error) error { return err })
	s := channel.NewServer(config("server", &server), func(_ string, p channel.Packet) { broken = append(broken, p) })
	member := func(string) bool { return true }
	f.Moved(0, []channel.Owner{{Process: "server", Run: 1, Epoch: 1}}, member)

	var outcome error
	if err := f.Send(0, 0, []byte("first"), func(_ []byte, err error) { outcome = err }); err != nil {
		t.Fatal(err)
	}
	p, _ := client[0].Next(0)
	requests, err := s.Receive(0, p, nil)
	if err != nil || len(requests) != 1 {
		t.Fatal(requests, err)
	}
	s.Answer(requests[0], nil)
	lost, _ := server[0].Next(0)
	lost.Number, lost.Piece = 0, nil // its acknowledgement arrives, and no answer
	if err := f.Receive(0, lost); err != nil {
		t.Fatal(err)
	}
	s.Drop(server[0])

	f.Moved(time.Second, []channel.Owner{{Process: "other", Run: 1, Epoch: 2}}, member)
	if err := f.Send(time.Second, 0, []byte("second"), func([]byte, error) {}); err != nil {
		t.Fatal(err)
	}
	for now := time.Second; outcome == nil; now += time.Second {
		if now >= patience {
			t.Fatal("the second command still waits for the answer to the first")
		}
		f.Check(now, false)
		for p, ok := client[0].Next(now); ok; p, ok = client[0].Next(now) {
			if _, err := s.Receive(now, p, nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range broken {
			if err := f.Receive(now, p); err != nil {
				t.Fatal(err)
			}
		}
		for _, done := range f.Outcomes() {
			done()
		}
	}
	if !errors.Is(outcome, channel.ErrLost) {
		t.Errorf("the first command ended with %v, want ErrLost", outcome)
	}
	if p, ok := client[1].Next(patience); !ok || !bytes.Contains(p.Piece, []byte("second")) {
		t.Errorf("the next owner gets %+v, want the second command", p)
	}
}

func FuzzReceive(f *testing.F) {
	piece := channel.AppendFrame(nil, channel.Frame{Kind: channel.Command, ID: 1, Shard: 2, Try: 3,
		Body: []byte("body")})
	piece = channel.AppendFrame(piece, channel.Frame{Kind: channel.Sequence, ID: 2, Sequence: 1 << 50})
	whole := channel.AppendPacket(nil, channel.Packet{Kind: channel.FromClient, From: "p", Generation: 1, Number: 1,
		Piece: piece})
	f.Add(whole, 5)
	f.Add(whole[:20], 3)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		p, err := channel.ReadPacket(data)
		if err != nil {
			return
		}
		if again := channel.AppendPacket(nil, p); len(again) > len(data) {
			t.Errorf("%d bytes become %d", len(data), len(again))
		}
		// Cut in two or as a whole, a stream is the same frames.
		read := func(pieces ...[]byte) string {
			s, out := channel.NewStream(10, time.Hour), ""
			for i, piece := range pieces {
				err = s.Receive(0, channel.Packet{Number: uint64(i + 1), Piece: piece},
					func(f channel.Frame) { out += fmt.Sprintf("%+v;", f) })
				if err != nil {
					return out + err.Error()
				}
			}
			return out
		}
		if cut > 0 && cut < len(p.Piece) {
			if a, b := read(p.Piece), read(p.Piece[:cut], p.Piece[cut:]); a != b {
				t.Errorf("as a whole %q, in two %q", a, b)
			}
		}
	})
}

func BenchmarkStream(b *testing.B) {
	s, r := channel.NewStream(1<<20, time.Hour), channel.NewStream(1<<20, time.Hour)
	body := make([]byte, 200)
	b.ReportAllocs()
	for b.Loop() {
		for id := range uint64(64) {
			s.Write(channel.Frame{Kind: channel.Command, ID: id, Body: body})
		}
		p, _ := s.Next(0)
		if err := r.Receive(0, p, func(channel.Frame) {}); err != nil {
			b.Fatal(err)
		}
		ack, _ := r.Next(time.Hour)
		if err := s.Receive(0, ack, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// idleCarrier is the Carrier of an End whose packets are not sent.
type idleCarrier struct{}

func (idleCarrier) Signal() {}
func (idleCarrier) Close()  {}

// Packets to a client get lost for longer than both ends have patience. The client has sent the first packet of its
// channel again and again meanwhile, and one of these arrives when the server has dropped the channel: what it carries
// is not executed again.
func TestDroppedChannelStaysDropped(t *testing.T) {
	var end *channel.End
	s := channel.NewServer(channel.Config{
		Process: "server", Patience: time.Second, MaxPiece: func() int { return 1000 },
		Carry: func(e *channel.End) channel.Carrier { end = e; return idleCarrier{} },
	}, func(string, channel.Packet) {})
	packet := channel.Packet{
		Kind: channel.FromClient, From: "client", Number: 1,
		Piece: channel.AppendFrame(nil, channel.Frame{Kind: channel.Command, ID: 1, Body: []byte("once")}),
	}
	for i, generation := range []uint64{1, 1, 2, 2, 0, 1} { // the last two were on their way for long
		packet.Generation = generation
		requests, err := s.Receive(0, packet, nil)
		if fresh := i == 0 || i == 2; err != nil || (len(requests) == 1) != fresh {
			t.Errorf("packet %d of channel %d: %d requests, %v", i, generation, len(requests), err)
		}
		s.Drop(end)
	}
}
