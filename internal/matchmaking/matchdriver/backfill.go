package matchdriver

import (
	"cmp"
	"maps"
	"slices"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// updated is the reason of a Notice that brings new players. Source: server SDK 5, UpdateReason.
const updated = "MATCHMAKING_DATA_UPDATED"

// updateReasons say how a backfill ticket ended without new players.
var updateReasons = map[matchmaking.Status]string{
	matchmaking.Failed:    "BACKFILL_FAILED",
	matchmaking.TimedOut:  "BACKFILL_TIMED_OUT",
	matchmaking.Cancelled: "BACKFILL_CANCELLED",
}

// gameSession takes the ARN of a game session apart; ok is false if there can be none with it in this Region.
func (d *Driver) gameSession(text string) (room fleet.RoomID, id string, ok bool) {
	in, fleetID, location, id, ok := arn.ParseGameSession(text)
	return fleet.RoomID{Fleet: fleet.ID(fleetID), Location: location}, id, ok && in == d.cfg.Region
}

// look reads a game session by its ARN: g is nil if there is none. key names it if there is.
func (d *Driver) look(session string, seen func(key sessionKey, room fleet.RoomID, g *fleet.GameSession, err error)) {
	room, id, ok := d.gameSession(session)
	if !ok {
		return // the ARN was checked when the ticket started
	}
	key := sessionKey{shard: region.ShardOf(room, d.cfg.Shards)}
	var g *fleet.GameSession
	d.ask(Request{Shard: key.shard, Read: func(m *region.Machine) {
		r, ok := m.Room(room)
		if !ok {
			return
		}
		if g, ok = r.GameSession(id); ok {
			key.room, key.ordinal = uint32(r.Address().Room), g.Ordinal
		}
	}}, func(_ any, err error) {
		if err != nil { // and the read may still be going on
			seen(sessionKey{}, room, nil, err)
			return
		}
		seen(key, room, g, nil)
	})
}

// notify tells the server process of a game session how its backfill ticket ended.
func (d *Driver) notify(session, ticket string, status matchmaking.Status) {
	d.look(session, func(_ sessionKey, room fleet.RoomID, g *fleet.GameSession, err error) {
		switch {
		case err != nil:
			d.retry(func() { d.notify(session, ticket, status) })
		case g != nil && !g.HasEnded():
			d.requests = append(d.requests, Request{Notice: &Notice{room, g, ticket, updateReasons[status]}})
		}
	})
}

// guard sees to it that the end of a game session with a backfill ticket is noticed.
func (d *Driver) guard(session string) {
	room, _, _ := d.gameSession(session)
	shard := region.ShardOf(room, d.cfg.Shards)
	ends := d.ends[shard]
	d.look(session, func(key sessionKey, _ fleet.RoomID, g *fleet.GameSession, err error) {
		switch {
		case err != nil:
			d.retry(func() { d.guard(session) })
		case g == nil || g.HasEnded():
			d.tell(matchmaking.GameSessionEnded{GameSession: session}, nil)
		default:
			_, known := d.sessions[key]
			d.sessions[key] = session
			if !known && d.ends[shard] != ends { // it may have been this one
				d.guard(session)
			}
		}
	})
}

func (d *Driver) sessionEnded(key sessionKey) {
	d.ends[key.shard]++
	if session, ok := d.sessions[key]; ok {
		delete(d.sessions, key)
		d.tell(matchmaking.GameSessionEnded{GameSession: session}, nil)
	}
}

// recoverSessions looks whether game sessions of a shard have ended unnoticed.
func (d *Driver) recoverSessions(shard int) {
	keys := slices.SortedFunc(maps.Keys(d.sessions), func(a, b sessionKey) int {
		return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.room, b.room), cmp.Compare(a.ordinal, b.ordinal))
	})
	for _, key := range keys {
		if key.shard == shard {
			session := d.sessions[key]
			delete(d.sessions, key)
			d.guard(session)
		}
	}
}
