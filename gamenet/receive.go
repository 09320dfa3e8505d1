package gamenet

import (
	"context"
	"encoding/binary"
	"errors"
)

// An inbox holds what was received and is not a whole packet yet. Its memory is pooled: a session between packets has
// none.
type inbox struct {
	memory     []byte // nil when nothing is held
	start, end int    // of the bytes in memory that are not delivered yet
	frame      *Frame // whose memory it is; nil when it is borrowed for one read
}

const (
	// readSize is the place that a read offers: several packets of most games, so that a burst takes one read.
	readSize = 8 << 10
	// restSize is the largest rest that is copied into a small buffer, so that many sessions with half a packet each do
	// not hold much memory.
	restSize = smallestFrame
)

// borrow uses memory that its owner needs back after the read: settle keeps what is left elsewhere.
func (in *inbox) borrow(memory []byte) { in.memory, in.start, in.end = memory, 0, 0 }

// space is where to read to: at least half of least, usually more.
func (in *inbox) space(least int) []byte {
	if in.memory == nil {
		in.replace(newFrame(nil, 0, least))
	}
	if len(in.memory)-in.end < least/2 {
		// The rest moves to the front, or to memory that grows with what has come, not with what a header announces.
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

// rest is what is not delivered yet.
func (in *inbox) rest() []byte { return in.memory[in.start:in.end] }

// settle gives back what memory is not needed while nothing arrives, and what is borrowed.
func (in *inbox) settle() {
	switch n := in.end - in.start; {
	case n == 0:
		in.free()
	case in.frame == nil, n <= restSize && len(in.memory) > restSize:
		in.replace(newFrame(nil, 0, n))
	}
}

// free gives all memory back.
func (in *inbox) free() {
	if in.frame != nil {
		in.frame.Release()
	}
	*in = inbox{}
}

// readStream reads until the connection ends, with a buffer at hand: for connections that cannot say that bytes have
// arrived without giving them.
func (s *Session) readStream() error {
	const waiting = 4 << 10 // what an idle session holds
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

// received delivers the packets that n more bytes have completed. It does not fail: bytes that are no packet end the
// session.
func (s *Session) received(n int) {
	s.in.end += n
	s.bytesIn.Add(uint64(n))
	mark(&s.watched.heard)
	switch m := s.service.cfg.Metrics; {
	case s.over.Load():
		s.in.start, s.in.end = 0, 0
	case m == nil:
		s.packetsIn.Add(uint64(s.deliver()))
	default:
		began := s.service.cfg.Clock.Now()
		packets := s.deliver()
		s.packetsIn.Add(uint64(packets))
		m.Received(n, packets, s.service.cfg.Clock.Since(began))
	}
}

// deliver calls the handler for each whole packet. While another one waits behind it what the handler sends is
// gathered; the last one's goes out with the rest.
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
		s.abort(err, "invalid packet")
	}
	return packets
}

// endTurn is deferred by deliver. A panic ends the session, and nothing else.
func (s *Session) endTurn() {
	if v := recover(); v != nil {
		s.panicked(v)
	}
	s.turn.Unlock()
}

// control takes a packet of the library's own.
func (s *Session) control(p Packet) {
	switch p.ID {
	case idPing:
		// A pong that finds the queue full is dropped: the other side receives enough.
		_ = s.sendControl(Packet{ID: idPong, Payload: p.Payload})
	case idPong:
		s.pong(p.Payload)
	case idBye:
		s.bye, s.said = string(p.Payload[:min(len(p.Payload), maxReason)]), true
	}
}

// pong notes how long a ping took. What is not the answer to the last one is ignored.
func (s *Session) pong(payload []byte) {
	sent := s.watched.pinged.Load()
	if len(payload) == 8 && sent != 0 && binary.LittleEndian.Uint64(payload) == uint64(sent) {
		s.watched.rtt.Store(max(int64(1), s.service.cfg.Clock.Now().UnixNano()-sent))
	}
}

// startDatagrams receives datagrams if the connection has them. The function that it returns ends that.
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
			return // the stream of the same connection ends too, and says why
		}
		s.receivedDatagram(b)
	}
}

// receivedDatagram delivers the one packet of a datagram. One that is anything else is dropped: any sender's datagrams
// get lost.
func (s *Session) receivedDatagram(b []byte) {
	s.bytesIn.Add(uint64(len(b)))
	mark(&s.watched.heard)
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
		began := cfg.Clock.Now()
		s.handler.OnPacket(s, p)
		cfg.Metrics.Received(len(b), 1, cfg.Clock.Since(began))
	})
}
