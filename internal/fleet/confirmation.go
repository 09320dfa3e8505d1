package fleet

import "github.com/muster-gg/muster/internal/event"

// A game session that is created for a player who waits for the answer (at the
// session gateway, say) is of no use until that answer has come. Whoever creates
// it may be killed before, and nobody would know of the game session, which
// holds a server process for ever. So it can be given a time, ConfirmBy, until
// which somebody has to say that the answer was sent (ConfirmGameSession), or a
// player has to come in. If neither happens, and nobody holds a reservation any
// more, the Room itself asks for its end.

// ConfirmGameSession says that the answer which names the game session was sent.
// Saying it again, or of one that is over, changes nothing.
type ConfirmGameSession struct {
	ID string `cbor:"1,keyasint,omitzero"`
}

func (c ConfirmGameSession) decide(r *Room, _ event.Time) ([]any, error) {
	g, ok := r.session(c.ID)
	if !ok || g.ConfirmBy == 0 {
		return nil, nil
	}
	return []any{&GameSessionConfirmed{Ordinal: g.Ordinal}}, nil
}

func (ConfirmGameSession) answer(*Room) any { return nil }

func (r *Room) applyGameSessionConfirmed(e *GameSessionConfirmed) {
	r.changeSession(e.Ordinal, func(g *GameSession) { g.ConfirmBy = 0 })
}

// handOverDeadline is when a game session ends that was not handed over; zero if
// it was, or while somebody holds a place in it: a retry may still ask for that.
func (g *GameSession) confirmDeadline() event.Time {
	if len(g.CurrentPlayers) > 0 {
		return 0
	}
	return g.ConfirmBy
}
