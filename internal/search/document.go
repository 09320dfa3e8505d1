package search

import (
	"strings"

	"github.com/muster-gg/muster/internal/event"
)

// Doc is the indexed data of one ACTIVE game session. It is immutable after Put: a change is a new Doc with the same
// Key.
type Doc struct {
	Key        uint64     // order of creation inside one index, unique there
	Prefix     string     // beginning of the game session id, shared by many docs; may be empty
	ID         string     // the game session id (a whole ARN) without Prefix
	Name       string     // empty: the session has no name
	Properties []Property // of several with the same key the first counts
	Maximum    int32      // player slots
	Players    int32      // used slots, with reservations
	Created    event.Time // not before that of a doc with a smaller Key
}

// A Property is a game property.
type Property struct{ Key, Value string }

// property returns the value of the first property with the key.
func (d *Doc) property(key string) (value string, ok bool) {
	for i := range d.Properties {
		if d.Properties[i].Key == key {
			return d.Properties[i].Value, true
		}
	}
	return "", false
}

// hasID reports whether id is the doc's whole game session id.
func (d *Doc) hasID(id string) bool {
	return len(id) == len(d.Prefix)+len(d.ID) && strings.HasSuffix(id, d.ID) && strings.HasPrefix(id, d.Prefix)
}

// free reports whether the session has a free slot.
func (d *Doc) free() bool { return d.Players < d.Maximum }

// number returns the value of an integer or boolean operand.
func (d *Doc) number(o operand) int64 {
	switch o {
	case maximum:
		return int64(d.Maximum)
	case players:
		return int64(d.Players)
	case available:
		if d.free() {
			return 1
		}
		return 0
	default:
		return int64(d.Created)
	}
}
