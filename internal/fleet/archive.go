package fleet

import (
	"slices"

	"github.com/muster-gg/muster/internal/event"
)

// Player sessions that have ended leave memory for the history while their game session
// goes on: it may live for months, and millions of players may come and go. They leave
// in the order in which they ended, so that a number says which they are: the n-th player
// session of a game session that ended has the number n-1, wherever it is. The newest few
// stay. So short game sessions, which are most, move as a whole when they have ended.

// ArchiveLevel is the feature level from which player sessions leave memory before their
// game session, and a game session may take several records of a snapshot.
const ArchiveLevel = 2

// What a game session keeps of the player sessions that have ended: so many, and so many
// bytes of them. With its other fields that fits into an entry of the history.
const (
	keptPlayers = 256
	keptBytes   = 1 << 20
)

// Excess lists the player sessions that the history is to have instead of memory: those
// that ended before the given moment and are more than the game session keeps. The
// first one has the number Archived, and so on.
func (g *GameSession) Excess(before event.Time) []*PlayerSession {
	n, bytes := len(g.PastPlayers), 0
	for n > 0 && len(g.PastPlayers)-n < keptPlayers && bytes+g.PastPlayers[n-1].bytes() <= keptBytes {
		n--
		bytes += g.PastPlayers[n].bytes()
	}
	return endedBefore(g.PastPlayers[:n:n], before)
}

// endedBefore are the first player sessions, as far as they ended before a moment.
func endedBefore(gone []*PlayerSession, before event.Time) []*PlayerSession {
	if late := slices.IndexFunc(gone, func(p *PlayerSession) bool { return p.Ended >= before }); late >= 0 {
		return gone[:late]
	}
	return gone
}

// bytes is about how long the record is when it is written.
func (p *PlayerSession) bytes() int { return 96 + len(p.PlayerID) + len(p.Data) }

// Departed is a record of one player session that has ended, which has the given number,
// for the history: with as much of the game session as its description needs.
func (g *GameSession) ArchiveRecord(number uint32, p *PlayerSession) *GameSession {
	return &GameSession{
		Ordinal: g.Ordinal, ID: g.ID, Maximum: g.Maximum, Policy: g.Policy, Status: g.Status, Created: g.Created,
		Host: g.Host, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port, PastPlayers: []*PlayerSession{p}, Archived: number,
	}
}

// Crowded calls visit with the game sessions that have more player sessions that have
// ended than they keep, until it returns false. It is for the writer's own goroutine.
func (r *Room) WithExcess(visit func(*GameSession) bool) {
	r.withExcess.Scan(func(ordinal uint64) bool {
		g, _ := r.GameSessionAt(ordinal)
		return visit(g)
	})
}

// indexCrowded keeps the list of the crowded game sessions.
func (r *Room) indexExcess(g *GameSession) {
	if len(g.PastPlayers) > keptPlayers {
		r.withExcess.Insert(g.Ordinal)
	} else {
		r.withExcess.Delete(g.Ordinal)
	}
}

// ForgetPlayers removes player sessions that have ended and are kept in the history: those
// with numbers below Through. While the game session goes on, those that ended within
// RepeatedWithin stay: the command that made them may come again. Repeating it changes nothing.
type ForgetPlayers struct {
	Session uint64 `cbor:"1,keyasint,omitzero"` // ordinal of the game session
	Through uint32 `cbor:"2,keyasint,omitzero"`
}

func (c ForgetPlayers) decide(r *Room, now event.Time) ([]any, error) {
	g, ok := r.sessions.Get(c.Session)
	if !ok || c.Through <= g.Archived {
		return nil, nil
	}
	forget := g.PastPlayers[:min(len(g.PastPlayers), int(c.Through-g.Archived))]
	if !g.HasEnded() {
		forget = endedBefore(forget, now.Add(-RepeatedWithin))
	}
	if len(forget) == 0 {
		return nil, nil
	}
	through := g.Archived + uint32(len(forget))
	return []any{&PlayersForgotten{Session: g.Ordinal, Through: through}}, nil
}

func (ForgetPlayers) answer(*Room) any { return nil }

func (r *Room) applyPlayersForgotten(e *PlayersForgotten) {
	g, ok := r.sessions.Get(e.Session)
	if !ok {
		return
	}
	n := e.Through - g.Archived
	for _, p := range g.PastPlayers[:n] {
		r.byPlayer.remove(p.PlayerID, g.Ordinal)
	}
	r.changePastPlayers(g, g.PastPlayers[n:], e.Through)
}

// changeGone changes which player sessions that have ended are in memory. Nothing else
// follows from them.
func (r *Room) changePastPlayers(g *GameSession, gone []*PlayerSession, archived uint32) {
	g = r.own(g)
	g.PastPlayers, g.Archived = slices.Clone(gone), archived // a copy, so that the memory of the others is free
	r.indexExcess(g)
}

// recordPlayers is how many player sessions one record of a snapshot holds at most, so
// that its size is bounded.
const recordPlayers = 1024

// MorePlayers is a record of a snapshot: player sessions of a game session that has more
// than its own record holds. Those of several records follow each other.
type MorePlayers struct {
	Session        uint64           `cbor:"1,keyasint"` // its ordinal
	CurrentPlayers []*PlayerSession `cbor:"2,keyasint,omitempty"`
	PastPlayers    []*PlayerSession `cbor:"3,keyasint,omitempty"`
}

// snapshotSession calls keep with the records of a game session until it returns false.
func (r *Room) snapshotSession(g *GameSession, keep func(record any) bool) bool {
	if len(g.CurrentPlayers)+len(g.PastPlayers) <= recordPlayers || !r.Allows(ArchiveLevel) {
		return keep(g)
	}
	if !keep(g.withoutPlayers()) {
		return false
	}
	for part := range slices.Chunk(g.CurrentPlayers, recordPlayers) {
		if !keep(&MorePlayers{Session: g.Ordinal, CurrentPlayers: part}) {
			return false
		}
	}
	for part := range slices.Chunk(g.PastPlayers, recordPlayers) {
		if !keep(&MorePlayers{Session: g.Ordinal, PastPlayers: part}) {
			return false
		}
	}
	return true
}

// restorePlayers takes back player sessions of a game session that was restored before.
func (r *Room) restorePlayers(m *MorePlayers) {
	if len(m.CurrentPlayers) > 0 {
		r.changeSession(m.Session, func(g *GameSession) {
			g.CurrentPlayers = append(g.CurrentPlayers, m.CurrentPlayers...)
			for _, p := range m.CurrentPlayers {
				g.randomBits = append(g.randomBits, p.ID.randomBits())
			}
		})
	}
	if g, ok := r.sessions.Get(m.Session); ok && len(m.PastPlayers) > 0 {
		g.PastPlayers = append(g.PastPlayers, m.PastPlayers...)
		r.indexExcess(g)
	}
	for _, list := range [][]*PlayerSession{m.CurrentPlayers, m.PastPlayers} {
		for _, p := range list {
			r.byPlayer.add(p.PlayerID, m.Session)
		}
	}
}
