package region

import (
	"fmt"
	"hash/fnv"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
)

// The room numbers in the facts of placements, of matchmaking and of the shard. Those of fleet locations have 16 bits.
const (
	PlacementsRoom  = 1 << 16
	MatchmakingRoom = 1<<16 + 1
	ShardRoom       = 1<<16 + 2 // of facts about the shard itself
)

// PlacementShardOf returns the shard, of n, of a placement.
func PlacementShardOf(id string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(id))
	return int(h.Sum64() % uint64(n))
}

// MatchmakingShard returns the shard, of n, of all tickets of the region: not the catalog's, if there are several.
func MatchmakingShard(n int) int { return max(n, 1) - 1 }

// PlacementCommand is a command to the placements of the shard.
type PlacementCommand struct {
	Command placement.Command `cbor:"-"`
}

func (c PlacementCommand) handle(m *Machine, now event.Time) ([]event.Fact, any, error) {
	events, answer, err := m.placements.Handle(now, c.Command)
	if err != nil {
		return nil, nil, err
	}
	return partFacts(nil, PlacementsRoom, events), answer, nil
}

// MatchmakingCommand is a command to the tickets and matches of the region.
type MatchmakingCommand struct {
	Command matchmaking.Command `cbor:"-"`
}

func (c MatchmakingCommand) handle(m *Machine, now event.Time) ([]event.Fact, any, error) {
	if m.matchmaking == nil {
		return nil, nil, fmt.Errorf("shard %d has no tickets", m.shard)
	}
	events, answer, err := m.matchmaking.Handle(now, c.Command)
	if err != nil {
		return nil, nil, err
	}
	return partFacts(nil, MatchmakingRoom, events), answer, nil
}

// Placements returns the placements of this shard.
func (m *Machine) Placements() *placement.State { return m.placements }

// Matchmaking returns the tickets and matches of the region; nil on all shards but one.
func (m *Machine) Matchmaking() *matchmaking.State { return m.matchmaking }

// A part is a state of the shard that is not the room of a fleet location.
type part struct {
	room  uint32
	state interface {
		Deadline() event.Time
		Expire(now event.Time) []any
		Apply(e any)
		Raise(level int)
		Snapshot(write func(record any) error) error
		Restore(record any) error
	}
}

func (m *Machine) setParts(placements *placement.State, tickets *matchmaking.State) {
	m.placements, m.matchmaking = placements, tickets
	m.parts = []part{{PlacementsRoom, placements}}
	if tickets != nil {
		m.parts = append(m.parts, part{MatchmakingRoom, tickets})
	}
}

// part finds the part of a fact.
func (m *Machine) part(room uint32) (part, bool) {
	for _, p := range m.parts {
		if p.room == room {
			return p, true
		}
	}
	return part{}, false
}
