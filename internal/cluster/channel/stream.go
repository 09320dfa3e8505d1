package channel

import (
	"encoding/binary"
	"time"
)

// A Stream is one end of a channel, with its state of sending and receiving. Times are durations since any moment. It
// is not safe for concurrent use.
type Stream struct {
	maxPiece int
	patience time.Duration
	closed   bool

	gathered []byte // not yet in a packet
	packed   uint64 // bytes that were put into packets
	sent     []sentPiece
	last     uint64 // the number of the newest packet
	resend   int    // how many of sent, from the first, must be sent again now
	resent   int    // how many of those were sent again
	acked    bool
	progress time.Duration
	spare    [][]byte // buffers of pieces that were acknowledged

	received uint64
	partial  []byte // the start of a frame
	ackDue   bool
	ackAt    time.Duration
}

type sentPiece struct {
	number uint64
	piece  []byte
	at     time.Duration
}

// NewStream returns a stream whose packets carry at most maxPiece bytes. It gives up when it has stalled for patience:
// from then on Next returns nothing.
func NewStream(maxPiece int, patience time.Duration) *Stream {
	return &Stream{maxPiece: maxPiece, patience: patience}
}

// Close ends the stream: Next returns nothing any more, and Packed does not grow.
func (s *Stream) Close() { s.closed = true }

// Write adds a frame, and returns its position: the frame may reach the other end once Packed is beyond it.
func (s *Stream) Write(f Frame) (position uint64) {
	position = s.packed + uint64(len(s.gathered))
	if s.gathered == nil && len(s.spare) > 0 {
		s.gathered, s.spare = s.spare[len(s.spare)-1][:0], s.spare[:len(s.spare)-1]
	}
	s.gathered = AppendFrame(s.gathered, f)
	return position
}

// Packed is the number of bytes that were put into packets.
func (s *Stream) Packed() uint64 { return s.packed }

// Acknowledged reports whether the other end has acknowledged anything.
func (s *Stream) Acknowledged() bool { return s.acked }

// Idle reports whether everything written was acknowledged.
func (s *Stream) Idle() bool { return len(s.sent) == 0 && len(s.gathered) == 0 }

// Stalled returns for how long no acknowledgement has arrived while one is due.
func (s *Stream) Stalled(now time.Duration) time.Duration {
	if len(s.sent) == 0 {
		return 0
	}
	return now - s.progress
}

// GivenUp reports whether the stream has stalled for patience. Nothing may be sent then, not even again: the other end
// may have given up, too, and started again.
func (s *Stream) GivenUp(now time.Duration) bool { return s.Stalled(now) >= s.patience }

// Next returns a packet to send now; ok is false if there is none. The caller sets kind, sender and generation. The
// piece is valid until the next call of any method.
func (s *Stream) Next(now time.Duration) (p Packet, ok bool) {
	if s.closed || s.GivenUp(now) {
		return Packet{}, false
	}
	if s.resend == 0 && len(s.sent) > 0 && now-s.sent[0].at >= Retransmit {
		s.resend, s.resent = min(again, len(s.sent)), 0
	}
	switch {
	case s.resent < s.resend:
		q := &s.sent[s.resent]
		s.resent++
		q.at = now
		p = Packet{Number: q.number, Piece: q.piece}
	case len(s.gathered) > 0 && s.unacknowledged() < window:
		p = s.pack(now)
	case s.ackDue && now >= s.ackAt:
	default:
		s.resend, s.resent = 0, 0
		return Packet{}, false
	}
	s.ackDue = false
	p.Received = s.received
	return p, true
}

func (s *Stream) unacknowledged() int {
	n := 0
	for i := range s.sent {
		n += len(s.sent[i].piece)
	}
	return n
}

// pack puts as much gathered data into a packet as fits.
func (s *Stream) pack(now time.Duration) Packet {
	piece := s.gathered
	if len(piece) > s.maxPiece {
		piece = append([]byte(nil), piece[:s.maxPiece]...)
		s.gathered = append(s.gathered[:0], s.gathered[s.maxPiece:]...)
	} else {
		s.gathered = nil
	}
	if len(s.sent) == 0 {
		s.progress = now
	}
	s.last++
	s.packed += uint64(len(piece))
	s.sent = append(s.sent, sentPiece{s.last, piece, now})
	return Packet{Number: s.last, Piece: piece}
}

// Due returns when Next will have a packet, if nothing else happens; ok is false if no packet is expected.
func (s *Stream) Due() (at time.Duration, ok bool) {
	if len(s.sent) > 0 {
		at, ok = s.sent[0].at+Retransmit, true
	}
	if s.ackDue && (!ok || s.ackAt < at) {
		at, ok = s.ackAt, true
	}
	return at, ok
}

// maxSpare is the maximum number of kept buffers, and spareBytes their maximum size.
const (
	maxSpare   = 4
	spareBytes = 256 << 10
)

// Receive processes a packet, and calls handle for every frame that it completes. It ignores duplicates, and packets
// that are too early: those are sent again. Bodies are parts of the packet, or of a buffer that is used for nothing
// else. After an error the stream must not be used.
func (s *Stream) Receive(now time.Duration, p Packet, handle func(Frame)) error {
	if p.Received > s.last {
		return ErrMalformed
	}
	s.acknowledged(now, p.Received)
	if p.Number == 0 {
		return nil
	}
	if p.Number != s.received+1 {
		s.ackDue, s.ackAt = true, now // at once: the sender lacks it
		return nil
	}
	s.received++
	if !s.ackDue {
		s.ackDue, s.ackAt = true, now+ackDelay
	}
	return s.frames(p.Piece, handle)
}

func (s *Stream) acknowledged(now time.Duration, received uint64) {
	n := 0
	for n < len(s.sent) && s.sent[n].number <= received {
		if b := s.sent[n].piece; len(s.spare) < maxSpare && cap(b) <= spareBytes {
			s.spare = append(s.spare, b)
		}
		n++
	}
	if n == 0 {
		return
	}
	s.progress, s.acked = now, true
	rest := copy(s.sent, s.sent[n:])
	clear(s.sent[rest:])
	s.sent = s.sent[:rest]
	s.resend, s.resent = max(0, s.resend-n), max(0, s.resent-n)
}

// frames takes a piece of the stream apart.
func (s *Stream) frames(piece []byte, handle func(Frame)) error {
	whole := false // whether s.partial was completed: its bodies are in use now
	if len(s.partial) > 0 {
		s.partial = append(s.partial, piece...)
		piece, whole = s.partial, true
	}
	for {
		f, rest, ok, err := readFrame(piece)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		handle(f)
		piece = rest
	}
	switch {
	case len(piece) == 0:
		s.partial = nil
	case !whole || len(piece) < len(s.partial):
		// With room for all of the frame, so that it is not copied again and again.
		length, _ := binary.Uvarint(piece)
		s.partial = append(make([]byte, 0, min(max(int(length)+binary.MaxVarintLen64, len(piece)), 1<<20)), piece...)
	}
	return nil
}
