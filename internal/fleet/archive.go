package fleet

import (
	"slices"

	"github.com/muster-gg/muster/internal/event"
)

// Ended player sessions move from memory to the history while their game session is still running: it may run for
// months and have millions of players. They move in the order of their end, which numbers them: the n-th player session
// that ended has number n-1. The newest few stay, so most game sessions, which are short, move as a whole after their
// end.

// ArchiveLevel is the feature level from which ended player sessions move to the history before their game session, and
// a game session may take several snapshot records.
const ArchiveLevel = 2

// How many ended player sessions a game session keeps, and how many bytes of them. With its other fields they fit in
// one entry of the history.
const (
	keptPlayers = 256
	keptBytes   = 1 << 20
)

// Excess lists the player sessions to move to the history: those that ended before the given time, beyond what the game
// session keeps. The first one has number Archived.
func (g *GameSession) Excess(before event.Time) []*PlayerSession {
	n, bytes := len(g.PastPlayers), 0
	for n > 0 && len(g.PastPlayers)-n < keptPlayers && bytes+g.PastPlayers[n-1].bytes() <= keptBytes {
		n--
		bytes += g.PastPlayers[n].bytes()
	}
	return endedBefore(g.PastPlayers[:n:n], before)
}

// endedBefore returns the leading player sessions that ended before a time.
func endedBefore(gone []*PlayerSession, before event.Time) []*PlayerSession {
	if late := slices.IndexFunc(gone, func(p *PlayerSession) bool { return p.Ended >= before }); late >= 0 {
		return gone[:late]
	}
	return gone
}

// bytes estimates the encoded size.
func (p *PlayerSession) bytes() int { return 96 + len(p.PlayerID) + len(p.Data) }

// ArchiveRecord returns the history record of one ended player session with its number. It has the fields of the game
// session that a description needs.
func (g *GameSession) ArchiveRecord(number uint32, p *PlayerSession) *GameSession {
	return &GameSession{
		Ordinal: g.Ordinal, ID: g.ID, Maximum: g.Maximum, Policy: g.Policy, Status: g.Status, Created: g.Created,
		Host: g.Host, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port, PastPlayers: []*PlayerSession{p},
		Archived: number,
	}
}

// WithoutExcess returns the game session without its first n ended player sessions, which are in the history by
// themselves.
func (g *GameSession) WithoutExcess(n int) *GameSession {
	if n == 0 {
		return g
	}
	rest := *g
	rest.PastPlayers, rest.Archived = g.PastPlayers[n:], g.Archived+uint32(n)
	return &rest
}

// WithExcess calls visit with the game sessions that have more ended player sessions than they keep, until it returns
// false. Only the writer may call it.
func (r *Room) WithExcess(visit func(*GameSession) bool) {
	r.withExcess.Scan(func(ordinal uint64) bool {
		g, _ := r.GameSessionAt(ordinal)
		return visit(g)
	})
}

func (r *Room) indexExcess(g *GameSession) {
	if len(g.PastPlayers) > keptPlayers {
		r.withExcess.Insert(g.Ordinal)
	} else {
		r.withExcess.Delete(g.Ordinal)
	}
}

// ForgetPlayers removes ended player sessions that are in the history: those with numbers below Through. While the game
// session is running, those that ended within RepeatedWithin stay: their command may be repeated. It can be repeated.
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

func (e *PlayersForgotten) apply(r *Room) {
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

// changePastPlayers replaces the ended player sessions in memory. No index depends on them.
func (r *Room) changePastPlayers(g *GameSession, gone []*PlayerSession, archived uint32) {
	g = r.own(g)
	g.PastPlayers, g.Archived = slices.Clone(gone), archived // a copy, to free the memory of the others
	r.indexExcess(g)
}

// recordPlayers is the maximum number of player sessions in a snapshot record.
const recordPlayers = 1024

// MorePlayers is a snapshot record: the player sessions that do not fit in the record of their game session.
type MorePlayers struct {
	Session        uint64           `cbor:"1,keyasint"` // its ordinal
	CurrentPlayers []*PlayerSession `cbor:"2,keyasint,omitempty"`
	PastPlayers    []*PlayerSession `cbor:"3,keyasint,omitempty"`
}

// snapshotSession calls keep with the snapshot records of a game session until it returns false.
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

// restorePlayers adds player sessions to a restored game session.
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
