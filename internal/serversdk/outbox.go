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

// frames holds buffers of frames, so that an idle socket needs none.
var frames = sync.Pool{New: func() any { return new([]byte) }}

// enqueue adds a frame and sees that it is written; false if the socket is cut.
// It never waits. A peer that has let too much pile up is cut off: it finds
// everything again when it comes back.
func (s *socket) enqueue(opcode int, payload []byte) bool {
	s.mu.Lock()
	if s.closed || s.last {
		s.mu.Unlock()
		return false
	}
	if len(s.out) > 0 && len(s.out)+len(payload) > maxQueued {
		s.mu.Unlock()
		s.door.metrics.Slow()
		s.logger().Warn("socket cut: its process does not read", "limit_bytes", maxQueued)
		s.cut()
		return false
	}
	if s.out == nil {
		s.out = (*frames.Get().(*[]byte))[:0]
	}
	s.out = appendFrame(s.out, opcode, payload)
	s.mu.Unlock()
	s.flush()
	return true
}

// finish cuts the socket as soon as everything queued has been written.
func (s *socket) finish() {
	s.mu.Lock()
	s.last = true
	s.mu.Unlock()
	s.flush()
}

// flush starts the writer if there is something to do and none is running.
func (s *socket) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing || s.closed || s.conn == nil || len(s.out) == 0 && !s.last {
		return
	}
	s.writing = true
	s.door.running.Add(1)
	go s.write()
}

// write sends what is queued, and ends when nothing is left.
func (s *socket) write() {
	defer s.door.running.Done()
	var batch []byte
	for {
		batch = s.next(batch)
		if batch == nil {
			return
		}
		// The network's deadlines are in real time, whatever clock the door has.
		err := s.conn.SetWriteDeadline(time.Now().Add(writeLimit))
		if err == nil {
			_, err = s.conn.Write(batch)
		}
		if err != nil {
			s.cut()
		}
	}
}

// next takes all that is queued, in exchange for the batch that was written; nil
// when the writer has nothing left to do.
func (s *socket) next(written []byte) []byte {
	s.mu.Lock()
	batch := s.out
	s.out = nil
	s.writing = len(batch) > 0 && !s.closed
	writing, last := s.writing, s.last
	s.mu.Unlock()
	if written != nil && cap(written) <= keptBuffer {
		frames.Put(&written)
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
