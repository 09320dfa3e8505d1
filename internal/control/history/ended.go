package history

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"

	"github.com/muster-gg/muster/internal/control/history/index"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// A Position orders the game sessions of a region by their end, and those that ended at one moment by their rooms and
// ordinals. A game session has the same position in memory and in the history.
type Position struct {
	Ended   event.Time `json:"e,omitempty"`
	Shard   uint8      `json:"s,omitempty"`
	Room    uint16     `json:"r,omitempty"`
	Ordinal uint64     `json:"o,omitempty"`
}

// PositionOf returns the position of a game session that has ended.
func PositionOf(at fleet.Address, g *fleet.GameSession) Position {
	return Position{g.Ended, at.Shard, at.Room, g.Ordinal}
}

// Compare compares two positions: negative if p is before q.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Ended, q.Ended), cmp.Compare(p.Shard, q.Shard), cmp.Compare(p.Room, q.Room),
		cmp.Compare(p.Ordinal, q.Ordinal))
}

// Newest is after all positions.
func Newest() Position { return Position{math.MaxInt64, math.MaxUint8, math.MaxUint16, math.MaxUint64} }

func (s session) position() Position { return PositionOf(s.at, s.GameSession) }

// append appends the position to a key. Keys are in the order of their positions.
func (p Position) append(key []byte) []byte {
	key = number(key, uint64(p.Ended)^1<<63) // times before 1970 are first
	key = binary.BigEndian.AppendUint16(append(key, p.Shard), p.Room)
	return number(key, p.Ordinal)
}

// positionSize is the size of a position in a key.
const positionSize = 8 + 1 + 2 + 8

// positionIn returns the position at the end of a key.
func positionIn(key []byte) (p Position, ok bool) {
	if len(key) < positionSize {
		return p, false
	}
	key = key[len(key)-positionSize:]
	p.Ended, p.Shard = event.Time(binary.BigEndian.Uint64(key)^1<<63), key[8]
	p.Room, p.Ordinal = binary.BigEndian.Uint16(key[9:]), numberOf(key)
	return p, true
}

// endedValue returns the value of the keys by position: what is asked for most, and the number of the entry.
func (e *entry) endedValue(reason string) []byte {
	value := appendText(appendText(nil, string(e.room.Fleet)), e.room.Location)
	return number(appendText(value, reason), e.number)
}

// An Ended is a game session of the history, as far as its key tells.
type Ended struct {
	Position
	RoomID fleet.RoomID
	Reason string // of the end; "": none

	store  *index.Store
	number uint64
}

func endedIn(store *index.Store, key, value []byte) (e Ended, ok bool) {
	if e.Position, ok = positionIn(key); !ok {
		return e, false
	}
	of, rest, ok1 := cutText(value)
	location, rest, ok2 := cutText(rest)
	reason, rest, ok3 := cutText(rest)
	if !ok1 || !ok2 || !ok3 || len(rest) != 8 {
		return e, false
	}
	e.RoomID, e.Reason = fleet.RoomID{Fleet: fleet.ID(of), Location: string(location)}, string(reason)
	e.store, e.number = store, numberOf(rest)
	return e, true
}

// Session reads the game session; nil if it has just expired. Only visit of EndedBefore may call it.
func (e *Ended) Session() (*fleet.GameSession, error) {
	found, ok, err := entryAt(e.store, e.number)
	if err != nil || !ok {
		return nil, err
	}
	s, err := found.session()
	return s.GameSession, err
}

// EndedBefore calls visit with the game sessions of a fleet, or of all (""), that are before a position and ended at
// the given time or later, those that ended last first, until it returns false or an error.
func (h *History) EndedBefore(ctx context.Context, of fleet.ID, before Position, from event.Time,
	visit func(*Ended) (more bool, err error)) error {
	return h.find(ctx, func(store *index.Store) error {
		first := Position{Ended: from}.append(endedKeys(of))
		var failed error
		err := store.Scan(first, before.append(endedKeys(of)), true, func(key, value []byte) (more bool) {
			e, ok := endedIn(store, key, value)
			if !ok {
				failed = errMalformed
				return false
			}
			more, failed = visit(&e)
			return more && failed == nil
		})
		if failed != nil {
			return failed
		}
		return err
	})
}
