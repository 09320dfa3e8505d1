package gamenet

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	maxVector = 64        // buffers in one write
	maxWrite  = 256 << 10 // bytes in one write
)

// flush writes what was claimed, and what is queued meanwhile, without waiting. What cannot be written so is left to a
// goroutine.
func (s *Session) flush() {
	if !s.inline {
		go s.writer()
		return
	}
	const mostRounds = 4 // others may queue as fast as this goroutine writes
	for round := 0; ; round++ {
		n, err := s.direct.write(s.out.current, s.out.offset)
		if err != nil {
			s.failWriting(fmt.Errorf("%w: %w", ErrLost, err))
			return
		}
		if n > 0 && !s.next(n, s.advance(n)) {
			return
		}
		if n == 0 || round == mostRounds {
			go s.writer()
			return
		}
	}
}

// write is the writer that may wait. It ends when nothing is queued.
func (s *Session) write() {
	v := vectors.Get().(*vector)
	defer vectors.Put(v)
	for more := true; more; {
		n, err := s.writeSome(v)
		if err != nil {
			s.failWriting(err)
			return
		}
		packets := s.advance(n)
		s.sent(n)
		more = s.next(n, packets)
	}
}

// sent calls OnSent for those who want to know.
func (s *Session) sent(n int) {
	h, ok := s.handler.(SentHandler)
	if !ok {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			s.panicked(v)
		}
	}()
	h.OnSent(s, n)
}

// writeSome writes a part of what is queued, waiting for the other side to take it. It fails when nothing at all could
// be written for the write timeout.
func (s *Session) writeSome(v *vector) (int, error) {
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.service.cfg.WriteTimeout)); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLost, err)
	}
	v.fill(s.out.current, s.out.offset)
	defer v.clear()
	n, err := v.writeTo(s.conn)
	if clearErr := s.conn.SetWriteDeadline(time.Time{}); err == nil && clearErr != nil {
		err = clearErr
	}
	switch {
	case err == nil, n > 0 && errors.Is(err, os.ErrDeadlineExceeded) && plain(s.conn):
		return int(n), nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, ErrWriteTimeout
	case errors.Is(err, io.EOF): // QUIC: the other side has closed everything
		return 0, ErrPeerClosed
	default:
		return 0, fmt.Errorf("%w: %w", ErrLost, err)
	}
}

// next counts what was written and gets what is to be written now. If there is nothing it gives the right to write
// back, after closing a stream that is at its end.
func (s *Session) next(bytes, packets int) bool {
	o := &s.out
	o.mu.Lock()
	if bytes > 0 {
		o.bytes -= bytes
		o.packets -= packets
		if o.space != nil {
			o.wake()
		}
	}
	queued := o.bytes
	more := len(o.current) > 0
	if !more && len(o.frames) > 0 && o.state != outboxEnded {
		o.current, o.frames, o.spare = o.frames, o.spare[:0], nil
		more = true
	}
	half := !more && o.state == outboxClosing && !o.halved
	if half {
		o.halved = true
	}
	if !more && !half {
		o.release()
	}
	o.mu.Unlock()
	if bytes > 0 {
		s.count(bytes, packets, queued)
	}
	if half {
		_ = s.conn.CloseWrite() // if the connection is gone, reading notices
		s.stopWriting()
	}
	return more
}

// release gives the right to write back. The lock is held.
func (o *outbox) release() {
	o.writing = false
	if o.stopped != nil {
		close(o.stopped)
		o.stopped = nil
	}
}

// failWriting gives the right to write back after a write that has failed, and ends the session. Nobody gets the right
// again: what is queued does not follow what the stream has, and a callback or a delay that is under way might still
// flush it.
func (s *Session) failWriting(cause error) {
	s.cut(cause)
	s.out.mu.Lock()
	s.out.state = outboxEnded
	s.out.release()
	s.out.mu.Unlock()
}

func (s *Session) stopWriting() {
	s.out.mu.Lock()
	s.out.release()
	s.out.mu.Unlock()
}

// advance gives back the frames that n more bytes have completed, and returns the number of packets in them.
func (s *Session) advance(n int) (packets int) {
	o := &s.out
	n += o.offset
	done := 0
	for done < len(o.current) && n >= len(o.current[done].bytes) {
		f := o.current[done]
		n -= len(f.bytes)
		packets += f.packets
		f.Release()
		o.current[done] = nil
		done++
	}
	o.offset = n
	if done < len(o.current) {
		o.current = o.current[done:]
		return packets
	}
	o.spare, o.current = o.current[:0], nil
	if cap(o.spare) > maxVector {
		o.spare = nil // a burst; an idle session keeps little
	}
	return packets
}

// count notes what was written.
func (s *Session) count(bytes, packets, queued int) {
	s.bytesOut.Add(uint64(bytes))
	s.packetsOut.Add(uint64(packets))
	if m := s.service.cfg.Metrics; m != nil {
		m.Sent(bytes, packets, queued)
	}
}

// A vector is the buffers of one write that waits.
type vector struct {
	buffers net.Buffers
	backing [maxVector][]byte
	flat    []byte // for connections that cannot gather
}

var vectors = sync.Pool{New: func() any { return new(vector) }}

// fill takes the first frames, without the bytes that are written already.
func (v *vector) fill(frames []*Frame, offset int) {
	v.buffers = v.backing[:0]
	total := 0
	for _, f := range frames[:min(len(frames), maxVector)] {
		v.buffers = append(v.buffers, f.bytes[offset:])
		offset = 0
		if total += len(f.bytes); total >= maxWrite {
			break
		}
	}
}

func (v *vector) clear() {
	clear(v.backing[:])
	v.buffers = nil
}

// largestRecord is what is copied together for a connection that cannot gather: a TLS record, and several packets of
// QUIC.
const largestRecord = 16 << 10

// writeTo writes the buffers, as one system call if the connection can, or as one Write of copied bytes.
func (v *vector) writeTo(conn Conn) (int64, error) {
	if plain(conn) {
		return v.buffers.WriteTo(conn)
	}
	if len(v.buffers) == 1 || len(v.buffers[0]) >= largestRecord {
		n, err := conn.Write(v.buffers[0])
		return int64(n), err
	}
	if v.flat == nil {
		v.flat = make([]byte, 0, largestRecord)
	}
	flat := v.flat[:0]
	for _, b := range v.buffers {
		if len(flat)+len(b) > largestRecord {
			break
		}
		flat = append(flat, b...)
	}
	n, err := conn.Write(flat)
	return int64(n), err
}

// plain says whether the connection is TCP and nothing else.
func plain(conn Conn) bool {
	_, ok := conn.(*net.TCPConn)
	return ok
}
