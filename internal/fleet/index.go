package fleet

import (
	"github.com/muster-gg/muster/internal/search"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// Index returns the index of the ACTIVE game sessions. The keys of its documents are ordinals.
func (r *Room) Index() *search.Index { return r.index }

// indexSession keeps the index as the game session is: only ACTIVE ones are found by a search. Source: API reference,
// SearchGameSessions.
func (r *Room) indexSession(old, g *GameSession) {
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

// document is what a search sees of a game session. It shares the parts that have not changed with the document before
// it.
func (r *Room) document(old, g *GameSession) *search.Doc {
	doc := &search.Doc{
		Key: g.Ordinal, Prefix: r.prefix, ID: g.ID, Name: g.Name,
		Maximum: g.Maximum, Players: g.Players(), Created: g.Created,
	}
	if given, ok := arn.CutVerbatim(g.ID); ok {
		doc.Prefix, doc.ID = "", given
	}
	if before, ok := r.index.Get(g.Ordinal); ok && old != nil && sameProperties(old.Properties, g.Properties) {
		doc.Properties = before.Properties
		return doc
	}
	for _, p := range g.Properties {
		doc.Properties = append(doc.Properties, search.Property{Key: p.Key, Value: p.Value})
	}
	return doc
}

// sameProperties reports whether two slices are one in memory: a change makes a new one.
func sameProperties(a, b []Property) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
