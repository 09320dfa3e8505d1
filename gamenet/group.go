package gamenet

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// A Group is a set of sessions that receive the same packets: the players of a room. A session that ends is removed.
// The zero value is an empty group; a Group must not be copied. Its methods may be called from any goroutine.
type Group struct {
	mu       sync.Mutex
	index    map[*Session]int // in members
	members  []*Session
	snapshot []*Session // copy of members, never modified; nil after a change
}

// Add adds a session; it reports false if the session has ended or is a member.
func (g *Group) Add(s *Session) bool {
	s.groupsMu.Lock()
	defer s.groupsMu.Unlock()
	if s.left {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, in := g.index[s]; in {
		return false
	}
	if g.index == nil {
		g.index = make(map[*Session]int)
	}
	g.index[s] = len(g.members)
	g.members = append(g.members, s)
	g.snapshot = nil
	s.groups = append(s.groups, g)
	return true
}

// Remove removes a session; it reports false if the session is not a member.
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
	i, in := g.index[s]
	if !in {
		return false
	}
	last := len(g.members) - 1
	moved := g.members[last]
	g.members[i], g.members[last] = moved, nil
	g.index[moved] = i
	g.members = g.members[:last]
	delete(g.index, s)
	g.snapshot = nil
	return true
}

// leaveGroups removes the session from all groups; it cannot join one afterwards.
func (s *Session) leaveGroups() {
	s.groupsMu.Lock()
	defer s.groupsMu.Unlock()
	s.left = true
	for _, g := range s.groups {
		g.remove(s)
	}
	s.groups = nil
}

// Has reports whether a session is a member.
func (g *Group) Has(s *Session) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, in := g.index[s]
	return in
}

// Len is the number of sessions.
func (g *Group) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.members)
}

// Members returns the current sessions, in no particular order. The caller must not modify the slice.
func (g *Group) Members() []*Session {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.snapshot == nil && len(g.members) > 0 {
		g.snapshot = slices.Clone(g.members)
	}
	return g.snapshot
}

// Broadcast sends a packet to all sessions; it is encoded once for the sessions of one service. It sends to all even if
// some fail, and joins their errors without ErrClosed, because sessions may end at any time. With the policy FullBlock
// a slow session delays the rest.
func (g *Group) Broadcast(p Packet) error {
	return broadcast(g.Members(), p)
}

// BroadcastFrame sends a frame to all sessions, which must use the frame's codec. The caller keeps its reference.
// Errors are as with Broadcast.
func (g *Group) BroadcastFrame(f *Frame) error { return broadcastFrame(g.Members(), f) }

// broadcast sends a packet to sessions. It encodes the packet once for each run of sessions of one service.
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
