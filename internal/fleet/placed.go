package fleet

import (
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fault"
)

// A game session that a placement asks for knows the placement, so that whoever
// follows the Room can say what has become of the attempt. The players that the
// placement wants player sessions for have their ids from the beginning, and get
// their places in the very event that makes the game session ACTIVE: it is never
// active without them. Their reservations last from then.

// desired are the seats of the players that a game session is created for.
func (r *Room) desired(players []NewPlayer, ordinal uint64) []Slot {
	if len(players) == 0 {
		return nil
	}
	return r.slots(players, ordinal)
}

// seats gives players the ids of their player sessions.
func (r *Room) slots(players []NewPlayer, ordinal uint64) []Slot {
	seats := make([]Slot, len(players))
	for i, p := range players {
		seats[i] = Slot{ID: newPlayerSessionID(r.address, ordinal, p.Random), PlayerID: p.PlayerID, Data: p.Data}
	}
	return seats
}

// activate gives the event that makes a game session ACTIVE.
func (r *Room) activate(g *GameSession, now event.Time) *GameSessionActivated {
	e := &GameSessionActivated{Ordinal: g.Ordinal, At: now}
	if len(g.Desired) > 0 {
		e.Expires, e.Slots = now.Add(r.settings.Reservation), g.Desired
	}
	return e
}

// newPlayerSessions are the records of seats that were just taken.
func newPlayerSessions(g *GameSession, seats []Slot, at, expires event.Time) []PlayerSession {
	players := make([]PlayerSession, len(seats)) // one allocation for all
	next := g.Archived + uint32(len(g.CurrentPlayers)+len(g.PastPlayers))
	for i := range seats {
		s := &seats[i]
		players[i] = PlayerSession{
			ID: s.ID, Index: next + uint32(i), PlayerID: s.PlayerID, Data: s.Data,
			Status: Reserved, Created: at, Expires: expires,
		}
	}
	return players
}

// BackfillGameSession lets the players of a match into a game session that has
// begun, and gives it the matchmaker data of all its players. Repeating it for the
// same match changes nothing and gives the same answer.
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
		return nil, fault.New(fault.NotFound, "The game session %s was not found, or was in a state which wouldn't accept new player sessions.", c.GameSession)
	}
	return []any{&GameSessionBackfilled{
		Ordinal: g.Ordinal, Match: c.Match, MatchmakerData: c.MatchmakerData, Slots: r.slots(c.Players, g.Ordinal),
		At: now, Expires: now.Add(r.settings.Reservation),
	}}, nil
}

// answer is a Reservation.
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

func (r *Room) applyGameSessionBackfilled(e *GameSessionBackfilled) {
	r.changeSession(e.Ordinal, func(g *GameSession) {
		g.MatchmakerData, g.Filled = e.MatchmakerData, e.Match
		r.admit(g, newPlayerSessions(g, e.Slots, e.At, e.Expires))
	})
	r.indexPlayers(e.Slots, e.Ordinal)
}

// FreeFor is how many processes could take a game session at this moment, with so
// many activations at a time on each compute. It is for the writer's own goroutine.
func (r *Room) FreeFor(maxActivations int) (n int) {
	r.available.Scan(func(best rank) bool {
		n += min(r.hosts[best.compute].idle.Len(), max(0, maxActivations-best.activating))
		return true
	})
	return n
}
