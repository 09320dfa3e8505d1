package serversdk

import (
	"encoding/binary"
	"sync"
	"time"
)

const (
	// maxQueued limits the bytes queued for a socket. A message of any length is accepted by an empty queue.
	maxQueued = 4 << 20
	// writeLimit is the time-out of a write.
	writeLimit = 10 * time.Second
	// keptBuffer is the maximum size in bytes of a reused buffer.
	keptBuffer = 64 << 10
)

// Frames are encoded here and not by the WebSocket library, so that queued frames are sent in one write, idle sockets
// have no buffer, and a Pong is queued instead of waiting for the lock of a blocked write.

type buffer struct{ bytes []byte }

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

// enqueue queues a frame for writing; false if the socket is closed. It never blocks. If too much is queued, the socket
// is closed: the process reconnects and receives everything again.
func (s *socket) enqueue(opcode int, payload []byte) bool {
	s.mu.Lock()
	if s.closed || s.last {
		s.mu.Unlock()
		return false
	}
	if s.out != nil && len(s.out.bytes)+len(payload) > maxQueued {
		s.mu.Unlock()
		s.endpoint.metrics.Slow()
		s.logger().Warn("socket closed: process does not read", "limit_bytes", maxQueued)
		s.close()
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

// finish closes the socket when everything queued has been written.
func (s *socket) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = true
	s.flush()
}

// flush schedules a writer if there is something to do. The lock must be held.
func (s *socket) flush() {
	if s.writing || s.closed || s.conn == nil || s.out == nil && !s.last {
		return
	}
	s.writing = true
	s.endpoint.writers.call(s)
}

// write sends what is queued, as far as the connection accepts it. The rest is left to a goroutine that may block.
func (s *socket) write(now *instantWriter) {
	for batch := s.next(nil); batch != nil; batch = s.next(batch) {
		sent, err := 0, error(nil)
		if s.raw != nil {
			sent, err = now.write(s.raw, batch.bytes)
		}
		switch {
		case err != nil:
			s.close()
		case sent < len(batch.bytes):
			s.endpoint.running.Add(1)
			go s.writeOn(batch, sent)
			return
		}
	}
}

// writeOn sends the rest of a batch, then the queue until it is empty.
func (s *socket) writeOn(batch *buffer, sent int) {
	defer s.endpoint.running.Done()
	for ; batch != nil; batch, sent = s.next(batch), 0 {
		// Network deadlines are in real time, even with a fake clock.
		err := s.conn.SetWriteDeadline(time.Now().Add(writeLimit))
		if err == nil {
			_, err = s.conn.Write(batch.bytes[sent:])
		}
		if err == nil {
			err = s.conn.SetWriteDeadline(time.Time{})
		}
		if err != nil {
			s.close()
		}
	}
}

// next returns all that is queued and recycles the written batch; nil if there is nothing left to write.
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
		s.close()
	}
	return nil
}

// appendFrame appends an unfragmented, unmasked frame. Source: RFC 6455 section 5.2.
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
