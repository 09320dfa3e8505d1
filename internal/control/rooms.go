package control

import (
	"context"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/arn"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
)

// shardOf is the shard that holds a fleet location.
func (p *Plane) shardOf(id fleet.RoomID) *regionShard {
	return p.shards[region.ShardOf(id, len(p.shards))]
}

// followerOf is the follower of that shard.
func (p *Plane) followerOf(id fleet.RoomID) *follower {
	return p.follow[region.ShardOf(id, len(p.follow))]
}

// ask has a room carry out a command and returns its answer, which is durable.
func ask[A any](ctx context.Context, p *Plane, c region.RoomCommand) (A, error) {
	answer, err := p.do(ctx, p.shardOf(c.Room), c)
	if err != nil {
		var none A
		return none, err
	}
	a, _ := answer.(A) // a command without an answer gives nil
	return a, nil
}

// read calls look with a room, on the room's own loop: it must be quick. It may be called
// several times, and must set what it found anew. After an error look may still be running, so
// what it stores must not be read.
func (p *Plane) read(ctx context.Context, id fleet.RoomID, look func(*fleet.Room)) (bool, error) {
	found := false
	err := p.look(ctx, p.shardOf(id), func(m *region.Machine) {
		var room *fleet.Room
		if room, found = m.Room(id); found {
			look(room)
		}
	})
	if err != nil {
		return false, err
	}
	return found, nil
}

// rooms are frozen views of the fleet's rooms, by location; of one location
// when it is given. Rooms of locations that have left the fleet count for as
// long as they hold game sessions.
func (p *Plane) rooms(ctx context.Context, id, location string) ([]*fleet.Room, error) {
	shards := p.shards
	if location != "" {
		shards = []*regionShard{p.shardOf(fleet.RoomID{Fleet: fleet.ID(id), Location: location})}
	}
	var rooms []*fleet.Room
	for _, s := range shards {
		view, err := p.viewOf(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, r := range view.Rooms() {
			if r.ID().Fleet == fleet.ID(id) && (location == "" || r.ID().Location == location) {
				rooms = append(rooms, r)
			}
		}
	}
	slices.SortFunc(rooms, func(a, b *fleet.Room) int { return strings.Compare(a.ID().Location, b.ID().Location) })
	return rooms, nil
}

// counts adds up the numbers of a fleet, or of one of its locations.
func (p *Plane) counts(ctx context.Context, id, location string) (fleet.Counts, error) {
	rooms, err := p.rooms(ctx, id, location)
	var sum fleet.Counts
	for _, r := range rooms {
		sum.Add(r.Counts())
	}
	return sum, err
}

// Counts adds up the numbers of the whole region.
func (p *Plane) Counts(ctx context.Context) (fleet.Counts, error) {
	var sum fleet.Counts
	for _, s := range p.shards {
		err := s.Read(ctx, func(m *region.Machine) {
			for _, r := range m.Rooms() {
				sum.Add(r.Counts())
			}
		})
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// gameSessionPlace takes the ARN of a game session apart.
func (p *Plane) gameSessionPlace(gameSessionArn string) (room fleet.RoomID, id string, err error) {
	region, fleetID, location, id, ok := arn.ParseGameSession(gameSessionArn)
	switch {
	case !ok:
		return fleet.RoomID{}, "", fault.New(fault.InvalidRequest,
			"GameSessionId %s is not the ARN of a game session: arn:aws:gamelift:<region>::gamesession/<fleet>/<location>/<id>", gameSessionArn)
	case region != p.cfg.Region:
		return fleet.RoomID{}, "", fault.New(fault.NotFound, "Game session %s not found: this is Region %s", gameSessionArn, p.cfg.Region)
	}
	return fleet.RoomID{Fleet: fleet.ID(fleetID), Location: location}, id, nil
}
