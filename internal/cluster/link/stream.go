package link

import (
	"encoding/binary"
	"time"
)

// A Stream is one end of a link: what it sends, and what has come. Moments are
// durations since any beginning. It is not for several goroutines.
type Stream struct {
	maxPiece int
	patience time.Duration
	closed   bool

	gathered []byte // not yet in a packet
	packed   uint64 // bytes that were put into packets
	sent     []sentPiece
	last     uint64 // the number of the newest packet
	resend   int    // how many of sent, from the first, are to be sent again now
	resent   int    // how many of those were
	heard    bool
	progress time.Duration
	spare    [][]byte // buffers of pieces that were acknowledged

	received uint64
	partial  []byte // the beginning of a frame
	ackDue   bool
	ackAt    time.Duration
}

type sentPiece struct {
	number uint64
	piece  []byte
	at     time.Duration
}

// NewStream makes a stream whose packets carry at most maxPiece bytes, and which gives up
// when it has stalled for patience: from then on Next sends nothing.
func NewStream(maxPiece int, patience time.Duration) *Stream {
	return &Stream{maxPiece: maxPiece, patience: patience}
}

// Close ends the stream: Next returns nothing any more, and Packed does not grow.
func (s *Stream) Close() { s.closed = true }

// Write adds a frame. It returns where it begins: Packed is beyond that from the moment
// on when it may reach the other end.
func (s *Stream) Write(f Frame) (position uint64) {
	position = s.packed + uint64(len(s.gathered))
	if s.gathered == nil && len(s.spare) > 0 {
		s.gathered, s.spare = s.spare[len(s.spare)-1][:0], s.spare[:len(s.spare)-1]
	}
	s.gathered = AppendFrame(s.gathered, f)
	return position
}

// Packed is how many bytes were put into packets.
func (s *Stream) Packed() uint64 { return s.packed }

// Heard reports whether the other end has acknowledged anything.
func (s *Stream) Heard() bool { return s.heard }

// Idle reports whether all that was written has arrived.
func (s *Stream) Idle() bool { return len(s.sent) == 0 && len(s.gathered) == 0 }

// Stalled is for how long something has waited for an acknowledgement without
// any that came.
func (s *Stream) Stalled(now time.Duration) time.Duration {
	if len(s.sent) == 0 {
		return 0
	}
	return now - s.progress
}

// GivenUp reports whether the stream has stalled for as long as it has patience. Nothing may be
// sent then, not even again: the other end may have given up, too, and begun anew.
func (s *Stream) GivenUp(now time.Duration) bool { return s.Stalled(now) >= s.patience }

// Next gives a packet to be sent now, of which kind, sender and generation are the
// caller's to fill in; not ok when there is none. The piece is the stream's, until the
// next call of any method.
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

// pack puts what has gathered into a packet, as far as it fits.
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

// Due is when Next has something to give, if nothing else happens; not ok when
// it has nothing to wait for.
func (s *Stream) Due() (at time.Duration, ok bool) {
	if len(s.sent) > 0 {
		at, ok = s.sent[0].at+Retransmit, true
	}
	if s.ackDue && (!ok || s.ackAt < at) {
		at, ok = s.ackAt, true
	}
	return at, ok
}

// maxSpare is how many buffers are kept, and spareBytes how large ones.
const (
	maxSpare   = 4
	spareBytes = 256 << 10
)

// Receive takes a packet, and calls handle for every frame that it completes. It
// ignores what came before, and what came too early: that will come again. Bodies are
// parts of the packet, or of a buffer that is used for nothing else. After an error the stream is of no
// use.
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
	s.progress, s.heard = now, true
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
