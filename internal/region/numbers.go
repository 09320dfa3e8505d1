package region

import (
	"github.com/muster-gg/muster/internal/fault"
)

// The number of a room is given again when the room is closed. What must never be given again is the place
// that the id of a player session holds, shard, room and number of the game session: an id leads to one
// game session, also when the room is closed and the game session in the history. So a room
// begins to number its game sessions behind all that the closed rooms of the shard have numbered; see
// docs/decisions/0030-room-numbers.md.

const (
	// reuseLevel is the feature level from which on room numbers are given again: a replica of an older
	// release would number the game sessions of such a room from 1.
	reuseLevel = 2

	// MaxRooms is how many rooms, of fleet locations, a shard can have at a time.
	MaxRooms = 1<<16 - 1

	// longBefore is more game sessions than any room had that was closed below reuseLevel, when nobody
	// noted how many: half of the numbers, which at 1,000 game sessions a second last for a year.
	maxEarlierNumbers = 1 << 35
)

// freeNumber finds the number of a new room: the next one behind the last that was given, so that a
// number rests for as long as possible.
func (m *Machine) freeNumber() (uint16, error) {
	last := m.header.Rooms
	if m.level < reuseLevel && last == MaxRooms || len(m.rooms) == MaxRooms {
		return 0, fault.New(fault.LimitExceeded,
			"This part of the region holds %d fleet locations, and has no room for another one. Delete fleets or fleet locations that are not needed any more.", MaxRooms)
	}
	for number := last + 1; ; number++ {
		if _, open := m.rooms[number]; !open && number != 0 { // 0 is the catalog
			return number, nil
		}
	}
}

// beginReuse notes how far closed rooms may have numbered their game sessions before anybody did.
func (m *Machine) beginReuse() {
	if int(m.header.Rooms) > len(m.rooms) {
		m.header.After = maxEarlierNumbers
	}
}
