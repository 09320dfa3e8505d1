package gamenet

import (
	"context"
	"encoding/binary"
	"time"
)

// Send queues a packet, and writes it at once if it can without waiting (see Config.FlushDelay). The payload is copied.
// nil means that the packet is queued or written, not that the other side received it. Other results are ErrClosed,
// ErrDropped, ErrSlowConsumer, ErrPacketTooLarge or ErrInvalidID.
func (s *Session) Send(p Packet) error {
	if p.ID >= FirstReservedID && s.service.ids {
		return ErrInvalidID
	}
	return s.queue(context.Background(), s.service.cfg.WhenFull, p)
}

// SendContext is Send that waits for space in a full queue, whatever the policy, until ctx is done.
func (s *Session) SendContext(ctx context.Context, p Packet) error {
	if p.ID >= FirstReservedID && s.service.ids {
		return ErrInvalidID
	}
	return s.queue(ctx, FullBlock, p)
}

// sendControl queues a packet with a reserved id, or drops it if the queue is full.
func (s *Session) sendControl(p Packet) error {
	return s.queue(context.Background(), FullDropNewest, p)
}

// queue encodes a packet into the queue. The common case is handled here with few calls, because deeper stacks would
// cost memory in each session's goroutine.
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

// queueFrame is queue for a full queue, or for a codec of another package. It encodes the packet first, so that an
// invalid packet displaces no other, and no foreign code runs under the lock.
func (s *Session) queueFrame(ctx context.Context, policy FullPolicy, p Packet) error {
	v := s.service
	f := newFrame(v.cfg.Codec, v.cfg.MaxPacket, v.header+len(p.Payload))
	defer f.Release()
	if err := f.append(p); err != nil {
		return err
	}
	return s.sendFrame(ctx, policy, f)
}

// push encodes a packet at the end of the queue. If it fails the queue is unchanged.
func (o *outbox) push(v *service, p Packet) error {
	f := o.tail(&v.cfg, v.header+len(p.Payload))
	before := len(f.bytes)
	b, err := v.encode(f.bytes, p)
	if len(b) == 0 { // an error, or an empty packet, which Raw allows
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

// SendFrame queues the encoded packets of a frame, as Send does, without copying them. The caller keeps its reference.
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

// refused ends the session if the policy is FullDisconnect and the queue is full. It returns err.
func (s *Session) refused(err error) error {
	if err == ErrSlowConsumer {
		s.cut(err)
	}
	return err
}

// SendDatagram sends a packet that may be lost or overtake others, and never waits for earlier ones, if the session's
// transport has datagrams. It then fails with ErrPacketTooLarge when one datagram cannot hold the packet. On other
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

// Flush starts writing the packets that FlushDelay holds back. It does not wait.
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

// flushGathered writes the packets that callbacks have sent while more received packets waited.
func (s *Session) flushGathered() {
	s.out.mu.Lock()
	s.out.corked = false
	write := len(s.out.frames) > 0 && s.mayWrite()
	s.out.mu.Unlock()
	if write {
		s.flush()
	}
}

// claim makes the caller the writer and moves the queue to current, if the queue is not empty and there is no writer.
// The lock is held.
func (s *Session) claim() bool {
	o := &s.out
	if o.writing || len(o.frames) == 0 || o.state == outboxEnded {
		return false
	}
	o.writing = true
	o.current, o.frames, o.spare = o.frames, o.spare[:0], nil
	return true
}

// flushBytes is the number of queued bytes that ends a FlushDelay early.
const flushBytes = 32 << 10

// mayWrite makes a goroutine that has queued packets the writer, unless it should wait for more packets. The lock is
// held.
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

// writeLater schedules a flush of held-back packets. The lock is held.
func (s *Session) writeLater() {
	if !s.out.delayed {
		s.out.delayed = true
		s.service.delay.add(s)
	}
}

// flushDelayed writes the held-back packets, if they have not been written meanwhile.
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

// beginClosing stops accepting packets and stores the cause, unless one is stored. It queues the reason for the other
// side, unless that is nil, as the last packet, even if the queue is full. It returns the previous state.
func (s *Session) beginClosing(cause error, reason *Reason) outboxState {
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

// encodeBye returns the packet with the reason why the session ends; nil without a reason, or with a codec without ids.
func (s *Session) encodeBye(reason *Reason) *Frame {
	v := s.service
	if reason == nil || !v.ids {
		return nil
	}
	payload := reason.append(nil, v.cfg.MaxPacket-v.header-reasonHead)
	f := newFrame(v.cfg.Codec, v.cfg.MaxPacket, v.header+len(payload))
	if err := f.append(Packet{ID: idBye, Payload: payload}); err != nil {
		f.Release()
		return nil
	}
	return f
}

// finishWriting starts writing the queue and then the end of the stream. It waits for neither.
func (s *Session) finishWriting() {
	o := &s.out
	o.mu.Lock()
	o.corked = false
	switch {
	case o.writing || o.state == outboxEnded: // the writer does it, or nothing more is written
		o.mu.Unlock()
	case s.claim():
		o.mu.Unlock()
		s.flush()
	default:
		o.writing = true
		o.mu.Unlock()
		s.next(0, 0) // the queue is empty: only end the stream
	}
}

// ping sends a ping whose payload is the time in Unix nanoseconds.
func (s *Session) ping(now time.Time) {
	s.watched.pinged.Store(now.UnixNano())
	// If the queue is full the ping is dropped: the peer has other packets to answer.
	_ = s.sendControl(Packet{ID: idPing, Payload: binary.LittleEndian.AppendUint64(nil, uint64(now.UnixNano()))})
}
