//go:build unix

package fault

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/muster-gg/muster/e2e/history"
)

// A trial finds what its service has lost, and what its history does not allow. The service
// is right, so that the trial is told of more than has happened.
func TestPlanted(t *testing.T) {
	const nobody = "ghost"
	planted := newTrial(t, 1)
	r, err := planted.run(fault{name: "planted", strike: func(t *trial) {
		var real *game
		t.games.look(func(k *game) {
			if k.process != nil && k.process.slot.resident {
				real = k
			}
		})
		ghost := t.arn(playLocations[0], nobody)
		t.games.change(ghost, func(k *game) { k.answered, k.ending = true, true }) // a lost game session
		// A lost player session, for whom nobody does anything.
		t.games.change(real.arn, func(k *game) {
			k.seats = append(k.seats, &seat{id: nobody, player: nobody, stage: leaving})
		})
		t.placements.set(nobody, true) // a lost placement
		t.history.Add(history.Operation{Session: real.arn, Action: history.Reserve, Players: []string{nobody},
			Call: t.history.Now()})
	}})
	if r.lost != 3 || r.doubled != 0 {
		t.Errorf("%d lost, %d doubled; want 3 and 0", r.lost, r.doubled)
		planted.found.Tell(t)
	}
	violation, found := errors.AsType[*history.Violation](err)
	if !found {
		t.Fatalf("the history gave %v, want a violation", err)
	}
	if err := os.Remove(violation.File); err != nil {
		t.Error(err)
	}
}

// A node that is cut off one way receives and does not send, or the other way round, whichever
// side has dialled.
func TestCut(t *testing.T) {
	c := newCluster(t, 3)
	ways := c.connect()
	for s, silent := range map[side]func(w way) bool{
		sends:            func(w way) bool { return w.from == 0 },
		receives:         func(w way) bool { return w.to == 0 },
		sends | receives: func(w way) bool { return w.from == 0 || w.to == 0 },
	} {
		c.cut(c.nodes[0], s)
		for _, w := range ways {
			w.say()
		}
		for _, w := range ways {
			if !silent(w) {
				w.hear(t)
			}
		}
		for _, w := range ways {
			if silent(w) && len(w.heard) > 0 {
				t.Errorf("node %d is heard by node %d", w.from, w.to)
			}
		}
		c.mend(c.nodes[0], s)
		for _, w := range ways {
			if silent(w) {
				w.hear(t)
			}
		}
	}
}

// A way is one direction of a connection between two nodes.
type way struct {
	from, to int
	writer   net.Conn
	heard    chan string
}

func newWay(from, to int, writer, reader net.Conn) way {
	w := way{from, to, writer, make(chan string, 10)}
	go func() {
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			w.heard <- lines.Text()
		}
	}()
	return w
}

func (w way) say() { fmt.Fprintln(w.writer, "hello") }

func (w way) hear(t *testing.T) {
	t.Helper()
	select {
	case <-w.heard:
	case <-time.After(limit):
		t.Fatalf("node %d does not reach node %d", w.from, w.to)
	}
}

// connect has each node dial each other, as this test plays them.
func (c *cluster) connect() (ways []way) {
	c.t.Helper()
	for _, to := range c.nodes {
		listener, err := net.Listen("tcp", to.route)
		if err != nil {
			c.t.Fatal(err)
		}
		defer listener.Close()
		for _, from := range c.others(to) {
			near, err := net.Dial("tcp", c.wires[from.number][to.number].Addr())
			if err != nil {
				c.t.Fatal(err)
			}
			far, err := listener.Accept()
			if err != nil {
				c.t.Fatal(err)
			}
			c.t.Cleanup(func() { near.Close(); far.Close() })
			ways = append(ways, newWay(from.number, to.number, near, far), newWay(to.number, from.number, far, near))
		}
	}
	return ways
}
