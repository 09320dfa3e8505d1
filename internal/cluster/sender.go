package cluster

import (
	"runtime"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/muster-gg/muster/internal/cluster/channel"
)

// maxPiece is the maximum payload of a packet. Larger ones would delay others.
const maxPiece = 256 << 10

// A sender is one end of a channel, and the goroutine that sends its packets.
type sender struct {
	stream     *channel.Stream // guarded by the owner's lock
	generation uint64
	wake       chan struct{}
	gone       chan struct{}
}

// newSender creates one end of a channel to a process; head has the common fields of its packets. lost is called
// without the lock when nothing was received for Config.Patience.
func (n *Node) newSender(mu *sync.Mutex, to string, head channel.Packet, lost func()) *sender {
	head.From = n.process
	piece := int64(maxPiece)
	if limit := n.cfg.Conn.MaxPayload() - int64(channel.Overhead(n.process)); limit > 0 {
		piece = min(piece, limit)
	}
	c := &sender{
		stream: channel.NewStream(int(piece), n.cfg.Patience), generation: head.Generation,
		wake: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	n.workers.Go(func() { c.run(n, mu, n.subjectOf(to), head, lost) })
	return c
}

// signal wakes the goroutine.
func (c *sender) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// close ends the goroutine, and prevents further sends. The caller holds the owner's lock, and relies on what was
// sent until then.
func (c *sender) close() {
	c.stream.Close()
	close(c.gone)
}

func (c *sender) run(n *Node, mu *sync.Mutex, subject string, head channel.Packet, lost func()) {
	timer := n.cfg.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	var buf []byte
	for {
		select {
		case <-c.gone:
			return
		case <-c.wake:
			runtime.Gosched() // collect frames of concurrent senders
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

// sendAll sends all that is due. It returns the time until the next check.
func (c *sender) sendAll(n *Node, mu *sync.Mutex, subject string, head channel.Packet, buf *[]byte) (due time.Duration, givenUp bool) {
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
		*buf = channel.AppendPacket((*buf)[:0], p)
		mu.Unlock()
		if err := n.packets.Publish(subject, *buf); err != nil { // the stream sends it again
			n.cfg.Log.Debug("packet not sent", "error", err)
		}
	}
}

func (n *Node) subjectOf(process string) string { return n.cfg.Name + ".node." + process }

// receive processes a packet from another node.
func (n *Node) receive(m *nats.Msg) {
	p, err := channel.ReadPacket(m.Data)
	switch {
	case err != nil || p.From == "" || len(p.From) > maxProcess:
		n.cfg.Log.Warn("malformed packet of another node", "error", err)
	case p.Kind == channel.FromClient:
		n.serve.receive(p)
	default:
		n.forward.receive(p)
	}
}
