package gamenet

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// An outbox is the send queue of one session. A goroutine that queues a packet while no other writes becomes the
// writer: the field writing is the right to write.
type outbox struct {
	mu      sync.Mutex
	state   outboxState
	corked  bool     // more received packets wait for their callbacks
	delayed bool     // in the service's list of sessions to flush, see delayer
	halved  bool     // CloseWrite was called
	writing bool     // a goroutine has the right to write
	bytes   int      // queued or being written
	packets int      // queued or being written
	frames  []*Frame // queued, oldest first

	// Used by the writer only.
	current []*Frame // being written
	offset  int      // bytes of current[0] that are written
	spare   []*Frame // slice to reuse for frames

	last    int64         // start of the last write, in nanoseconds of the service; with FlushDelay
	space   chan struct{} // closed when there is space; nil when nothing waits for it
	stopped chan struct{} // closed when no goroutine writes; nil when nothing waits for it
	cause   error         // why the session ends; set on closing
}

type outboxState uint8

const (
	outboxNew     outboxState = iota
	outboxOpen                // accepts packets
	outboxClosing             // accepts none, writes the queue
	outboxEnded               // accepts none, writes nothing more
)

// open starts accepting packets. It reports false if the session is closing already.
func (o *outbox) open() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state != outboxNew {
		return false
	}
	o.state = outboxOpen
	return true
}

// end waits until no goroutine writes, drops the queue, and returns the cause. The connection must be closed, so that
// it waits only briefly.
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

// whenStopped returns a channel that is closed when no goroutine writes; nil if none writes now.
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

// wake makes the goroutines that wait for space check again.
func (o *outbox) wake() {
	if o.space != nil {
		close(o.space)
		o.space = nil
	}
}

// cork starts or stops holding back sent packets.
func (o *outbox) cork(on bool) {
	o.mu.Lock()
	o.corked = on
	o.mu.Unlock()
}

// tail returns the frame to append a packet of n bytes to: the last one, if it belongs to this queue alone and has
// space, or a new one.
func (o *outbox) tail(cfg *Config, n int) *Frame {
	size := n
	if o.corked || cfg.FlushDelay > 0 {
		size = max(n, gatheringTail)
	}
	if last := len(o.frames) - 1; last >= 0 && o.frames[last].private && cfg.WhenFull != FullDropOldest {
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

// gatheringTail is the size of the first frame when more packets are expected.
const gatheringTail = 4 << 10

// largestTail is the size of the largest frame in which packets are gathered, unless one packet is larger.
const largestTail = 16 << 10

// dropOldest makes space for n bytes and k packets, if dropping packets that are not being written is enough. It
// returns the number of dropped packets.
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

// admit ensures space for n bytes and k packets according to the policy. The lock is held, and released while it waits.
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
		case FullDisconnect:
			return ErrSlowConsumer
		case FullDropOldest:
			if dropped := o.dropOldest(cfg, n, k); dropped > 0 {
				s.lost(dropped)
				return nil
			}
			fallthrough // too much of the queue is being written
		case FullDropNewest:
			s.lost(k)
			return ErrDropped
		default:
			if err := s.awaitSpace(ctx); err != nil {
				return err
			}
		}
	}
}

// lost counts dropped packets.
func (s *Session) lost(packets int) {
	s.dropped.Add(uint64(packets))
	if m := s.service.cfg.Metrics; m != nil {
		m.Dropped(packets)
	}
}

// awaitSpace waits until something has been written or the session ends. The lock is held on entry and return.
func (s *Session) awaitSpace(ctx context.Context) error {
	o := &s.out
	if o.space == nil {
		o.space = make(chan struct{})
	}
	space := o.space
	o.corked = false
	write := s.claim() // packets that were held back: no other goroutine would write them now
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
