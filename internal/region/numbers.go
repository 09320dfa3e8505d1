package region

import "github.com/muster-gg/muster/internal/wire/fault"

// The number of a closed room is reused. The location in the id of a player session (shard, room and number of the game
// session) must be unique forever: an id leads to one game session, even in the history. So a new room starts to number
// its game sessions after all numbers that closed rooms of the shard have used; see
// docs/decisions/0030-room-numbers.md.

const (
	// reuseLevel is the feature level from which room numbers are reused: a replica of an older release would number
	// the game sessions of such a room from 1.
	reuseLevel = 2

	// MaxRooms is the maximum number of rooms of a shard at a time.
	MaxRooms = 1<<16 - 1

	// maxEarlierNumbers is more than the numbers that any room closed below reuseLevel has used, which were not
	// recorded: half of the numbers, a year at 1,000 game sessions a second.
	maxEarlierNumbers = 1 << 35
)

// freeNumber returns the number of a new room: the next one after the last assigned, so that a number is reused as late
// as possible.
func (m *Machine) freeNumber() (uint16, error) {
	last := m.header.Rooms
	if m.level < reuseLevel && last == MaxRooms || len(m.rooms) == MaxRooms {
		return 0, fault.New(fault.LimitExceeded,
			"This part of the region holds %d fleet locations, and has no room for another one. Delete fleets or "+
				"fleet locations that are not needed any more.", MaxRooms)
	}
	for number := last + 1; ; number++ {
		if _, open := m.rooms[number]; !open && number != 0 { // 0 is the catalog
			return number, nil
		}
	}
}

// beginReuse accounts for the unrecorded numbers of closed rooms.
func (m *Machine) beginReuse() {
	if int(m.header.Rooms) > len(m.rooms) {
		m.header.After = maxEarlierNumbers
	}
}
