package gamenet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"
	"testing"
)

func TestFrame(t *testing.T) {
	f := newFrame(U16, 1000, smallestFrame)
	defer f.Release()
	var want []byte
	for i := range 300 { // beyond the first buffer
		p := Packet{uint16(i), bytes.Repeat([]byte{byte(i)}, i%50)}
		if err := f.Append(p); err != nil {
			t.Fatal(err)
		}
		want = append(want, encode(t, p)...)
	}
	if f.packets != 300 || f.Len() != len(want) || !bytes.Equal(f.bytes, want) {
		t.Errorf("%d packets in %d bytes", f.packets, f.Len())
	}
	for _, c := range []struct {
		p    Packet
		want error
	}{
		{Packet{1, make([]byte, 997)}, ErrPacketTooLarge}, {Packet{ID: FirstReservedID}, ErrInvalidID},
		{Packet{ID: math.MaxUint16}, ErrInvalidID},
	} {
		if err := f.Append(c.p); !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
	if f.packets != 300 || !bytes.Equal(f.bytes, want) {
		t.Error("a packet that was refused changed the frame")
	}
}

// TestFrameReleasedTooOften: a mistake that would send one player another's bytes
// is loud.
func TestFrameReleasedTooOften(t *testing.T) {
	f := newFrame(U16, 1<<20, smallestFrame)
	if err := f.Append(Packet{1, make([]byte, 60_000)}); err != nil {
		t.Fatal(err)
	}
	f.bytes = f.bytes[:0:0] // of no pool: nobody else is given it meanwhile
	f.Retain()
	f.Release()
	f.Release()
	defer func() {
		if recover() == nil {
			t.Error("the third release of two references passed")
		}
	}()
	f.Release()
}

// TestFrameIsUsedAgain: the memory of a released frame serves the next one, which
// begins empty.
func TestFrameIsUsedAgain(t *testing.T) {
	for range 1_000 { // a pool may forget, not always
		f := newFrame(U16, 1000, smallestFrame)
		if err := f.Append(Packet{1, []byte("first")}); err != nil {
			t.Fatal(err)
		}
		f.Release()
		g := newFrame(U32, 1000, smallestFrame)
		same := f == g
		if g.Len() != 0 || g.packets != 0 || g.codec != U32 {
			t.Fatalf("a new frame has %d bytes in %d packets", g.Len(), g.packets)
		}
		g.Release()
		if same {
			return
		}
	}
	t.Error("no frame was used again")
}

func TestFrameClasses(t *testing.T) {
	for n := range 200_000 {
		class := frameClass(n)
		if class < frameClasses && smallestFrame<<class < n {
			t.Fatalf("%d bytes do not fit in class %d", n, class)
		}
		if class > 0 && smallestFrame<<(class-1) >= max(n, 1) {
			t.Fatalf("%d bytes would fit in class %d", n, class-1)
		}
	}
}

// TestFrameShared: one frame goes to many sessions over and over, and each byte
// arrives as it was; at the end the creator's reference is the only one.
func TestFrameShared(t *testing.T) {
	const players, frames, packets = 20, 100, 5
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), WhenFull: FullBlock}})
	var want bytes.Buffer
	for i := range frames {
		for k := range packets {
			want.Write(encode(t, Packet{uint16(k), fmt.Append(nil, "frame ", i)}))
		}
	}
	var reading sync.WaitGroup
	g := new(Group)
	for range players {
		conn := dial(t, server)
		g.Add(await(t, "a session", seen.onOpen))
		reading.Go(func() {
			got := make([]byte, want.Len())
			if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Errorf("other bytes came, %v", err)
			}
		})
	}
	for i := range frames {
		f := server.NewFrame()
		for k := range packets {
			if err := f.Append(Packet{uint16(k), fmt.Append(nil, "frame ", i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.BroadcastFrame(f); err != nil {
			t.Error(err)
		}
		if i == 0 {
			eventually(t, "the sessions to let go", func() bool { return f.refs.Load() == 1 })
		}
		f.Release()
	}
	reading.Wait()
	for s := range server.Sessions() {
		eventually(t, "the counts",
			func() bool { return s.Stats().PacketsOut == frames*packets && s.Stats().QueuedPackets == 0 })
	}
	empty := server.NewFrame()
	defer empty.Release()
	if err := g.BroadcastFrame(empty); err != nil || empty.refs.Load() != 1 {
		t.Errorf("an empty frame: %v, %d references", err, empty.refs.Load())
	}
}

// TestFramesAreGivenBack: a session that ends with a full queue lets its frames
// go.
func TestFramesAreGivenBack(t *testing.T) {
	s, conn := gated(t, Config{})
	stuck(t, s, conn)
	f := newFrame(U16, 1000, smallestFrame)
	if err := f.Append(Packet{1, []byte("never")}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := s.SendFrame(f); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.refs.Load(); got != 11 {
		t.Errorf("%d references", got)
	}
	s.cut(ErrLost)
	await(t, "the end", s.handler.(*diary).onClose)
	if got := f.refs.Load(); got != 1 {
		t.Errorf("%d references after the end", got)
	}
	f.Release()
}

// TestEchoAllocatesNothing: a server that echoes makes no garbage, packet by
// packet nor pipelined.
func TestEchoAllocatesNothing(t *testing.T) {
	for _, pipelined := range []int{1, 16} {
		t.Run(fmt.Sprint(pipelined), func(t *testing.T) {
			server := startServer(t, ServerConfig{Config: Config{NewHandler: always(echo)}})
			conn := dial(t, server)
			b := bytes.Repeat(encode(t, Packet{1, make([]byte, 60)}), pipelined)
			answer := make([]byte, len(b))
			echoes := func(times int) {
				for range times {
					write(t, conn, b)
					if _, err := io.ReadFull(conn, answer); err != nil {
						t.Fatal(err)
					}
				}
			}
			echoes(200) // the pools fill
			const times = 2_000
			limit := 0.05 + 8*poolLoss()
			least := math.Inf(1) // of several: whatever runs beside it counts too
			for range 3 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				echoes(times)
				runtime.ReadMemStats(&after)
				least = min(least, float64(after.Mallocs-before.Mallocs)/float64(times*pipelined))
			}
			if least > limit {
				t.Errorf("%.3f allocations per packet, want none (up to %.2f)", least, limit)
			}
		})
	}
}

// poolLoss is the part of what is put into a sync.Pool that is not given out
// again: 0, but about a quarter under the race detector, which drops it to find
// races.
func poolLoss() float64 {
	const times = 1_000
	made := 0
	pool := sync.Pool{New: func() any { made++; return new([64]byte) }}
	for range times {
		pool.Put(pool.Get())
	}
	return max(0, float64(made-10)/times)
}
