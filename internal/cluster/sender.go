package cluster

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/muster-gg/muster/internal/cluster/channel"
)

// maxPiece is the maximum payload of a packet. Larger ones would delay others.
const maxPiece = 256 << 10

// A sender is the goroutine that sends the packets of one end of a channel.
type sender struct {
	n    *Node
	end  *channel.End // guarded by mu
	mu   *sync.Mutex
	lost func(*channel.End) // is called without the lock when nothing was received for Config.Patience
	wake chan struct{}
	gone chan struct{}
}

// channels configures the channels of a machine that mu guards.
func (n *Node) channels(mu *sync.Mutex, lost func(*channel.End)) channel.Config {
	return channel.Config{
		Process: n.process, Patience: n.cfg.Patience, MaxPiece: n.maxPiece,
		Carry: func(end *channel.End) channel.Carrier {
			c := &sender{n: n, end: end, mu: mu, lost: lost, wake: make(chan struct{}, 1), gone: make(chan struct{})}
			n.workers.Go(c.run)
			return c
		},
	}
}

func (n *Node) maxPiece() int {
	if limit := int(n.cfg.Conn.MaxPayload()) - channel.Overhead(n.process); limit > 0 {
		return min(maxPiece, limit)
	}
	return maxPiece
}

// Signal wakes the goroutine.
func (c *sender) Signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Close ends the goroutine.
func (c *sender) Close() { close(c.gone) }

func (c *sender) run() {
	timer := c.n.cfg.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	subject := c.n.subjectOf(c.end.Process)
	var buf []byte
	for {
		select {
		case <-c.gone:
			return
		case <-c.wake:
			runtime.Gosched() // collect frames of concurrent senders
		case <-timer.Chan():
		}
		due, givenUp := c.sendAll(subject, &buf)
		if givenUp {
			c.lost(c.end)
			return
		}
		timer.Reset(due)
	}
}

// sendAll sends all that is due. It returns the time until the next check.
func (c *sender) sendAll(subject string, buf *[]byte) (due time.Duration, givenUp bool) {
	for {
		now := c.n.elapsed()
		c.mu.Lock()
		p, ok := c.end.Next(now)
		if !ok {
			at, waits := c.end.Due()
			givenUp = c.end.GivenUp(now)
			c.mu.Unlock()
			if !waits {
				return time.Hour, false
			}
			return max(at-now, time.Millisecond), givenUp
		}
		*buf = channel.AppendPacket((*buf)[:0], p)
		c.mu.Unlock()
		c.n.publish(subject, *buf)
	}
}

// publish sends a packet; if that fails, the stream sends it again.
func (n *Node) publish(subject string, packet []byte) {
	if err := n.packets.Publish(subject, packet); err != nil {
		n.cfg.Log.Debug("packet not sent", "error", err)
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

func (v *view) has(process string) bool {
	return slices.ContainsFunc(v.members, func(m Member) bool { return m.Process == process })
}
