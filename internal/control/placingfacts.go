package control

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// What a follower sees for the sake of placements. It all runs on the shard's commit
// goroutine.

// A follower's trials are the game sessions that attempts have started and that are
// ACTIVATING, as they were created.
type trials map[trialKey]*fleet.GameSessionCreated

type trialKey struct {
	room    uint32
	ordinal uint64
}

// placingFact tells the placements what has become durable.
func (f *follower) placingFact(fact event.Fact) {
	if fact.Room == region.PlacementsRoom {
		f.placementFact(fact.Body)
		return
	}
	switch e := fact.Body.(type) {
	case *fleet.ProcessBecameReady, *fleet.ProcessResumed:
		f.plane.placing.freed(f.rooms[fact.Room], false)
	case *fleet.GameSessionCreated:
		if e.Placement != "" {
			f.trials[trialKey{fact.Room, e.Ordinal}] = e
		}
	case *fleet.GameSessionActivated:
		f.activationOver(fact.Room, e.Ordinal, func(g *fleet.GameSessionCreated) placement.Command { return fulfilment(f.rooms[fact.Room], g, e) })
	case *fleet.GameSessionTerminating:
		f.activationOver(fact.Room, e.Ordinal, func(g *fleet.GameSessionCreated) placement.Command { return ended(g, true) })
	case *fleet.GameSessionEnded:
		f.activationOver(fact.Room, e.Ordinal, func(g *fleet.GameSessionCreated) placement.Command { return ended(g, false) })
	case *region.RoomClosed:
		f.plane.placing.closed(f.rooms[fact.Room])
	}
}

func (f *follower) placementFact(body any) {
	d := f.plane.placing
	switch e := body.(type) {
	case *placement.PlacementStarted:
		d.hasStarted(f.shard, e)
	case *placement.AttemptBegun:
		d.hasBegun(e)
	case *placement.AttemptOver:
		if p := d.attemptIsOver(e); p != nil {
			f.searching = append(f.searching, p)
		}
	case *placement.PlacementFulfilled:
		d.isOver(e.ID, false)
	case *placement.PlacementEnded:
		d.isOver(e.ID, true)
	}
}

// placingCommitted ends a commit.
func (f *follower) placingCommitted() {
	if len(f.searching) > 0 {
		f.plane.placing.search(f.searching)
		clear(f.searching)
		f.searching = f.searching[:0]
	}
}

// activationOver tells a placement what has become of its attempt, when a game
// session of one is not ACTIVATING any more.
func (f *follower) activationOver(room uint32, ordinal uint64, news func(*fleet.GameSessionCreated) placement.Command) {
	d := f.plane.placing
	d.freed(f.rooms[room], true)
	key := trialKey{room, ordinal}
	g, ok := f.trials[key]
	if !ok {
		return
	}
	delete(f.trials, key)
	d.plane.placementShard(g.Placement).Tell(region.PlacementCommand{Command: news(g)})
}

// fulfilment says that an attempt has come to a game session.
func fulfilment(room fleet.RoomID, g *fleet.GameSessionCreated, e *fleet.GameSessionActivated) placement.Fulfil {
	s := placement.Session{Room: room, ID: g.ID, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port}
	if len(e.Seats) > 0 {
		s.Players = make([]placement.PlacedPlayer, len(e.Seats))
	}
	for i, seat := range e.Seats {
		s.Players[i] = placement.PlacedPlayer{PlayerID: seat.PlayerID, PlayerSession: seat.ID}
	}
	return placement.Fulfil{ID: g.Placement, Number: int(g.Attempt), Session: s}
}

// ended says that an attempt has come to nothing.
func ended(g *fleet.GameSessionCreated, terminated bool) placement.Ended {
	return placement.Ended{ID: g.Placement, Number: int(g.Attempt), Terminated: terminated, Text: endText(terminated)}
}

// beginPlacing begins anew from a view.
func (f *follower) beginPlacing(m *region.Machine) {
	clear(f.searching)
	f.searching = f.searching[:0]
	clear(f.trials)
	for _, r := range m.Rooms() {
		room := uint32(r.Address().Room)
		r.GameSessions(0, func(g *fleet.GameSession) bool {
			if g.Placement != "" && g.Status == fleet.Activating {
				f.trials[trialKey{room, g.Ordinal}] = &fleet.GameSessionCreated{
					ID: g.ID, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port, Placement: g.Placement, Attempt: g.Attempt,
				}
			}
			return true
		})
	}
	f.plane.placing.recover(f.shard, m.Placements())
}
