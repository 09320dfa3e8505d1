package fleet

import (
	"fmt"

	"github.com/muster-gg/muster/internal/event"
)

// Snapshot calls write with the records of the Room, always in the same order, until it fails. If the Room is not
// frozen, write must not keep them: they may change later.
func (r *Room) Snapshot(write func(record any) error) (err error) {
	keep := func(record any) bool {
		err = write(record)
		return err == nil
	}
	header := r.header
	if !keep(&header) {
		return err
	}
	r.computes.Scan(func(_ string, c *Compute) bool { return keep(c) })
	if err == nil {
		r.processes.Scan(func(e processEntry) bool { return keep(e.process) })
	}
	if err == nil {
		r.sessions.Scan(func(_ uint64, g *GameSession) bool { return r.snapshotSession(g, keep) })
	}
	if err == nil {
		r.fleetEvents.Scan(func(_ uint64, n *FleetEvent) bool { return keep(n) })
	}
	return err
}

// Restore adds one record of a snapshot.
func (r *Room) Restore(record any) error {
	switch v := record.(type) {
	case *Header:
		r.header = *v
	case *Compute:
		r.computes.Set(v.Name, v)
		r.counts.Computes = r.computes.Len()
	case *Process:
		r.storeProcess(v)
		r.keepUpWith(nil, v)
	case *GameSession:
		r.restoreSession(v)
	case *MorePlayers:
		if _, ok := r.sessions.Get(v.Session); !ok {
			return fmt.Errorf("fleet: snapshot has players of game session %d, but not the game session", v.Session)
		}
		r.restorePlayers(v)
	case *FleetEvent:
		r.fleetEvents.Set(v.Number, v)
	default:
		return fmt.Errorf("fleet: unknown snapshot record %T", record)
	}
	return nil
}

func (r *Room) restoreSession(g *GameSession) {
	g.randomBits = make([]uint64, 0, len(g.CurrentPlayers))
	for _, p := range g.CurrentPlayers {
		g.randomBits = append(g.randomBits, p.ID.randomBits())
		r.byPlayer.add(p.PlayerID, g.Ordinal)
	}
	for _, p := range g.PastPlayers {
		r.byPlayer.add(p.PlayerID, g.Ordinal)
	}
	r.byID.add(g.ID, g.Ordinal)
	r.addSession(g)
	if g.HasEnded() {
		r.ended.Set(endedEntry{g.Ended, g.Ordinal})
	}
}

// endedEntry orders ended game sessions by the time of their end.
type endedEntry struct {
	ended   event.Time
	ordinal uint64
}

func (a endedEntry) before(b endedEntry) bool {
	return a.ended < b.ended || a.ended == b.ended && a.ordinal < b.ordinal
}
