package fleet

import (
	"iter"

	"github.com/muster-gg/muster/internal/search"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// Index returns the index of the ACTIVE game sessions. The keys of its documents are ordinals.
func (r *Room) Index() *search.Index { return r.index }

// Passing returns the game sessions that are ACTIVATING or TERMINATING, by order of creation: those that have not ended
// and are not in the Index.
func (r *Room) Passing() iter.Seq[*GameSession] {
	return func(yield func(*GameSession) bool) {
		r.passing.Scan(func(ordinal uint64) bool {
			g, ok := r.GameSessionAt(ordinal)
			return !ok || yield(g)
		})
	}
}

// indexSession keeps the index as the game session is: only ACTIVE ones are found by a search. Source: API reference,
// SearchGameSessions.
func (r *Room) indexSession(old, g *GameSession) {
	if g.Status == Activating || g.Status == Terminating {
		r.passing.Insert(g.Ordinal)
	} else {
		r.passing.Delete(g.Ordinal)
	}
	switch {
	case g.Status == Active && old != nil && sameDocument(old, g): // as when a player is accepted
	case g.Status == Active:
		r.index.Put(r.document(old, g))
	case old != nil && old.Status == Active:
		r.index.Delete(g.Ordinal)
	}
}

// sameDocument reports whether a search sees no difference between two states of a game session.
func sameDocument(old, g *GameSession) bool {
	return old.Status == g.Status && old.Name == g.Name && old.Maximum == g.Maximum && old.Players() == g.Players() &&
		sameProperties(old.Properties, g.Properties)
}

// document is Document for the index. It shares the parts that have not changed with the document before it.
func (r *Room) document(old, g *GameSession) *search.Doc {
	if before, ok := r.index.Get(g.Ordinal); ok && old != nil && sameProperties(old.Properties, g.Properties) {
		doc := documentOf(r.prefix, g)
		doc.Properties = before.Properties
		return doc
	}
	return withProperties(documentOf(r.prefix, g), g)
}

// Document returns what a search sees of a game session of the room, whatever its status.
func (r *Room) Document(g *GameSession) *search.Doc {
	return withProperties(documentOf(r.prefix, g), g)
}

// Document returns what a search sees of a game session that may have left its room.
func Document(region string, room RoomID, g *GameSession) *search.Doc {
	return withProperties(documentOf(arn.GameSessionPrefix(region, string(room.Fleet), room.Location), g), g)
}

func documentOf(prefix string, g *GameSession) *search.Doc {
	doc := &search.Doc{
		Key: g.Ordinal, Prefix: prefix, ID: g.ID, Name: g.Name,
		Maximum: g.Maximum, Players: g.Players(), Created: g.Created,
	}
	if given, ok := arn.CutVerbatim(g.ID); ok {
		doc.Prefix, doc.ID = "", given
	}
	return doc
}

func withProperties(doc *search.Doc, g *GameSession) *search.Doc {
	for _, p := range g.Properties {
		doc.Properties = append(doc.Properties, search.Property{Key: p.Key, Value: p.Value})
	}
	return doc
}

// sameProperties reports whether two slices are one in memory: a change makes a new one.
func sameProperties(a, b []Property) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
