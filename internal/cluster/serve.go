package cluster

import (
	"sync"

	"github.com/muster-gg/muster/internal/cluster/channel"
)

// A server runs a channel.Server: it answers requests of other nodes.
type server struct {
	n        *Node
	requests []channel.Request // scratch of the receiving goroutine

	mu      sync.Mutex
	machine *channel.Server
}

func newServer(n *Node) *server {
	s := &server{n: n}
	cfg := n.channels(&s.mu, func(end *channel.End) {
		s.step(func(m *channel.Server) { m.Drop(end) })
	})
	s.machine = channel.NewServer(cfg, func(to string, p channel.Packet) {
		n.publish(n.subjectOf(to), channel.AppendPacket(nil, p))
	})
	return s
}

func (s *server) step(do func(m *channel.Server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.machine)
}

// receive processes a packet of a client. One goroutine calls it.
func (s *server) receive(p channel.Packet) {
	var err error
	s.step(func(m *channel.Server) { s.requests, err = m.Receive(s.n.elapsed(), p, s.requests[:0]) })
	for _, r := range s.requests {
		s.handle(r)
	}
	clear(s.requests)
	if err != nil {
		s.n.cfg.Log.Error("malformed command of another node", "process", p.From, "error", err)
	}
}

func (s *server) handle(r channel.Request) {
	n, accepted := s.n, false
	owning := r.Shard < uint64(len(n.owning)) && n.owning[r.Shard].Load()
	s.step(func(m *channel.Server) { accepted = m.Accept(r, owning) })
	switch {
	case !accepted:
	case r.Kind == channel.Command:
		n.cfg.Serve(int(r.Shard), r.Body, func(answer []byte, err error) {
			s.answer(r, err, func(m *channel.Server) { m.Answer(r, answer) })
		})
	default:
		n.cfg.Barrier(int(r.Shard), func(seq uint64, err error) {
			s.answer(r, err, func(m *channel.Server) { m.Sequence(r, seq) })
		})
	}
}

func (s *server) answer(r channel.Request, err error, give func(m *channel.Server)) {
	s.step(func(m *channel.Server) {
		if err != nil {
			m.Refuse(r, err)
			return
		}
		give(m)
	})
}

// finish reports to all clients that no request is accepted any more.
func (s *server) finish() { s.step((*channel.Server).Finish) }

// idle reports whether all responsive members have received all responses and the end of the channel.
func (s *server) idle() (idle bool) {
	v := s.n.view.Load()
	s.step(func(m *channel.Server) { idle = m.Idle(s.n.elapsed(), s.n.cfg.Lease, v.has) })
	return idle
}

// moved processes a change of members.
func (s *server) moved(v *view) {
	s.step(func(m *channel.Server) { m.Moved(s.n.elapsed(), v.has) })
}

func (s *server) stop() { s.step((*channel.Server).Stop) }
