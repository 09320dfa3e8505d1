package cluster

import (
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/cluster/link"
)

// forget is after how long without a word the link of a process that is no member
// is forgotten.
const forget = time.Minute

// A server is the answering side: one session for each process that sends.
type server struct {
	n *Node

	mu       sync.Mutex
	closed   bool
	parting  bool // no request is taken any more
	sessions map[string]*session
	opened   link.Generations // of all sessions that there were
}

// session is the link from one process.
type session struct {
	srv     *server
	process string
	*conveyor

	mu         sync.Mutex
	heard      time.Duration
	unanswered int
	parted     bool              // the farewell was written
	refused    map[uint64]uint64 // by shard: commands of tries below are refused
	frames     []link.Frame      // scratch of the receiving goroutine
}

func newServer(n *Node) *server { return &server{n: n, sessions: map[string]*session{}} }

// receive takes a packet of a client. It is called by one goroutine.
func (s *server) receive(p link.Packet) {
	ses := s.session(p)
	if ses == nil {
		return
	}
	now := s.n.elapsed()
	ses.mu.Lock()
	ses.heard = now
	frames := ses.frames[:0]
	err := ses.stream.Receive(now, p, func(f link.Frame) { frames = append(frames, f) })
	if ses.parted {
		frames = frames[:0]
	}
	ses.unanswered += len(frames)
	ses.mu.Unlock()
	for _, f := range frames {
		ses.handle(f)
	}
	clear(frames)
	ses.frames = frames
	if err != nil {
		s.n.cfg.Log.Error("a command of another node cannot be read", "process", p.From, "error", err)
		s.drop(ses)
		return
	}
	ses.signal()
}

// session gives the session that a packet belongs to, a new one with the first packet of a
// link; nil when there is nothing to be done with it. A link that was dropped is not opened again:
// its first packet, which the client sends until it hears of it, may have been carried out.
func (s *server) session(p link.Packet) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.sessions[p.From]
	switch {
	case s.closed:
		return nil
	case ses != nil && p.Generation <= ses.generation:
		if p.Generation < ses.generation {
			return nil
		}
		return ses
	case p.Number == 1:
		if !s.opened.Open(p.From, p.Generation, s.n.elapsed()) {
			return nil
		}
		if ses != nil {
			ses.end()
		}
		ses = &session{srv: s, process: p.From, refused: map[uint64]uint64{}}
		ses.conveyor = s.n.convey(&ses.mu, p.From, link.Packet{Kind: link.FromServer, Generation: p.Generation}, func() { s.drop(ses) })
		s.sessions[p.From] = ses
		if s.parting {
			ses.part()
		}
		return ses
	case p.Number > 1:
		broken := link.Packet{Kind: link.Broken, From: s.n.process, Generation: p.Generation}
		if err := s.n.publish(s.n.subjectOf(p.From), link.AppendPacket(nil, broken)); err != nil {
			s.n.cfg.Log.Debug("a packet for another node was not sent", "error", err)
		}
	}
	return nil
}

// drop forgets a session. Its client learns that when it sends something.
func (s *server) drop(ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[ses.process] == ses {
		delete(s.sessions, ses.process)
		ses.end()
	}
}

// end closes the link. What was handed on is still carried out, and nobody is answered.
func (ses *session) end() {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	ses.close()
}

// handle carries out one request.
func (ses *session) handle(f link.Frame) {
	n := ses.srv.n
	owning := f.Shard < uint64(len(n.owning)) && n.owning[f.Shard].Load()
	switch {
	case !owning || f.Kind == link.Command && ses.refuses(f):
		ses.refuse(f, errNoOwner)
	case f.Kind == link.Command:
		n.cfg.Serve(int(f.Shard), f.Body, func(answer []byte, err error) {
			if err != nil {
				ses.refuse(f, err)
				return
			}
			ses.answer(link.Frame{Kind: link.Answer, ID: f.ID, Body: answer})
		})
	case f.Kind == link.Barrier:
		n.cfg.Barrier(int(f.Shard), func(seq uint64, err error) {
			if err != nil {
				ses.refuse(f, err)
				return
			}
			ses.answer(link.Frame{Kind: link.Sequence, ID: f.ID, Sequence: seq})
		})
	default:
		ses.refuse(f, link.ErrMalformed)
	}
}

// refuses reports whether a command before this one was refused: then this one must be, or
// it would overtake.
func (ses *session) refuses(f link.Frame) bool {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.refused[f.Shard] > f.Try
}

func (ses *session) refuse(f link.Frame, why error) {
	if f.Kind == link.Command {
		ses.mu.Lock()
		ses.refused[f.Shard] = max(ses.refused[f.Shard], f.Try+1)
		ses.mu.Unlock()
	}
	ses.answer(link.Frame{Kind: link.Refusal, ID: f.ID, Body: []byte(why.Error())})
}

func (ses *session) answer(f link.Frame) {
	ses.mu.Lock()
	ses.stream.Write(f)
	ses.unanswered--
	ses.mu.Unlock()
	ses.signal()
}

// part says to all clients that nothing is taken any more: what they sent and is
// still on its way will not be carried out.
func (s *server) part() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parting = true
	for _, ses := range s.sessions {
		ses.part()
	}
}

// part writes the farewell, when everything is answered.
func (ses *session) part() {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if !ses.parted && ses.unanswered == 0 {
		ses.parted = true
		ses.stream.Write(link.Frame{Kind: link.Farewell})
		ses.signal()
	}
}

// idle reports whether every member that shows life has got all answers and the farewell.
func (s *server) idle() bool {
	v, now := s.n.view.Load(), s.n.elapsed()
	s.mu.Lock()
	defer s.mu.Unlock()
	for process, ses := range s.sessions {
		ses.mu.Lock()
		idle := ses.parted && (ses.stream.Idle() || ses.stream.Stalled(now) > s.n.cfg.Lease)
		ses.mu.Unlock()
		if !idle && v.has(process) {
			return false
		}
	}
	return true
}

// moved forgets those who are gone for long.
func (s *server) moved(v *view) {
	now := s.n.elapsed()
	s.mu.Lock()
	defer s.mu.Unlock()
	for process, ses := range s.sessions {
		ses.mu.Lock()
		silent := now - ses.heard
		ses.mu.Unlock()
		if !v.has(process) && silent > forget {
			delete(s.sessions, process)
			ses.end()
		}
	}
	s.opened.Forget(now, v.has)
}

func (s *server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for process, ses := range s.sessions {
		delete(s.sessions, process)
		ses.end()
	}
}
