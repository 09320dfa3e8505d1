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
	// waitingDatagrams is how many datagrams of a connection may wait for the network, besides the 32 that quic-go
	// queues.
	waitingDatagrams = 32
	// smallDatagram fits into one packet on every path.
	smallDatagram = 1000
)

// datagrams is the send queue of a connection's datagrams. quic-go blocks the sender while the network is congested,
// and a session's sender must not block: so a goroutine sends, which exists from the first datagram on.
type datagrams struct {
	small   int // up to this size a datagram fits without datagramLimit
	start   sync.Once
	waiting chan *[]byte
	running sync.WaitGroup
}

var datagramBuffers = sync.Pool{New: func() any { return new([]byte) }}

// SendDatagram implements gamenet.DatagramConn. It copies b. When too many wait it drops the oldest.
func (c *connection) SendDatagram(b []byte) error {
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

// push queues a datagram. If the queue is full it drops the oldest one.
func (d *datagrams) push(buffer *[]byte) {
	for d.waiting != nil { // nil after a Close before the first datagram
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

// stop waits until the sending goroutine has ended. The connection must be closed.
func (d *datagrams) stop() {
	d.start.Do(func() {}) // no goroutine starts any more
	d.running.Wait()
}

// sendDatagrams sends the queued datagrams until the connection ends.
func (c *connection) sendDatagrams() {
	ended := c.quic.Context().Done()
	for {
		select {
		case <-ended:
			return
		case buffer := <-c.datagrams.waiting:
			// It fails when the connection has ended, which ends the loop, or when the limit of the path has just
			// become smaller: then this datagram is lost.
			_ = c.quic.SendDatagram(*buffer) // copies
			datagramBuffers.Put(buffer)
		}
	}
}

// tooLarge is larger than any datagram. It is never read or written.
var tooLarge [1 << 16]byte

// datagramLimit returns the current maximum size of a datagram. quic-go reports it only in the error for a larger one.
func (c *connection) datagramLimit() int {
	e, ok := errors.AsType[*quicgo.DatagramTooLargeError](c.quic.SendDatagram(tooLarge[:]))
	if !ok {
		return 0
	}
	return int(e.MaxDatagramPayloadSize)
}

// ReceiveDatagram implements gamenet.DatagramConn.
func (c *connection) ReceiveDatagram(ctx context.Context) ([]byte, error) {
	b, err := c.quic.ReceiveDatagram(ctx)
	if err != nil {
		return nil, c.waited(ctx, err)
	}
	return b, nil
}
