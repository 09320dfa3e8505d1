package quic

import (
	"context"
	"errors"
	"fmt"
	"sync"

	quicgo "github.com/quic-go/quic-go"

	"github.com/muster-gg/muster/gamenet"
)

const (
	// waitingDatagrams is how many of a connection wait for the network at most, besides the 32 that quic-go keeps.
	waitingDatagrams = 32
	// smallDatagram fits into one packet on every path.
	smallDatagram = 1000
)

// datagrams is what a connection sends datagrams with. quic-go makes the sender wait when the network takes no more,
// and a session's sender must not: so a goroutine does, which exists from the first datagram on.
type datagrams struct {
	small   int // up to this size a datagram fits without asking
	start   sync.Once
	waiting chan *[]byte
	running sync.WaitGroup
}

var datagramBuffers = sync.Pool{New: func() any { return new([]byte) }}

// SendDatagram implements gamenet.DatagramConn. b is copied. When too many wait the oldest is dropped.
func (c *Conn) SendDatagram(b []byte) error {
	if _, err := c.opened(); err != nil {
		return err
	}
	if ctx := c.quic.Context(); ctx.Err() != nil {
		return c.named(context.Cause(ctx))
	}
	if len(b) > c.datagrams.small {
		if limit := c.datagramLimit(); len(b) > limit {
			return fmt.Errorf("%w: %d bytes, a datagram to %v holds %d", gamenet.ErrPacketTooLarge, len(b),
				c.RemoteAddr(), limit)
		}
	}
	c.datagrams.start.Do(func() {
		c.datagrams.waiting = make(chan *[]byte, waitingDatagrams)
		c.datagrams.running.Go(c.sendDatagrams)
	})
	buffer := datagramBuffers.Get().(*[]byte)
	*buffer = append((*buffer)[:0], b...)
	c.datagrams.push(buffer)
	return nil
}

// push queues a datagram, in the place of the oldest if there is no other.
func (d *datagrams) push(buffer *[]byte) {
	for d.waiting != nil { // nil: Close came first
		select {
		case d.waiting <- buffer:
			return
		default:
		}
		select {
		case oldest := <-d.waiting:
			datagramBuffers.Put(oldest)
		default:
		}
	}
}

// stop waits until nothing is sent any more. The connection is closed.
func (d *datagrams) stop() {
	d.start.Do(func() {}) // nothing begins any more
	d.running.Wait()
}

// sendDatagrams sends what waits until the connection ends.
func (c *Conn) sendDatagrams() {
	ended := c.quic.Context().Done()
	for {
		select {
		case <-ended:
			return
		case buffer := <-c.datagrams.waiting:
			// It fails when the connection has ended, which the next turn sees, or when the path has just become
			// narrower: then this datagram is lost.
			_ = c.quic.SendDatagram(*buffer) // copies
			datagramBuffers.Put(buffer)
		}
	}
}

// tooLarge is more than any datagram holds. Nobody reads or writes it.
var tooLarge [1 << 16]byte

// datagramLimit is the size of the largest datagram at this moment. quic-go tells it to those who exceed it.
func (c *Conn) datagramLimit() int {
	e, ok := errors.AsType[*quicgo.DatagramTooLargeError](c.quic.SendDatagram(tooLarge[:]))
	if !ok {
		return 0
	}
	return int(e.MaxDatagramPayloadSize)
}

// ReceiveDatagram implements gamenet.DatagramConn.
func (c *Conn) ReceiveDatagram(ctx context.Context) ([]byte, error) {
	b, err := c.quic.ReceiveDatagram(ctx)
	if err != nil {
		return nil, c.waited(ctx, err)
	}
	return b, nil
}
