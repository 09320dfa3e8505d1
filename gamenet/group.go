package gamenet

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// A Group is a set of sessions that receive the same: the players of a room. A session leaves by itself when it ends. The
// zero value is an empty group; a Group must not be copied. Its methods may be called from any goroutine.
type Group struct {
	mu       sync.Mutex
	places   map[*Session]int // in members
	members  []*Session
	snapshot []*Session // of members; nil when it has changed. Never written to.
}

// NewGroup makes an empty group.
func NewGroup() *Group { return new(Group) }

// Add lets a session in; it reports false if the session has ended or is in.
func (g *Group) Add(s *Session) bool {
	s.groupsMu.Lock()
	defer s.groupsMu.Unlock()
	if s.gone {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, in := g.places[s]; in {
		return false
	}
	if g.places == nil {
		g.places = make(map[*Session]int)
	}
	g.places[s] = len(g.members)
	g.members = append(g.members, s)
	g.snapshot = nil
	s.groups = append(s.groups, g)
	return true
}

// Remove lets a session go; it reports false if the session is not in.
func (g *Group) Remove(s *Session) bool {
	s.groupsMu.Lock()
	defer s.groupsMu.Unlock()
	if !g.remove(s) {
		return false
	}
	s.groups = slices.DeleteFunc(s.groups, func(other *Group) bool { return other == g })
	return true
}

func (g *Group) remove(s *Session) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	place, in := g.places[s]
	if !in {
		return false
	}
	last := len(g.members) - 1
	moved := g.members[last]
	g.members[place], g.members[last] = moved, nil
	g.places[moved] = place
	g.members = g.members[:last]
	delete(g.places, s)
	g.snapshot = nil
	return true
}

// leaveGroups takes the session out of all groups, for good.
func (s *Session) leaveGroups() {
	s.groupsMu.Lock()
	defer s.groupsMu.Unlock()
	s.gone = true
	for _, g := range s.groups {
		g.remove(s)
	}
	s.groups = nil
}

// Has says whether a session is in.
func (g *Group) Has(s *Session) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, in := g.places[s]
	return in
}

// Len is the number of sessions.
func (g *Group) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.members)
}

// Members are the sessions at this moment, in no order. The slice must not be written to.
func (g *Group) Members() []*Session {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.snapshot == nil && len(g.members) > 0 {
		g.snapshot = slices.Clone(g.members)
	}
	return g.snapshot
}

// Broadcast sends a packet to all sessions; it is encoded once for those of one service. The error joins what the sends
// answered, ErrClosed left out: sessions may end at any time. One that fails keeps nobody else from hearing. With the
// policy Block a slow session holds up the rest.
func (g *Group) Broadcast(p Packet) error {
	return broadcast(g.Members(), p)
}

// BroadcastFrame sends a frame to all sessions, which must have the codec that it was made with. The caller keeps its
// reference. Errors are as with Broadcast.
func (g *Group) BroadcastFrame(f *Frame) error { return broadcastFrame(g.Members(), f) }

// broadcast sends a packet to sessions, and encodes it once for those of one service that follow one another.
func broadcast(sessions []*Session, p Packet) error {
	var failed error
	for len(sessions) > 0 {
		service := sessions[0].service
		n := 1
		for n < len(sessions) && sessions[n].service == service {
			n++
		}
		failed = errors.Join(failed, service.broadcast(sessions[:n], p))
		sessions = sessions[n:]
	}
	return failed
}

func (s *service) broadcast(sessions []*Session, p Packet) error {
	f := newFrame(s.cfg.Codec, s.cfg.MaxPacket, s.cfg.Codec.Header()+len(p.Payload))
	defer f.Release()
	if err := f.Append(p); err != nil {
		return err
	}
	return broadcastFrame(sessions, f)
}

func broadcastFrame(sessions []*Session, f *Frame) error {
	var failed error
	for _, s := range sessions {
		err := s.sendFrame(context.Background(), s.service.cfg.WhenFull, f)
		if err != nil && !errors.Is(err, ErrClosed) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
