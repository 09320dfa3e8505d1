package placer

import (
	"errors"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// Concerns reports whether Observe does something with a fact.
func Concerns(f event.Fact) bool {
	switch f.Body.(type) {
	case *placement.PlacementStarted, *placement.AttemptBegun, *placement.AttemptEnded, *placement.PlacementFulfilled,
		*placement.PlacementEnded, *fleet.ProcessBecameReady, *fleet.ProcessResumed, *fleet.BuildsChanged,
		*fleet.GameSessionCreated, *fleet.GameSessionHosted, *fleet.GameSessionActivated,
		*fleet.GameSessionTerminating, *fleet.GameSessionEnded,
		*region.RoomOpened, *region.RoomClosed:
		return true
	default:
		return false
	}
}

// Observe takes durable facts of a shard, in their order and whole commits at a time.
func (m *Machine) Observe(shard int, facts []event.Fact) {
	if !m.active {
		return
	}
	var over []*pending // they search on when the whole commit is known: the next fact may end them
	for _, f := range facts {
		if f.Room != region.PlacementsRoom {
			m.roomFact(shard, f)
			continue
		}
		if p := m.placementFact(shard, f.Body); p != nil {
			over = append(over, p)
		}
	}
	for _, p := range over {
		if m.placements[p.request.ID] == p && p.stage == searching {
			m.place(p)
		}
	}
}

func (m *Machine) roomFact(shard int, f event.Fact) {
	s := &m.shards[shard]
	switch e := f.Body.(type) {
	case *region.RoomOpened:
		s.rooms[f.Room] = fleet.RoomID{Fleet: e.Fleet, Location: e.Location}
	case *region.RoomClosed:
		m.closed(s.rooms[f.Room])
		delete(s.rooms, f.Room)
	case *fleet.ProcessBecameReady, *fleet.ProcessResumed:
		m.processFreed(s.rooms[f.Room], false)
	case *fleet.GameSessionCreated:
		if e.Placement != "" {
			s.activating[sessionKey{f.Room, e.Ordinal}] = e
		}
	case *fleet.BuildsChanged:
		for _, w := range m.versionsOf(s.rooms[f.Room]) {
			m.freed(w)
		}
	case *fleet.GameSessionHosted:
		key := sessionKey{f.Room, e.Ordinal}
		if g := s.activating[key]; g != nil {
			hosted := *g
			hosted.Port = e.Port
			s.activating[key] = &hosted
		}
	case *fleet.GameSessionActivated:
		if g := m.activationOver(s, f.Room, e.Ordinal); g != nil {
			m.activated(s.rooms[f.Room], g, e)
		}
	case *fleet.GameSessionTerminating:
		if g := m.activationOver(s, f.Room, e.Ordinal); g != nil {
			m.tellOf(g.Placement, ended(g, true))
		}
	case *fleet.GameSessionEnded:
		if g := m.activationOver(s, f.Room, e.Ordinal); g != nil {
			m.tellOf(g.Placement, ended(g, false))
		}
	}
}

// listOf returns the list of the newest attempt of a placement.
func (m *Machine) listOf(p *pending) *waitlist {
	queue := p.queue
	if queue == nil && m.catalog != nil {
		queue = m.queueOf(p.request)
	}
	build := ""
	if queue != nil {
		limits := queue.fleets[p.room.Fleet]
		build = limits.buildFor(p.request)
	}
	return m.waitlist(p.room, build)
}

// placementFact returns a placement whose attempt has ended, and which continues to search.
func (m *Machine) placementFact(shard int, body any) (over *pending) {
	switch e := body.(type) {
	case *placement.PlacementStarted:
		m.started(shard, e)
	case *placement.AttemptBegun:
		m.attemptBegun(e)
	case *placement.AttemptEnded:
		if p := m.placements[e.ID]; p != nil {
			p.stage, p.call, p.failed = searching, nil, 0
			return p
		}
	case *placement.PlacementFulfilled:
		m.placementOver(e.ID, false)
	case *placement.PlacementEnded:
		m.placementOver(e.ID, true)
	}
	return nil
}

func (m *Machine) started(shard int, e *placement.PlacementStarted) {
	p := &pending{request: &e.Request, shard: shard, started: e.At, deadline: e.Deadline}
	m.placements[e.ID] = p
	if e.Room == nil {
		m.place(p)
		return
	}
	p.attempt, p.room = 1, *e.Room
	m.run(p, m.newCall(p, m.listOf(p)))
}

func (m *Machine) attemptBegun(e *placement.AttemptBegun) {
	p := m.placements[e.ID]
	if p == nil {
		return
	}
	c := p.call
	if c == nil || c.number != e.Number || c.list.room != e.Room { // another node that leads, or did, has begun it
		m.leave(p)
		p.attempt, p.room = e.Number, e.Room
		c = m.newCall(p, m.listOf(p))
	}
	m.run(p, c)
}

// placementOver forgets a placement. If it was given up during an attempt, the attempt's game session must not stay.
func (m *Machine) placementOver(id string, inVain bool) {
	p := m.placements[id]
	if p == nil {
		return
	}
	m.drop(p)
	if inVain && p.stage == running {
		m.tellRoom(p.room, fleet.TerminateGameSession{ID: placement.SessionID(id, p.attempt)}, nil)
	}
}

// activationOver returns the game session of an attempt that was ACTIVATING; nil if it was none.
func (m *Machine) activationOver(s *observed, room uint32, ordinal uint64) *fleet.GameSessionCreated {
	m.processFreed(s.rooms[room], true)
	key := sessionKey{room, ordinal}
	g := s.activating[key]
	delete(s.activating, key)
	return g
}

// activated tells a placement that the game session of an attempt is ACTIVE. If the attempt is not known to run, the
// request for the game session was carried out late, when nobody waited for it any more: then the placement decides
// whether it takes it, and else it is terminated.
func (m *Machine) activated(room fleet.RoomID, g *fleet.GameSessionCreated, e *fleet.GameSessionActivated) {
	m.tellOf(g.Placement, fulfilment(room, g, e))
	if p := m.placements[g.Placement]; p != nil && p.attempt == int(g.Attempt) && p.stage == running {
		return
	}
	m.requests[len(m.requests)-1].Answer = func(answer any, err error) {
		p, _ := answer.(*placement.Placement)
		switch {
		case err == nil && (p.Session == nil || p.Session.ID != g.ID || p.Session.Room != room):
			m.tellRoom(room, fleet.TerminateGameSession{ID: g.ID}, nil)
		case errors.Is(err, ErrUnanswered):
			m.suspect(suspect{room: room, id: g.ID, placement: g.Placement, attempt: int(g.Attempt), active: true})
		}
	}
}

// tellOf requests a command for the shard of a placement that may be unknown here.
func (m *Machine) tellOf(id string, c placement.Command) {
	m.requests = append(m.requests, Request{
		Shard: region.PlacementShardOf(id, m.cfg.Shards), Command: region.PlacementCommand{Command: c},
	})
}

// fulfilment reports the game session of an attempt to its placement.
func fulfilment(room fleet.RoomID, g *fleet.GameSessionCreated, e *fleet.GameSessionActivated) placement.Fulfil {
	s := placement.Session{Room: room, ID: g.ID, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port}
	if len(e.Slots) > 0 {
		s.Players = make([]placement.PlacedPlayer, len(e.Slots))
	}
	for i, seat := range e.Slots {
		s.Players[i] = placement.PlacedPlayer{PlayerID: seat.PlayerID, PlayerSession: seat.ID}
	}
	return placement.Fulfil{ID: g.Placement, Number: int(g.Attempt), Session: s}
}

// ended reports to a placement that an attempt has failed.
func ended(g *fleet.GameSessionCreated, terminated bool) placement.Ended {
	return placement.Ended{ID: g.Placement, Number: int(g.Attempt), Terminated: terminated, Text: endText(terminated)}
}
