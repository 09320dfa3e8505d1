package gamenet

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// An outbox holds what waits to be written to one session. Whoever queues something while nobody writes becomes the
// writer: the field writing is the right to write.
type outbox struct {
	mu      sync.Mutex
	state   outboxState
	corked  bool     // more received packets wait for their callbacks
	delayed bool     // in the service's list of sessions to flush, see delayer
	halved  bool     // CloseWrite was called
	writing bool     // a goroutine has the right to write
	bytes   int      // wait or are being written
	packets int      // wait or are being written
	frames  []*Frame // wait, oldest first

	// Of whoever writes.
	current []*Frame // being written
	offset  int      // bytes of the first one that are written
	spare   []*Frame // memory for the next frames

	last    int64         // when writing last began, in nanoseconds of the service; with FlushDelay
	space   chan struct{} // closed when there is place; nil when nobody waits for that
	stopped chan struct{} // closed when nobody writes; nil when nobody waits for that
	cause   error         // why the session ends; set on closing
}

type outboxState uint8

const (
	outboxNew     outboxState = iota
	outboxOpen                // takes packets
	outboxClosing             // takes none, writes what it has
	outboxEnded               // takes none, and writes nothing more
)

// open lets packets in. It fails if the session is closing already.
func (o *outbox) open() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state != outboxNew {
		return false
	}
	o.state = outboxOpen
	return true
}

// end waits until nobody writes and drops what is queued. The connection is closed, so that takes no time. It returns
// the cause.
func (o *outbox) end() error {
	o.mu.Lock()
	o.state = outboxEnded
	o.mu.Unlock()
	if stopped := o.whenStopped(); stopped != nil {
		<-stopped
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range append(o.current, o.frames...) {
		f.Release()
	}
	o.current, o.frames, o.spare, o.bytes, o.packets = nil, nil, nil, 0, 0
	return o.cause
}

// whenStopped is closed when nobody writes any more; nil if nobody does.
func (o *outbox) whenStopped() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.writing {
		return nil
	}
	if o.stopped == nil {
		o.stopped = make(chan struct{})
	}
	return o.stopped
}

// wake tells those who wait for place to look again.
func (o *outbox) wake() {
	if o.space != nil {
		close(o.space)
		o.space = nil
	}
}

// cork holds back what is sent from now on, or ends that.
func (o *outbox) cork(on bool) {
	o.mu.Lock()
	o.corked = on
	o.mu.Unlock()
}

// tail is the frame that a packet of n bytes is appended to: the last one, if it belongs to this queue alone and has
// place.
func (o *outbox) tail(cfg *Config, n int) *Frame {
	size := n
	if o.corked || cfg.FlushDelay > 0 {
		size = max(n, gatheringTail)
	}
	if last := len(o.frames) - 1; last >= 0 && o.frames[last].private && cfg.WhenFull != DropOldest {
		f := o.frames[last]
		if len(f.bytes)+n <= cap(f.bytes) {
			return f
		}
		size = max(n, min(2*cap(f.bytes), largestTail))
	}
	f := newFrame(cfg.Codec, cfg.MaxPacket, size)
	f.private = true
	o.frames = append(o.frames, f)
	return f
}

// gatheringTail is the first frame for packets of which more are to come.
const gatheringTail = 4 << 10

// largestTail is the largest frame that packets of one session are gathered in, unless one packet is larger.
const largestTail = 16 << 10

// dropOldest makes place for n bytes and k packets, if dropping what nobody writes yet is enough. It returns the number
// of packets dropped.
func (o *outbox) dropOldest(cfg *Config, n, k int) (dropped int) {
	drop, bytes, packets := 0, o.bytes, o.packets
	for bytes+n > cfg.QueueBytes || packets+k > cfg.QueuePackets {
		if drop == len(o.frames) {
			return 0
		}
		bytes -= len(o.frames[drop].bytes)
		packets -= o.frames[drop].packets
		drop++
	}
	for _, f := range o.frames[:drop] {
		f.Release()
	}
	dropped = o.packets - packets
	o.bytes, o.packets = bytes, packets
	o.frames = slices.Delete(o.frames, 0, drop)
	return dropped
}

func (o *outbox) fits(cfg *Config, n, k int) bool {
	return o.bytes+n <= cfg.QueueBytes && o.packets+k <= cfg.QueuePackets
}

// admit makes sure that n bytes and k packets have place, as the policy has it. The lock is held, and is let go while
// it waits.
func (s *Session) admit(ctx context.Context, policy FullPolicy, n, k int) error {
	o, cfg := &s.out, &s.service.cfg
	for {
		switch {
		case o.state != outboxOpen:
			return ErrClosed
		case o.fits(cfg, n, k):
			return nil
		case n > cfg.QueueBytes || k > cfg.QueuePackets:
			return fmt.Errorf("%w: %d bytes in %d packets, the queue holds %d in %d", ErrPacketTooLarge, n, k,
				cfg.QueueBytes, cfg.QueuePackets)
		}
		switch policy {
		case Disconnect:
			return ErrSlowConsumer
		case DropOldest:
			if dropped := o.dropOldest(cfg, n, k); dropped > 0 {
				s.lost(dropped)
				return nil
			}
			fallthrough // too much of it is being written
		case DropNewest:
			s.lost(k)
			return ErrDropped
		default:
			if err := s.awaitSpace(ctx); err != nil {
				return err
			}
		}
	}
}

// lost counts packets that are dropped.
func (s *Session) lost(packets int) {
	s.dropped.Add(uint64(packets))
	if m := s.service.cfg.Metrics; m != nil {
		m.Dropped(packets)
	}
}

// awaitSpace waits until something has been written or the session ends. The lock is held before and after.
func (s *Session) awaitSpace(ctx context.Context) error {
	o := &s.out
	if o.space == nil {
		o.space = make(chan struct{})
	}
	space := o.space
	o.corked = false
	write := s.claim() // it was held back, that is: nobody else would write it now
	o.mu.Unlock()
	defer o.mu.Lock()
	if write {
		s.flush()
	}
	select {
	case <-space:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
