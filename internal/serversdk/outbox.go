package serversdk

import (
	"encoding/binary"
	"sync"
	"time"
)

const (
	// maxQueued bounds the bytes that wait to be written to a socket. A single
	// message of any length is taken if nothing else waits.
	maxQueued = 4 << 20
	// writeLimit is how long a write may take before the peer counts as stuck.
	writeLimit = 10 * time.Second
	// keptBuffer is the largest buffer in bytes that is kept for reuse.
	keptBuffer = 64 << 10
)

// Frames are made here and not by the WebSocket library: frames that wait then
// leave in one write, no buffer belongs to an idle socket, and a Pong takes its
// place in the queue instead of a lock that a stuck write holds.

// A buffer holds frames, or a message.
type buffer struct{ bytes []byte }

// buffers are those that are not in use, so that an idle socket needs none.
var buffers = sync.Pool{New: func() any { return &buffer{make([]byte, 0, 1024)} }}

func newBuffer() *buffer {
	b := buffers.Get().(*buffer)
	b.bytes = b.bytes[:0]
	return b
}

func (b *buffer) free() {
	if cap(b.bytes) <= keptBuffer {
		buffers.Put(b)
	}
}

// enqueue adds a frame and sees that it is written; false if the socket is cut.
// It never waits. A peer that has let too much pile up is cut off: it finds
// everything again when it comes back.
func (s *socket) enqueue(opcode int, payload []byte) bool {
	s.mu.Lock()
	if s.closed || s.last {
		s.mu.Unlock()
		return false
	}
	if s.out != nil && len(s.out.bytes)+len(payload) > maxQueued {
		s.mu.Unlock()
		s.door.metrics.Slow()
		s.logger().Warn("socket cut: its process does not read", "limit_bytes", maxQueued)
		s.cut()
		return false
	}
	if s.out == nil {
		s.out = newBuffer()
	}
	s.out.bytes = appendFrame(s.out.bytes, opcode, payload)
	s.flush()
	s.mu.Unlock()
	return true
}

// finish cuts the socket as soon as everything queued has been written.
func (s *socket) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = true
	s.flush()
}

// flush sees that a writer comes by if there is something to do. The lock is held.
func (s *socket) flush() {
	if s.writing || s.closed || s.conn == nil || s.out == nil && !s.last {
		return
	}
	s.writing = true
	s.door.writers.call(s)
}

// write sends what is queued, as far as the connection takes it at once. What is
// left is for a goroutine that may wait.
func (s *socket) write(now *instant) {
	for batch := s.next(nil); batch != nil; batch = s.next(batch) {
		sent, err := 0, error(nil)
		if s.raw != nil {
			sent, err = now.write(s.raw, batch.bytes)
		}
		switch {
		case err != nil:
			s.cut()
		case sent < len(batch.bytes):
			s.door.running.Add(1)
			go s.writeOn(batch, sent)
			return
		}
	}
}

// writeOn sends the rest of a batch, and then what is queued, until nothing is left.
func (s *socket) writeOn(batch *buffer, sent int) {
	defer s.door.running.Done()
	for ; batch != nil; batch, sent = s.next(batch), 0 {
		// The network's deadlines are in real time, whatever clock the door has.
		err := s.conn.SetWriteDeadline(time.Now().Add(writeLimit))
		if err == nil {
			_, err = s.conn.Write(batch.bytes[sent:])
		}
		if err == nil {
			err = s.conn.SetWriteDeadline(time.Time{})
		}
		if err != nil {
			s.cut()
		}
	}
}

// next takes all that is queued, in exchange for the batch that was written; nil
// when the writer has nothing left to do.
func (s *socket) next(written *buffer) *buffer {
	s.mu.Lock()
	batch := s.out
	s.out = nil
	s.writing = batch != nil && !s.closed
	writing, last := s.writing, s.last
	s.mu.Unlock()
	if written != nil {
		written.free()
	}
	if writing {
		return batch
	}
	if last {
		s.cut()
	}
	return nil
}

// appendFrame adds an unfragmented, unmasked frame, as a server sends it.
// Source: RFC 6455 section 5.2.
func appendFrame(dst []byte, opcode int, payload []byte) []byte {
	const final = 0x80
	dst = append(dst, final|byte(opcode))
	switch n := len(payload); {
	case n <= 125:
		dst = append(dst, byte(n))
	case n <= 0xffff:
		dst = binary.BigEndian.AppendUint16(append(dst, 126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 127), uint64(n))
	}
	return append(dst, payload...)
}
