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

// flush writes the claimed packets, and those queued meanwhile, without waiting. It leaves the rest to a goroutine.
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

// write is the writer that may wait. It returns when the queue is empty.
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

// sent calls OnSent, if the handler has it.
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

// writeSome writes a part of the queue and waits until the connection accepts it. It fails when it could write nothing
// within the write timeout.
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

// next counts the written packets and moves the queue to current. If there is nothing to write, it ends the stream of a
// closing session, gives up the right to write, and reports false.
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
		_ = s.conn.CloseWrite() // reading reports a lost connection
		s.stopWriting()
	}
	return more
}

// release gives up the right to write. The lock is held.
func (o *outbox) release() {
	o.writing = false
	if o.stopped != nil {
		close(o.stopped)
		o.stopped = nil
	}
}

// failWriting ends the session after a failed write and gives up the right to write for good: a running callback or
// delay might still flush the queue, which no longer continues the bytes in the stream.
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

// advance releases the frames that n more bytes have completed, and returns the number of packets in them.
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

// count counts the bytes and packets written.
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
	flat    []byte // for connections without vectored writes
}

var vectors = sync.Pool{New: func() any { return new(vector) }}

// fill adds the first frames, without the bytes that are written already.
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

// largestRecord is the maximum size of a joined write on a connection without vectored writes: a TLS record, or several
// QUIC packets.
const largestRecord = 16 << 10

// writeTo writes the buffers with one system call if the connection can, else with one Write of copied bytes.
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

// plain reports whether the connection is unwrapped TCP.
func plain(conn Conn) bool {
	_, ok := conn.(*net.TCPConn)
	return ok
}
