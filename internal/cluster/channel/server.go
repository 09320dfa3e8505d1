package channel

import "time"

// forget is the time without packets after which the channel of a process that is no member is deleted.
const forget = time.Minute

// A Server takes the requests of other processes, over one channel from each. It is not safe for concurrent use, and
// its times are durations since any moment.
type Server struct {
	cfg       Config
	send      func(to string, p Packet)
	closed    bool
	finishing bool // no request is accepted any more
	sessions  map[string]*session
	opened    Generations // of all sessions so far
}

// A session is the channel from one process.
type session struct {
	*End
	receivedAt time.Duration
	unanswered int
	finished   bool              // the Farewell frame was written
	refused    map[uint64]uint64 // by shard: commands of tries below are refused
}

// A Request is a command or a barrier of another process.
type Request struct {
	Frame
	session *session
}

// NewServer returns a server without channels. send sends packets that belong to none.
func NewServer(cfg Config, send func(to string, p Packet)) *Server {
	return &Server{cfg: cfg, send: send, sessions: map[string]*session{}}
}

// Receive processes a packet of a client, and appends the requests that it completes to list, in their order. The
// caller passes each of them to Accept before the next.
func (s *Server) Receive(now time.Duration, p Packet, list []Request) ([]Request, error) {
	ses := s.session(now, p)
	if ses == nil {
		return list, nil
	}
	ses.receivedAt = now
	err := ses.Receive(now, p, func(f Frame) {
		if !ses.finished {
			ses.unanswered++
			list = append(list, Request{f, ses})
		}
	})
	if err != nil {
		s.Drop(ses.End)
		return list, err
	}
	ses.carrier.Signal()
	return list, nil
}

// session returns the session of a packet, and creates it with the first packet of a channel; nil if the packet must be
// ignored. A dropped channel is not opened again: its first packet, which the client repeats until it is acknowledged,
// may have been executed.
func (s *Server) session(now time.Duration, p Packet) *session {
	ses := s.sessions[p.From]
	switch {
	case s.closed:
		return nil
	case ses != nil && p.Generation <= ses.head.Generation:
		if p.Generation < ses.head.Generation {
			return nil
		}
		return ses
	case p.Number == 1:
		if !s.opened.Open(p.From, p.Generation, now) {
			return nil
		}
		if ses != nil {
			ses.close()
		}
		ses = &session{End: s.cfg.open(p.From, FromServer, p.Generation), refused: map[uint64]uint64{}}
		s.sessions[p.From] = ses
		if s.finishing {
			ses.finish()
		}
		return ses
	case p.Number > 1:
		s.send(p.From, Packet{Kind: Broken, From: s.cfg.Process, Generation: p.Generation})
	}
	return nil
}

// Accept reports whether a request may be executed; otherwise it has refused it. owning reports whether this process
// owns the shard. If a command before this one was refused, this one must be, or it would overtake that one.
func (s *Server) Accept(r Request, owning bool) bool {
	switch {
	case r.Kind != Command && r.Kind != Barrier:
		s.Refuse(r, ErrMalformed)
	case !owning || r.Kind == Command && r.session.refused[r.Shard] > r.Try:
		s.Refuse(r, ErrNoOwner)
	default:
		return true
	}
	return false
}

// Refuse answers that a request was not executed, and will not be: it is sent again to the next owner.
func (s *Server) Refuse(r Request, why error) {
	if r.Kind == Command {
		r.session.refused[r.Shard] = max(r.session.refused[r.Shard], r.Try+1)
	}
	r.session.answer(Frame{Kind: Refusal, ID: r.ID, Body: []byte(why.Error())})
}

// Answer answers a command.
func (s *Server) Answer(r Request, body []byte) {
	r.session.answer(Frame{Kind: Answer, ID: r.ID, Body: body})
}

// Sequence answers a barrier.
func (s *Server) Sequence(r Request, seq uint64) {
	r.session.answer(Frame{Kind: Sequence, ID: r.ID, Sequence: seq})
}

func (ses *session) answer(f Frame) {
	ses.Write(f)
	ses.unanswered--
	ses.carrier.Signal()
}

// Drop deletes a channel. Its client learns that with its next packet.
func (s *Server) Drop(end *End) {
	if ses := s.sessions[end.Process]; ses != nil && ses.End == end {
		delete(s.sessions, end.Process)
		ses.close()
	}
}

// Finish reports to all clients that no request is accepted any more: requests in transit will not be executed.
func (s *Server) Finish() {
	s.finishing = true
	for _, ses := range s.sessions {
		ses.finish()
	}
}

// finish writes the Farewell frame once everything is answered.
func (ses *session) finish() {
	if !ses.finished && ses.unanswered == 0 {
		ses.finished = true
		ses.Write(Frame{Kind: Farewell})
		ses.carrier.Signal()
	}
}

// Idle reports whether all members have received all responses and the Farewell frame, except those that have
// acknowledged nothing for longer than patience.
func (s *Server) Idle(now, patience time.Duration, member func(process string) bool) bool {
	for process, ses := range s.sessions {
		if !(ses.finished && (ses.Stream.Idle() || ses.Stalled(now) > patience)) && member(process) {
			return false
		}
	}
	return true
}

// Moved deletes the channels of processes that were lost long ago.
func (s *Server) Moved(now time.Duration, member func(process string) bool) {
	for process, ses := range s.sessions {
		if !member(process) && now-ses.receivedAt > forget {
			s.Drop(ses.End)
		}
	}
	s.opened.Forget(now, member)
}

// Stop closes all channels.
func (s *Server) Stop() {
	s.closed = true
	for _, ses := range s.sessions {
		s.Drop(ses.End)
	}
}
