package fleet

import "slices"

// ownership records which parts of a game session only the Room has seen, so that the writer may change them in place.
// Each part holds the Room's generation at its creation: a frozen copy increases the generation, and all that it can
// see belongs to the one before.
type ownership struct {
	record     uint64   // the GameSession itself; 0 after it was returned to a caller
	slots      uint64   // the arrays of CurrentPlayers and randomBits
	randomBits []uint64 // of the ids of CurrentPlayers: find compares them first
}

// own returns the game session for a change: itself if nobody has seen it, else a copy that replaces it. The arrays of
// CurrentPlayers and randomBits are still shared then, and may only be appended to; see ownSlots.
func (r *Room) own(g *GameSession) *GameSession {
	if g.record == r.generation {
		return g
	}
	next := *g
	next.record = r.generation
	r.sessions.Set(next.Ordinal, &next)
	return &next
}

// ownSlots copies the arrays of an owned game session if they are shared.
func (r *Room) ownSlots(g *GameSession) {
	if g.slots == r.generation {
		return
	}
	g.CurrentPlayers, g.randomBits, g.slots = slices.Clone(g.CurrentPlayers), slices.Clone(g.randomBits), r.generation
}

// shown marks a game session as seen by others before it is returned: it is not changed any more.
func (r *Room) shown(g *GameSession, ok bool) (*GameSession, bool) {
	if ok && r.live != nil && g.record == r.generation { // a frozen copy has no writer
		g.record, g.slots = 0, 0
	}
	return g, ok
}

func (r *Room) shownProcess(p *Process) *Process {
	if p != nil && r.live != nil && p.record == r.generation {
		p.record = 0
	}
	return p
}

// withoutPlayers returns a copy without the lists of players.
func (g *GameSession) withoutPlayers() *GameSession {
	c := *g
	c.CurrentPlayers, c.PastPlayers, c.ownership = nil, nil, ownership{}
	return &c
}

// find is PlayerSession, faster: it compares random bits before it loads records.
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
