package fleet

import "github.com/muster-gg/muster/internal/event"

// A game session created for a waiting player (by the session gateway, for example) is useless if the player never
// receives the answer: if the creator crashes first, nobody knows the game session, and it occupies a server process
// forever. So it can have a deadline, ConfirmBy, before which the creator must confirm that the answer was sent
// (ConfirmGameSession), or a player must connect. Otherwise, once no player session is left, the Room terminates it.

// ConfirmGameSession reports that the answer naming the game session was sent. It can be repeated, and ignores ended
// game sessions.
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

func (e *GameSessionConfirmed) apply(r *Room) {
	r.changeSession(e.Ordinal, func(g *GameSession) { g.ConfirmBy = 0 })
}

// confirmDeadline returns when an unconfirmed game session is terminated; zero if it is confirmed, or while a player
// has a slot: a retry may still ask for it.
func (g *GameSession) confirmDeadline() event.Time {
	if len(g.CurrentPlayers) > 0 {
		return 0
	}
	return g.ConfirmBy
}
