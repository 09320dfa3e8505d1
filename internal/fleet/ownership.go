package fleet

import "slices"

// ownership says which parts of a game session nobody but the Room has seen, so
// that the writer may change them where they are. Each part holds the generation
// of the Room in which it was made: a frozen copy begins a new one, and then all
// that it can see belongs to the one before.
type ownership struct {
	record     uint64   // the GameSession itself; 0 when it was given out
	slots      uint64   // the arrays behind Seated and tickets
	randomBits []uint64 // of the players in Seated: what a player session is found by
}

// own returns the game session for a change: itself if nobody has seen it, else
// a copy that takes its place. Seated and tickets are still shared then, and may
// be appended to and nothing else; see ownSeats.
func (r *Room) own(g *GameSession) *GameSession {
	if g.record == r.generation {
		return g
	}
	next := *g
	next.record = r.generation
	r.sessions.Set(next.Ordinal, &next)
	return &next
}

// ownSeats lets the places of a game session that is owned be changed.
func (r *Room) ownSlots(g *GameSession) {
	if g.slots == r.generation {
		return
	}
	g.CurrentPlayers, g.randomBits, g.slots = slices.Clone(g.CurrentPlayers), slices.Clone(g.randomBits), r.generation
}

// shown passes a game session on to somebody who may keep it: it is not changed
// any more, and neither are its lists.
func (r *Room) shown(g *GameSession, ok bool) (*GameSession, bool) {
	if ok && r.live != nil && g.record == r.generation { // nothing in a frozen copy is the writer's
		g.record, g.slots = 0, 0
	}
	return g, ok
}

// shownProcess is shown for a server process, which may be nil.
func (r *Room) shownProcess(p *Process) *Process {
	if p != nil && r.live != nil && p.record == r.generation {
		p.record = 0
	}
	return p
}

// withoutPlayers is a copy without the lists of players, which stay the Room's.
func (g *GameSession) withoutPlayers() *GameSession {
	c := *g
	c.CurrentPlayers, c.PastPlayers, c.ownership = nil, nil, ownership{}
	return &c
}

// find finds a player session by its id, as PlayerSession does, with a glance
// at the tickets instead of the records.
func (g *GameSession) find(id PlayerSessionID) (*PlayerSession, bool) {
	for i, t := range g.randomBits {
		if t == id.randomBits() && g.CurrentPlayers[i].ID == id {
			return g.CurrentPlayers[i], true
		}
	}
	for _, p := range g.PastPlayers {
		if p.ID == id {
			return p, true
		}
	}
	return nil, false
}
