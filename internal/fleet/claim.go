package fleet

import (
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/search"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// ClaimGameSession takes over an empty ACTIVE game session that accepts players: it sets name and maximum, merges the
// properties, and reserves the first slot. It is one command, so two callers never get the same game session. It can be
// repeated.
type ClaimGameSession struct {
	Name       string     `cbor:"1,keyasint,omitzero"`
	Maximum    int32      `cbor:"2,keyasint,omitzero"`
	Properties []Property `cbor:"3,keyasint,omitzero"` // merged into the existing ones
	Player     NewPlayer  `cbor:"4,keyasint"`
}

var empty = must(search.ParseFilter("playerSessionCount=0"))

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // a programming error: the text is a constant
	}
	return v
}

func (c ClaimGameSession) decide(r *Room, now event.Time) ([]any, error) {
	if _, p := c.claimed(r); p != nil {
		return nil, nil
	}
	g := r.claimable(c)
	if g == nil {
		return nil, fault.New(fault.NotFound, "Fleet %s has no empty game session in location %s",
			r.id.Fleet, r.id.Location)
	}
	updated := &GameSessionUpdated{Ordinal: g.Ordinal, Name: c.Name, Maximum: &c.Maximum}
	if len(c.Properties) > 0 {
		updated.Properties = mergeProperties(g.Properties, c.Properties)
	}
	return []any{updated, &PlayersReserved{
		Session: g.Ordinal, At: now, Expires: now.Add(r.settings.Reservation),
		Players: []Slot{{ID: newPlayerSessionID(r.address, g.Ordinal, c.Player.Random), PlayerID: c.Player.PlayerID,
			Data: c.Player.Data}},
	}}, nil
}

// claimable returns the oldest game session that can be claimed, or nil. Another player waits for one that is not
// confirmed yet.
func (r *Room) claimable(c ClaimGameSession) *GameSession {
	for _, hit := range r.index.Search(search.Query{Filter: empty, Sort: oldestFirst, Limit: r.index.Len()}) {
		g, ok := r.sessions.Get(hit.Doc.Key)
		if ok && g.Policy != DenyAll && g.ConfirmBy == 0 &&
			len(mergeProperties(g.Properties, c.Properties)) <= MaxProperties {
			return g
		}
	}
	return nil
}

var oldestFirst = must(search.ParseSort("creationTimeMillis ASC"))

// answer returns the Reservation.
func (c ClaimGameSession) answer(r *Room) any {
	g, p := c.claimed(r)
	return Reservation{GameSession: g.withoutPlayers(), Players: []*PlayerSession{p}}
}

// claimed finds the game session that this command has claimed, and the player session in it; nil if it has not been
// carried out.
func (c ClaimGameSession) claimed(r *Room) (*GameSession, *PlayerSession) {
	for _, ordinal := range slices.Backward(r.byPlayer.appendTo(nil, c.Player.PlayerID)) {
		g, ok := r.sessions.Get(ordinal)
		if !ok {
			continue
		}
		if p, ok := g.find(newPlayerSessionID(r.address, ordinal, c.Player.Random)); ok {
			return g, p
		}
	}
	return nil, nil
}
