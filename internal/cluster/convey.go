package cluster

import (
	"runtime"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/muster-gg/muster/internal/cluster/link"
)

// maxPiece is how much a packet carries at most. Larger ones would make others wait.
const maxPiece = 256 << 10

// A conveyor is one end of a link and the goroutine that sends its packets.
type conveyor struct {
	stream     *link.Stream // guarded by the owner's lock
	generation uint64
	wake       chan struct{}
	gone       chan struct{}
}

// convey makes one end of a link to a process; head says what its packets have in
// common. lost is called when nothing is heard for Config.Patience, without the lock.
func (n *Node) convey(mu *sync.Mutex, to string, head link.Packet, lost func()) *conveyor {
	head.From = n.process
	piece := int64(maxPiece)
	if limit := n.cfg.Conn.MaxPayload() - int64(link.Overhead(n.process)); limit > 0 {
		piece = min(piece, limit)
	}
	c := &conveyor{
		stream: link.NewStream(int(piece), n.cfg.Patience), generation: head.Generation,
		wake: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	n.workers.Go(func() { c.run(n, mu, n.subjectOf(to), head, lost) })
	return c
}

// signal says that there is something new.
func (c *conveyor) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// close ends the goroutine, and lets nothing more be sent. The owner's lock is held: whoever
// closes goes by what was sent until then.
func (c *conveyor) close() {
	c.stream.Close()
	close(c.gone)
}

func (c *conveyor) run(n *Node, mu *sync.Mutex, subject string, head link.Packet, lost func()) {
	timer := n.cfg.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	var buf []byte
	for {
		select {
		case <-c.gone:
			return
		case <-c.wake:
			runtime.Gosched() // those who are about to send come along
		case <-timer.Chan():
		}
		due, givenUp := c.sendAll(n, mu, subject, head, &buf)
		if givenUp {
			lost()
			return
		}
		timer.Reset(due)
	}
}

// sendAll sends all that is due. It returns after how long to look again, at the latest.
func (c *conveyor) sendAll(n *Node, mu *sync.Mutex, subject string, head link.Packet, buf *[]byte) (due time.Duration, givenUp bool) {
	for {
		now := n.elapsed()
		mu.Lock()
		p, ok := c.stream.Next(now)
		if !ok {
			at, waits := c.stream.Due()
			givenUp = c.stream.GivenUp(now)
			mu.Unlock()
			if !waits {
				return time.Hour, false
			}
			return max(at-now, time.Millisecond), givenUp
		}
		p.Kind, p.From, p.Generation = head.Kind, head.From, head.Generation
		*buf = link.AppendPacket((*buf)[:0], p)
		mu.Unlock()
		if err := n.publish(subject, *buf); err != nil { // it is sent again
			n.cfg.Log.Debug("a packet for another node was not sent", "error", err)
		}
	}
}

func (n *Node) subjectOf(process string) string { return n.cfg.Name + ".node." + process }

// publish is what tests put their faults into.
func (n *Node) publish(subject string, data []byte) error {
	if n.tamper != nil {
		return n.tamper(subject, data)
	}
	return n.cfg.Conn.Publish(subject, data)
}

// receive takes a packet from another node.
func (n *Node) receive(m *nats.Msg) {
	p, err := link.ReadPacket(m.Data)
	switch {
	case err != nil || p.From == "" || len(p.From) > maxProcess:
		n.cfg.Log.Warn("a packet of another node cannot be read", "error", err)
	case p.Kind == link.FromClient:
		n.serve.receive(p)
	default:
		n.forward.receive(p)
	}
}
