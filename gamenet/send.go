package gamenet

import (
	"context"
	"encoding/binary"
	"time"
)

// Send queues a packet, and writes it at once if it can without waiting (see
// Config.FlushDelay). The payload is copied. nil means that the packet is queued
// or written, not that the other side has it. Otherwise it says what became of it:
// ErrClosed, ErrDropped, ErrSlowConsumer, ErrPacketTooLarge, ErrNoID or
// ErrReservedID.
func (s *Session) Send(p Packet) error {
	return s.send(context.Background(), s.service.cfg.WhenFull, p)
}

// SendContext is Send that waits for place in a full queue, whatever the policy,
// until ctx is done.
func (s *Session) SendContext(ctx context.Context, p Packet) error {
	return s.send(ctx, Block, p)
}

func (s *Session) send(ctx context.Context, policy FullPolicy, p Packet) error {
	if p.ID >= FirstReservedID && s.service.ids {
		return ErrReservedID
	}
	return s.queue(ctx, policy, p)
}

// sendControl queues a packet of the library's own, or drops it.
func (s *Session) sendControl(p Packet) error {
	return s.queue(context.Background(), DropNewest, p)
}

// queue encodes a packet into the queue.
func (s *Session) queue(ctx context.Context, policy FullPolicy, p Packet) error {
	cfg, o := &s.service.cfg, &s.out
	o.mu.Lock()
	if o.state == outboxOpen && !o.fits(cfg, s.service.header+len(p.Payload), 1) {
		o.mu.Unlock()
		return s.queueFull(ctx, policy, p)
	}
	if o.state != outboxOpen {
		o.mu.Unlock()
		return ErrClosed
	}
	write, err := s.pushLocked(p)
	if write {
		s.flush()
	}
	return err
}

// pushLocked encodes a packet into the queue, and takes the right to write if it
// shall be written now. It lets the lock go, even if the codec panics.
func (s *Session) pushLocked(p Packet) (write bool, err error) {
	defer s.out.mu.Unlock()
	err = s.out.push(s.service, p)
	return err == nil && s.mayWrite(), err
}

// queueFull is queue when there may be no place. The packet is encoded first, so
// that one that could never be sent costs nobody anything.
func (s *Session) queueFull(ctx context.Context, policy FullPolicy, p Packet) error {
	cfg := &s.service.cfg
	f := newFrame(cfg.Codec, cfg.MaxPacket, cfg.Codec.Header()+len(p.Payload))
	defer f.Release()
	if err := f.append(p); err != nil {
		return err
	}
	return s.sendFrame(ctx, policy, f)
}

// push encodes a packet behind the others. If it fails the queue is as it was.
func (o *outbox) push(s *service, p Packet) error {
	f := o.tail(&s.cfg, s.header+len(p.Payload))
	before := len(f.bytes)
	err := f.append(p)
	if len(f.bytes) == 0 { // refused, or a packet of no bytes, which Raw has
		o.frames = o.frames[:len(o.frames)-1]
		f.Release()
		return err
	}
	if err != nil {
		return err
	}
	o.bytes += len(f.bytes) - before
	o.packets++
	return nil
}

// SendFrame queues packets that are encoded already, as Send does, without
// copying them. The caller keeps its reference.
func (s *Session) SendFrame(f *Frame) error {
	return s.sendFrame(context.Background(), s.service.cfg.WhenFull, f)
}

func (s *Session) sendFrame(ctx context.Context, policy FullPolicy, f *Frame) error {
	if len(f.bytes) == 0 {
		return nil
	}
	o := &s.out
	o.mu.Lock()
	if err := s.admit(ctx, policy, len(f.bytes), f.packets); err != nil {
		o.mu.Unlock()
		return s.refused(err)
	}
	f.Retain()
	o.frames = append(o.frames, f)
	o.bytes += len(f.bytes)
	o.packets += f.packets
	write := s.mayWrite()
	o.mu.Unlock()
	if write {
		s.flush()
	}
	return nil
}

// refused does what the policy wants done about a packet that has no place.
func (s *Session) refused(err error) error {
	if err == ErrSlowConsumer {
		s.cut(err)
	}
	return err
}

