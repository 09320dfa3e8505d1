package fleet

import (
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A game session of a placement stores the placement's id, so that observers of the Room can report the result of the
// attempt. The ids of its player sessions are assigned at creation; the event that makes the game session ACTIVE
// reserves their slots, and their reservations begin then.

func (r *Room) desired(players []NewPlayer, ordinal uint64) []Slot {
	if len(players) == 0 {
		return nil
	}
	return r.slots(players, ordinal)
}

// slots assigns player session ids to players.
func (r *Room) slots(players []NewPlayer, ordinal uint64) []Slot {
	slots := make([]Slot, len(players))
	for i, p := range players {
		slots[i] = Slot{ID: newPlayerSessionID(r.address, ordinal, p.Random), PlayerID: p.PlayerID, Data: p.Data}
	}
	return slots
}

// activate returns the event that makes a game session ACTIVE.
func (r *Room) activate(g *GameSession, now event.Time) *GameSessionActivated {
	e := &GameSessionActivated{Ordinal: g.Ordinal, At: now}
	if len(g.Desired) > 0 {
		e.Expires, e.Slots = now.Add(r.settings.Reservation), g.Desired
	}
	return e
}

func newPlayerSessions(g *GameSession, slots []Slot, at, expires event.Time) []PlayerSession {
	players := make([]PlayerSession, len(slots)) // one allocation for all
	next := g.Archived + uint32(len(g.CurrentPlayers)+len(g.PastPlayers))
	for i := range slots {
		s := &slots[i]
		players[i] = PlayerSession{
			ID: s.ID, Index: next + uint32(i), PlayerID: s.PlayerID, Data: s.Data,
			Status: Reserved, Created: at, Expires: expires,
		}
	}
	return players
}

// BackfillGameSession adds the players of a match to a running game session, and replaces its matchmaker data.
// Repeating it for the same match changes nothing and returns the same answer.
type BackfillGameSession struct {
	GameSession    string      `cbor:"1,keyasint,omitzero"`
	Match          string      `cbor:"2,keyasint,omitzero"` // its id
	MatchmakerData string      `cbor:"3,keyasint,omitzero"`
	Players        []NewPlayer `cbor:"4,keyasint,omitzero"`
}

func (c BackfillGameSession) decide(r *Room, now event.Time) ([]any, error) {
	g, ok := r.session(c.GameSession)
	switch {
	case ok && g.Filled == c.Match:
		return nil, nil
	case !ok || g.Status != Active || g.Policy == DenyAll || int(g.Free()) < len(c.Players):
		return nil, fault.New(fault.NotFound, "The game session %s was not found, or was in a state which wouldn't "+
			"accept new player sessions.", c.GameSession)
	}
	return []any{&GameSessionBackfilled{
		Ordinal: g.Ordinal, Match: c.Match, MatchmakerData: c.MatchmakerData, Slots: r.slots(c.Players, g.Ordinal),
		At: now, Expires: now.Add(r.settings.Reservation),
	}}, nil
}

func (c BackfillGameSession) answer(r *Room) any {
	g, _ := r.session(c.GameSession)
	answer := Reservation{GameSession: g.withoutPlayers()}
	all := g.PlayerSessions()
	for _, p := range c.Players {
		for _, s := range slices.Backward(all) {
			if s.PlayerID == p.PlayerID {
				answer.Players = append(answer.Players, s)
				break
			}
		}
	}
	return answer
}

func (e *GameSessionBackfilled) apply(r *Room) {
	r.changeSession(e.Ordinal, func(g *GameSession) {
		g.MatchmakerData, g.Filled, g.FilledAt = e.MatchmakerData, e.Match, e.At
		r.admit(g, newPlayerSessions(g, e.Slots, e.At, e.Expires))
	})
	r.indexPlayers(e.Slots, e.Ordinal)
}

// FreeFor returns how many processes can host a game session now, with at most maxActivations activations on each
// compute. Only the writer may call it.
func (r *Room) FreeFor(maxActivations int) (n int) {
	r.available.Scan(func(best rank) bool {
		n += min(r.hosts[best.compute].idle.Len(), max(0, maxActivations-best.activating))
		return true
	})
	return n
}

// CountsFor returns the Counts with Activatable, for at most maxActivations activations on each compute. Only the
// writer may call it.
func (r *Room) CountsFor(maxActivations int) Counts {
	c := r.counts
	c.Activatable = min(c.Waiting, r.FreeFor(maxActivations))
	return c
}
