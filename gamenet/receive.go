package gamenet

import (
	"context"
	"encoding/binary"
	"errors"
)

// An inbox holds received bytes that are not a complete packet yet. Its memory is pooled: a session between packets
// holds none.
type inbox struct {
	memory     []byte // nil when nothing is held
	start, end int    // of the undelivered bytes in memory
	frame      *Frame // owner of memory; nil when memory is borrowed for one read
}

const (
	// readSize is the buffer size of a read: several packets of most games, so that a burst needs one read.
	readSize = 8 << 10
	// restSize is the largest incomplete packet that is moved to a small buffer, so that many sessions with half a
	// packet each do not hold much memory.
	restSize = smallestFrame
)

// borrow uses memory of the caller for one read: settle then moves the rest to other memory.
func (in *inbox) borrow(memory []byte) { in.memory, in.start, in.end = memory, 0, 0 }

// space returns the buffer to read into: at least least/2 bytes, usually more.
func (in *inbox) space(least int) []byte {
	if in.memory == nil {
		in.replace(newFrame(nil, 0, least))
	}
	if len(in.memory)-in.end < least/2 {
		// The rest moves to the front, or to larger memory. Its size depends on the bytes received, not on the size in
		// a header.
		if rest := in.end - in.start; rest+least/2 <= len(in.memory) {
			in.start, in.end = 0, copy(in.memory, in.memory[in.start:in.end])
		} else {
			in.replace(newFrame(nil, 0, rest+max(rest, least)))
		}
	}
	return in.memory[in.end:]
}

// replace moves the rest to other memory.
func (in *inbox) replace(by *Frame) {
	memory := by.bytes[:cap(by.bytes)]
	n := copy(memory, in.rest())
	in.free()
	*in = inbox{memory: memory, end: n, frame: by}
}

// rest returns the undelivered bytes.
func (in *inbox) rest() []byte { return in.memory[in.start:in.end] }

// settle releases the memory that is not needed while nothing arrives, and all that is borrowed.
func (in *inbox) settle() {
	switch n := in.end - in.start; {
	case n == 0:
		in.free()
	case in.frame == nil, n <= restSize && len(in.memory) > restSize:
		in.replace(newFrame(nil, 0, n))
	}
}

// free releases all memory.
func (in *inbox) free() {
	if in.frame != nil {
		in.frame.Release()
	}
	*in = inbox{}
}

// readStream reads until the connection ends. It holds a buffer while it waits: for connections that cannot report
// readiness without reading.
func (s *Session) readStream() error {
	const waiting = 4 << 10 // the buffer of an idle session
	for {
		n, err := s.conn.Read(s.in.space(waiting))
		if n > 0 {
			s.received(n)
		}
		if err != nil {
			return err
		}
	}
}

// received delivers the packets that n more bytes have completed. It does not fail: an invalid packet ends the session.
func (s *Session) received(n int) {
	s.in.end += n
	s.bytesIn.Add(uint64(n))
	mark(&s.watched.received)
	switch m := s.service.cfg.Metrics; {
	case s.over.Load():
		s.in.start, s.in.end = 0, 0
	case m == nil:
		s.packetsIn.Add(uint64(s.deliver()))
	default:
		began := s.service.cfg.clock.Now()
		packets := s.deliver()
		s.packetsIn.Add(uint64(packets))
		m.Received(n, packets, s.service.cfg.clock.Since(began))
	}
}

// deliver calls the handler for each complete packet. The packets that the handler sends are gathered while another
// received packet waits, and flushed after the last one.
func (s *Session) deliver() (packets int) {
	s.turn.Lock()
	defer s.endTurn()
	next, size, err := s.service.decode(s.in.rest())
	for size > 0 && !s.over.Load() {
		p := next
		s.in.start += size
		next, size, err = s.service.decode(s.in.rest())
		if packets++; size > 0 == (packets == 1) { // with the first of several, and with the last
			s.out.cork(size > 0)
		}
		if p.ID < FirstReservedID || !s.service.ids {
			mark(&s.watched.started)
			s.handler.OnPacket(s, p)
		} else {
			s.control(p)
		}
	}
	if packets > 1 {
		s.flushGathered()
	}
	if s.over.Load() {
		s.in.start = s.in.end
	} else if err != nil {
		s.service.report("invalid packet", err)
		s.abort(err, reasonInvalidPacket)
	}
	return packets
}

// endTurn is deferred around callbacks. A panic ends the session, not the process.
func (s *Session) endTurn() {
	if v := recover(); v != nil {
		s.panicked(v)
	}
	s.turn.Unlock()
}

// control handles a packet with a reserved id.
func (s *Session) control(p Packet) {
	switch p.ID {
	case idPing:
		// If the queue is full the pong is dropped: the other side then receives other packets anyway.
		_ = s.sendControl(Packet{ID: idPong, Payload: p.Payload})
	case idPong:
		s.pong(p.Payload)
	case idBye:
		reason := readReason(p.Payload)
		s.peer = &reason
	}
}

// pong stores the round-trip time of a ping. It ignores answers to any but the last ping.
func (s *Session) pong(payload []byte) {
	sent := s.watched.pinged.Load()
	if len(payload) == pingSize && sent != 0 && binary.LittleEndian.Uint64(payload) == uint64(sent) {
		s.watched.rtt.Store(max(int64(1), s.service.cfg.clock.Now().UnixNano()-sent))
	}
}

// startDatagrams receives datagrams, if the connection has them, until stop is called.
func (s *Session) startDatagrams() (stop func()) {
	conn, ok := s.conn.(DatagramConn)
	if !ok {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.readDatagrams(ctx, conn)
	}()
	return func() { cancel(); <-done }
}

// readDatagrams delivers datagrams until the session ends.
func (s *Session) readDatagrams(ctx context.Context, conn DatagramConn) {
	for ctx.Err() == nil && !s.over.Load() {
		b, err := conn.ReceiveDatagram(ctx)
		if err != nil {
			return // the stream of the same connection ends too, with the cause
		}
		s.receivedDatagram(b)
	}
}

// receivedDatagram delivers the one packet of a datagram. An invalid datagram is dropped, because datagrams may be lost
// anyway.
func (s *Session) receivedDatagram(b []byte) {
	s.bytesIn.Add(uint64(len(b)))
	mark(&s.watched.received)
	if len(b) == 0 {
		return
	}
	cfg := &s.service.cfg
	p, size, err := s.service.decode(b)
	if err != nil || size != len(b) || checkID(cfg.Codec, p.ID) != nil {
		s.service.report("invalid datagram", errors.Join(ErrFrame, err))
		return
	}
	s.call(func() {
		if s.over.Load() {
			return
		}
		mark(&s.watched.started)
		s.packetsIn.Add(1)
		if cfg.Metrics == nil {
			s.handler.OnPacket(s, p)
			return
		}
		began := cfg.clock.Now()
		s.handler.OnPacket(s, p)
		cfg.Metrics.Received(len(b), 1, cfg.clock.Since(began))
	})
}