// SendDatagram sends a packet that may be lost or overtake others, and never
// waits for those before it, if the session's transport has datagrams: then it
// fails with ErrPacketTooLarge when one datagram cannot hold the packet. On other
// transports it is Send.
func (s *Session) SendDatagram(p Packet) error {
	conn, ok := s.conn.(DatagramConn)
	if !ok {
		return s.Send(p)
	}
	if s.over.Load() {
		return ErrClosed
	}
	cfg := &s.service.cfg
	f := newFrame(cfg.Codec, cfg.MaxPacket, cfg.Codec.Header()+len(p.Payload))
	defer f.Release()
	if err := f.Append(p); err != nil {
		return err
	}
	if err := conn.SendDatagram(f.bytes); err != nil {
		return err
	}
	s.count(len(f.bytes), 1, 0)
	return nil
}

// Flush begins to write what FlushDelay holds back.
func (s *Session) Flush() error {
	o := &s.out
	o.mu.Lock()
	if o.state != outboxOpen {
		o.mu.Unlock()
		return ErrClosed
	}
	write := s.claim()
	o.mu.Unlock()
	if write {
		s.flush()
	}
	return nil
}

// flushGathered writes what callbacks have sent while more packets waited.
func (s *Session) flushGathered() {
	s.out.mu.Lock()
	write := len(s.out.frames) > 0 && s.mayWrite()
	s.out.mu.Unlock()
	if write {
		s.flush()
	}
}

// claim takes the right to write, if there is something to write and nobody has
// it. The lock is held.
func (s *Session) claim() bool {
	o := &s.out
	if o.writing || len(o.frames) == 0 || o.state == outboxEnded {
		return false
	}
	o.writing = true
	return true
}

// flushBytes is how much may gather before a FlushDelay is cut short.
const flushBytes = 32 << 10

// mayWrite takes the right to write for somebody who has queued something, unless
// it shall wait for more. The lock is held.
func (s *Session) mayWrite() bool {
	o, cfg := &s.out, &s.service.cfg
	if o.writing {
		return false
	}
	if o.corked {
		s.writeLater() // the callback may take long
		return false
	}
	if cfg.FlushDelay > 0 {
		now := s.service.elapsed()
		if now-o.last < int64(cfg.FlushDelay) && o.bytes < flushBytes {
			s.writeLater()
			return false
		}
		o.last = now
	}
	return s.claim()
}

// writeLater makes sure that what is held back goes out soon. The lock is held.
func (s *Session) writeLater() {
	if !s.out.delayed {
		s.out.delayed = true
		s.service.delay.add(s)
	}
}

// flushDelayed writes what has been held back, if it has not gone out meanwhile.
func (s *Session) flushDelayed() {
	s.out.mu.Lock()
	s.out.delayed = false
	if s.service.cfg.FlushDelay > 0 {
		s.out.last = s.service.elapsed()
	}
	write := s.claim()
	s.out.mu.Unlock()
	if write {
		s.flush()
	}
}

// maxReason is the longest reason that is sent or believed, in bytes.
const maxReason = 256

// beginClosing lets no more packets in, for a cause; the first one counts. The
// reason for the other side is the last packet, also of a full queue. It returns
// the state before.
func (s *Session) beginClosing(cause error, reason string) outboxState {
	cfg, o := &s.service.cfg, &s.out
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.state
	if before >= outboxClosing {
		return before
	}
	o.state, o.cause = outboxClosing, cause
	o.wake()
	if before == outboxOpen && reason != "" && cfg.Codec.HasIDs() {
		reason = reason[:min(len(reason), maxReason, cfg.MaxPacket-cfg.Codec.Header())]
		_ = o.push(s.service, Packet{ID: idBye, Payload: []byte(reason)}) // it fits: it was cut to the limit
	}
	return before
}

// finishWriting sees to it that what is queued is written and then the stream's
// end, without waiting for either.
func (s *Session) finishWriting() {
	o := &s.out
	o.mu.Lock()
	o.corked = false
	write := !o.writing && o.state != outboxEnded
	if write {
		o.writing = true
	}
	o.mu.Unlock()
	if write {
		s.flush()
	}
}

// ping sends a ping that holds the time, as Unix nanoseconds.
func (s *Session) ping(now time.Time) {
	s.watched.pinged.Store(now.UnixNano())
	// One that finds the queue full is not needed: the peer has enough to answer.
	_ = s.sendControl(Packet{ID: idPing, Payload: binary.LittleEndian.AppendUint64(nil, uint64(now.UnixNano()))})
}
