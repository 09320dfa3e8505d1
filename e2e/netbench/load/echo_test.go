//go:build linux

package load

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-gg/muster/e2e/netbench/frame"
)

// wire is a client's socket, of which nobody reads the other end.
func wire(t *testing.T) int {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Close(pair[0])
		_ = unix.Close(pair[1])
	})
	return pair[0]
}

func TestEchoerTakesPieces(t *testing.T) {
	fd := wire(t)
	e := newEchoer(5, 3, 0)
	if err := e.start(fd); err != nil {
		t.Fatal(err)
	}
	messages := 0
	for turn := range uint32(2) {
		for _, b := range bytes.SplitAfter(bytes.Clone(e.sent), []byte{31}) { // pieces of any length
			if len(b) == 0 {
				continue
			}
			n, _, err := e.received(fd, b)
			if err != nil {
				t.Fatal(err)
			}
			messages += n
		}
		if e.turn != turn+2 || messages != 3*int(turn+1) {
			t.Errorf("turn %d after %d packets", e.turn, messages)
		}
	}
}

func TestEchoerRefuses(t *testing.T) {
	for name, change := range map[string]func(sent []byte) []byte{
		"another byte":         func(b []byte) []byte { b[40] ^= 1; return b },
		"the second one first": func(b []byte) []byte { return append(b[frame.EchoSize:], b[:frame.EchoSize]...) },
		"too much":             func(b []byte) []byte { return append(b, b[:4]...) },
		"the turn before":      func(b []byte) []byte { b[8]--; return b },
	} {
		t.Run(name, func(t *testing.T) {
			fd := wire(t)
			e := newEchoer(5, 2, 0)
			if err := e.start(fd); err != nil {
				t.Fatal(err)
			}
			if _, _, err := e.received(fd, change(bytes.Clone(e.sent))); err == nil {
				t.Error("it was taken for what was sent")
			}
		})
	}
}

func TestEchoerWarmsUp(t *testing.T) {
	fd := wire(t)
	busy, idle := newEchoer(1, 1, 0), newEchoer(2, 1, 1)
	for _, e := range []*echoer{busy, idle} {
		if err := e.start(fd); err != nil {
			t.Fatal(err)
		}
	}
	if _, warm, _ := idle.received(fd, bytes.Clone(idle.sent)); !warm || idle.turn != 1 {
		t.Error("an idle client is not warm after its packet, or has sent another one")
	}
	for turn := 1; turn <= warmTurns; turn++ {
		if _, warm, _ := busy.received(fd, bytes.Clone(busy.sent)); warm != (turn == warmTurns) {
			t.Errorf("turn %d: warm %v", turn, warm)
		}
	}
}

func TestEchoerAllocatesNothing(t *testing.T) {
	fd := wire(t)
	e := newEchoer(1, 16, 0)
	if err := e.start(fd); err != nil {
		t.Fatal(err)
	}
	b := bytes.Clone(e.sent)
	if n := testing.AllocsPerRun(10, func() {
		copy(b, e.sent)
		if _, _, err := e.received(fd, b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
