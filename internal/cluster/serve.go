package cluster

import (
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/cluster/channel"
)

// forget is the time without packets after which the channel of a process that is no member is deleted.
const forget = time.Minute

// A server answers requests of other nodes: one session for each sending process.
type server struct {
	n *Node

	mu        sync.Mutex
	closed    bool
	finishing bool // no request is accepted any more
	sessions  map[string]*session
	opened    channel.Generations // of all sessions so far
}

// session is the channel from one process.
type session struct {
	srv     *server
	process string
	*sender

	mu         sync.Mutex
	receivedAt time.Duration
	unanswered int
	finished   bool              // the Farewell frame was written
	refused    map[uint64]uint64 // by shard: commands of tries below are refused
	frames     []channel.Frame   // scratch of the receiving goroutine
}

func newServer(n *Node) *server { return &server{n: n, sessions: map[string]*session{}} }

// receive processes a packet of a client. One goroutine calls it.
func (s *server) receive(p channel.Packet) {
	ses := s.session(p)
	if ses == nil {
		return
	}
	now := s.n.elapsed()
	ses.mu.Lock()
	ses.receivedAt = now
	frames := ses.frames[:0]
	err := ses.stream.Receive(now, p, func(f channel.Frame) { frames = append(frames, f) })
	if ses.finished {
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
		s.n.cfg.Log.Error("malformed command of another node", "process", p.From, "error", err)
		s.drop(ses)
		return
	}
	ses.signal()
}

// session returns the session of a packet, and creates it with the first packet of a channel; nil if the packet must
// be ignored. A dropped channel is not opened again: its first packet, which the client repeats until it is
// acknowledged, may have been executed.
func (s *server) session(p channel.Packet) *session {
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
		ses.sender = s.n.newSender(&ses.mu, p.From, channel.Packet{Kind: channel.FromServer, Generation: p.Generation}, func() { s.drop(ses) })
		s.sessions[p.From] = ses
		if s.finishing {
			ses.finish()
		}
		return ses
	case p.Number > 1:
		broken := channel.Packet{Kind: channel.Broken, From: s.n.process, Generation: p.Generation}
		if err := s.n.packets.Publish(s.n.subjectOf(p.From), channel.AppendPacket(nil, broken)); err != nil {
			s.n.cfg.Log.Debug("packet not sent", "error", err)
		}
	}
	return nil
}

// drop deletes a session. Its client learns that with its next packet.
func (s *server) drop(ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[ses.process] == ses {
		delete(s.sessions, ses.process)
		ses.end()
	}
}

// end closes the channel. Requests in progress are still executed, and not answered.
func (ses *session) end() {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	ses.close()
}

// handle executes one request.
func (ses *session) handle(f channel.Frame) {
	n := ses.srv.n
	owning := f.Shard < uint64(len(n.owning)) && n.owning[f.Shard].Load()
	switch {
	case !owning || f.Kind == channel.Command && ses.refuses(f):
		ses.refuse(f, errNoOwner)
	case f.Kind == channel.Command:
		n.cfg.Serve(int(f.Shard), f.Body, func(answer []byte, err error) {
			if err != nil {
				ses.refuse(f, err)
				return
			}
			ses.answer(channel.Frame{Kind: channel.Answer, ID: f.ID, Body: answer})
		})
	case f.Kind == channel.Barrier:
		n.cfg.Barrier(int(f.Shard), func(seq uint64, err error) {
			if err != nil {
				ses.refuse(f, err)
				return
			}
			ses.answer(channel.Frame{Kind: channel.Sequence, ID: f.ID, Sequence: seq})
		})
	default:
		ses.refuse(f, channel.ErrMalformed)
	}
}

// refuses reports whether a command before this one was refused: then this one must be, or it would overtake that
// one.
func (ses *session) refuses(f channel.Frame) bool {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.refused[f.Shard] > f.Try
}

func (ses *session) refuse(f channel.Frame, why error) {
	if f.Kind == channel.Command {
		ses.mu.Lock()
		ses.refused[f.Shard] = max(ses.refused[f.Shard], f.Try+1)
		ses.mu.Unlock()
	}
	ses.answer(channel.Frame{Kind: channel.Refusal, ID: f.ID, Body: []byte(why.Error())})
}

func (ses *session) answer(f channel.Frame) {
	ses.mu.Lock()
	ses.stream.Write(f)
	ses.unanswered--
	ses.mu.Unlock()
	ses.signal()
}

// part reports to all clients that no request is accepted any more: requests in transit will not be executed.
func (s *server) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishing = true
	for _, ses := range s.sessions {
		ses.finish()
	}
}

// part writes the Farewell frame once everything is answered.
func (ses *session) finish() {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if !ses.finished && ses.unanswered == 0 {
		ses.finished = true
		ses.stream.Write(channel.Frame{Kind: channel.Farewell})
		ses.signal()
	}
}

// idle reports whether all responsive members have received all responses and the Farewell frame.
func (s *server) idle() bool {
	v, now := s.n.view.Load(), s.n.elapsed()
	s.mu.Lock()
	defer s.mu.Unlock()
	for process, ses := range s.sessions {
		ses.mu.Lock()
		idle := ses.finished && (ses.stream.Idle() || ses.stream.Stalled(now) > s.n.cfg.Lease)
		ses.mu.Unlock()
		if !idle && v.has(process) {
			return false
		}
	}
	return true
}

// moved deletes sessions of processes that were lost long ago.
func (s *server) moved(v *view) {
	now := s.n.elapsed()
	s.mu.Lock()
	defer s.mu.Unlock()
	for process, ses := range s.sessions {
		ses.mu.Lock()
		silent := now - ses.receivedAt
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
