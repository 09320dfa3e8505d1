package gamenet

import (
	"context"
	"encoding/binary"
	"time"
)

// Send queues a packet, and writes it at once if it can without waiting (see Config.FlushDelay). The payload is copied.
// nil means that the packet is queued or written, not that the other side has it. Otherwise it says what became of it:
// ErrClosed, ErrDropped, ErrSlowConsumer, ErrPacketTooLarge, ErrNoID or ErrReservedID.
func (s *Session) Send(p Packet) error {
	if p.ID >= FirstReservedID && s.service.ids {
		return ErrReservedID
	}
	return s.queue(context.Background(), s.service.cfg.WhenFull, p)
}

// SendContext is Send that waits for place in a full queue, whatever the policy, until ctx is done.
func (s *Session) SendContext(ctx context.Context, p Packet) error {
	if p.ID >= FirstReservedID && s.service.ids {
		return ErrReservedID
	}
	return s.queue(ctx, Block, p)
}

// sendControl queues a packet of the library's own, or drops it.
func (s *Session) sendControl(p Packet) error {
	return s.queue(context.Background(), DropNewest, p)
}

// queue encodes a packet into the queue. What most packets need is done here, with few calls: their stack frames are
// memory too, of each session its own.
func (s *Session) queue(ctx context.Context, policy FullPolicy, p Packet) error {
	v, o := s.service, &s.out
	o.mu.Lock()
	if o.state != outboxOpen {
		o.mu.Unlock()
		return ErrClosed
	}
	if v.foreign || !o.fits(&v.cfg, v.header+len(p.Payload), 1) {
		o.mu.Unlock()
		return s.queueFrame(ctx, policy, p)
	}
	err := o.push(v, p)
	write := err == nil && s.mayWrite()
	o.mu.Unlock()
	if write {
		s.flush()
	}
	return err
}

// queueFrame is queue when there may be no place, or with a codec that is not this package's. The packet is encoded
// first: so one that could never be sent costs nobody anything, and no foreign code runs under the lock.
func (s *Session) queueFrame(ctx context.Context, policy FullPolicy, p Packet) error {
	v := s.service
	f := newFrame(v.cfg.Codec, v.cfg.MaxPacket, v.header+len(p.Payload))
	defer f.Release()
	if err := f.append(p); err != nil {
		return err
	}
	return s.sendFrame(ctx, policy, f)
}

// push encodes a packet behind the others. If it fails the queue is as it was.
func (o *outbox) push(v *service, p Packet) error {
	f := o.tail(&v.cfg, v.header+len(p.Payload))
	before := len(f.bytes)
	b, err := v.encode(f.bytes, p)
	if len(b) == 0 { // refused, or a packet of no bytes, which Raw has
		o.frames = o.frames[:len(o.frames)-1]
		f.Release()
		return err
	}
	if err != nil {
		return err
	}
	f.bytes = b
	f.packets++
	o.bytes += len(b) - before
	o.packets++
	return nil
}

// SendFrame queues packets that are encoded already, as Send does, without copying them. The caller keeps its
// reference.
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

// SendDatagram sends a packet that may be lost or overtake others, and never waits for those before it, if the
// session's transport has datagrams: then it fails with ErrPacketTooLarge when one datagram cannot hold the packet. On
// other transports it is Send.
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
	s.out.corked = false
	write := len(s.out.frames) > 0 && s.mayWrite()
	s.out.mu.Unlock()
	if write {
		s.flush()
	}
}

// claim takes the right to write and what is to be written, if there is something and nobody has the right. The lock is
// held.
func (s *Session) claim() bool {
	o := &s.out
	if o.writing || len(o.frames) == 0 || o.state == outboxEnded {
		return false
	}
	o.writing = true
	o.current, o.frames, o.spare = o.frames, o.spare[:0], nil
	return true
}

// flushBytes is how much may gather before a FlushDelay is cut short.
const flushBytes = 32 << 10

// mayWrite takes the right to write for a goroutine that has queued something, unless it shall wait for more. The lock
// is held.
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

// beginClosing lets no more packets in, for a cause; the first one counts. The reason for the other side is the last
// packet, also of a full queue. It returns the state before.
func (s *Session) beginClosing(cause error, reason string) outboxState {
	bye := s.encodeBye(reason)
	o := &s.out
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.state
	if before < outboxClosing {
		o.state, o.cause = outboxClosing, cause
		o.wake()
	}
	switch {
	case bye == nil:
	case before == outboxOpen:
		o.frames = append(o.frames, bye)
		o.bytes += len(bye.bytes)
		o.packets++
	default:
		bye.Release()
	}
	return before
}

// encodeBye makes the packet that says why the session ends; nil if there is nothing to say, or no way to.
func (s *Session) encodeBye(reason string) *Frame {
	v := s.service
	if reason == "" || !v.ids {
		return nil
	}
	reason = reason[:min(len(reason), maxReason, v.cfg.MaxPacket-v.header)]
	f := newFrame(v.cfg.Codec, v.cfg.MaxPacket, v.header+len(reason))
	if err := f.append(Packet{ID: idBye, Payload: []byte(reason)}); err != nil {
		f.Release()
		return nil
	}
	return f
}

// finishWriting sees to it that what is queued is written and then the stream's end, without waiting for either.
func (s *Session) finishWriting() {
	o := &s.out
	o.mu.Lock()
	o.corked = false
	switch {
	case o.writing || o.state == outboxEnded: // the writer will see to it, or nobody
		o.mu.Unlock()
	case s.claim():
		o.mu.Unlock()
		s.flush()
	default:
		o.writing = true
		o.mu.Unlock()
		s.next(0, 0) // nothing is left but to say so
	}
}

// ping sends a ping that holds the time, as Unix nanoseconds.
func (s *Session) ping(now time.Time) {
	s.watched.pinged.Store(now.UnixNano())
	// One that finds the queue full is not needed: the peer has enough to answer.
	_ = s.sendControl(Packet{ID: idPing, Payload: binary.LittleEndian.AppendUint64(nil, uint64(now.UnixNano()))})
}
