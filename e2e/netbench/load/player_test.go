//go:build linux

package load

import (
	"bytes"
	"testing"

	"github.com/muster-gg/muster/e2e/netbench/frame"
	"github.com/muster-gg/muster/e2e/netbench/room"
)

// tick is what a server sends to each player of a room.
func tick(number uint16, count uint32) []byte {
	b := make([]byte, room.TickBytes)
	for i := range uint16(room.Players) {
		frame.State{Room: number, Player: i, Tick: count}.Put(b[int(i)*frame.StateSize:])
	}
	return b
}

func TestPlayerTakesPieces(t *testing.T) {
	stream := append(append(tick(3, 1), tick(3, 2)...), tick(3, 3)...)
	for size := 1; size <= len(stream); size += 7 {
		p := newPlayer(3, 4, false)
		messages := 0
		for rest := stream; len(rest) > 0; {
			n := min(size, len(rest))
			some, _, err := p.received(0, rest[:n])
			if err != nil {
				t.Fatalf("in pieces of %d bytes: %v", size, err)
			}
			messages += some
			rest = rest[n:]
		}
		if messages != 3*room.Players {
			t.Errorf("in pieces of %d bytes: %d messages, want %d", size, messages, 3*room.Players)
		}
	}
}

func TestPlayerRefuses(t *testing.T) {
	for name, change := range map[string]func(b []byte) []byte{
		"another room":           func([]byte) []byte { return tick(4, 1) },
		"a player left out":      func(b []byte) []byte { return b[frame.StateSize:] },
		"a player twice":         func(b []byte) []byte { copy(b[frame.StateSize:], b[:frame.StateSize]); return b },
		"another size":           func(b []byte) []byte { b[0]++; return b },
		"a garbled state":        func(b []byte) []byte { b[room.TickBytes-1]++; return b },
		"a state nobody has":     func([]byte) []byte { return tick(3, 0) },
		"a header cut, then bad": func(b []byte) []byte { b[5]++; return b },
	} {
		t.Run(name, func(t *testing.T) {
			b := change(tick(3, 1))
			for _, size := range []int{len(b), 5} {
				if name == "a garbled state" || name == "a state nobody has" {
					size = len(b) // pieces of states are checked by their heads alone
				}
				p := newPlayer(3, 4, false)
				var err error
				for rest := b; len(rest) > 0 && err == nil; {
					n := min(size, len(rest))
					_, _, err = p.received(0, rest[:n])
					rest = rest[n:]
				}
				if err == nil {
					t.Errorf("in pieces of %d bytes nobody noticed", size)
				}
			}
		})
	}
}

func TestPlayerWarmsUp(t *testing.T) {
	sender, listener := newPlayer(3, 4, true), newPlayer(3, 4, false)
	for count := range uint32(4) {
		_, warm, err := listener.received(0, tick(3, count+1))
		if err != nil || warm != (count >= 1) {
			t.Errorf("%d ticks, nobody moves: warm %v, error %v", count+1, warm, err)
		}
	}
	for range 10 {
		if _, warm, err := sender.received(0, tick(3, 1)); warm || err != nil {
			t.Fatalf("nobody moves: warm %v, error %v", warm, err)
		}
	}
	for range 3 {
		if _, _, err := sender.received(0, tick(3, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if _, warm, _ := sender.received(0, tick(3, 3)); !warm {
		t.Error("everybody moves, and it is not warm")
	}
}

func TestPlayerSends(t *testing.T) {
	p := newPlayer(3, 4, true)
	for range 2 {
		if err := p.start(wire(t)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := frame.Check(bytes.Clone(p.packet[:]))
	if want := (frame.State{Room: 3, Player: 4, Tick: 2}); err != nil || s != want {
		t.Errorf("got %v, %v; want %v", s, err, want)
	}
}

func TestPlayerAllocatesNothing(t *testing.T) {
	p := newPlayer(3, 4, false)
	b := tick(3, 1)
	if n := testing.AllocsPerRun(10, func() {
		if _, _, err := p.received(0, b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
