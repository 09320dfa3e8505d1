package sim

import (
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/arn"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// The drivers carry out placements and matches as those of package control do: they
// hear what has become durable, ask, tell, and look again after a failure. They
// hold nothing that they could not find out anew.

// A pendingPlacement is a placement that the driver has under way.
type pendingPlacement struct {
	request placement.Request
	asking  int  // the attempt whose game session is asked for; 0: none
	over    int  // the newest attempt that is known to have come to nothing
	planned bool // it will be looked at again
}

// placed knows which game sessions of placements were ever ACTIVE.
type placed struct {
	active  map[string][]sessionKey
	outcome map[string]sessionKey // by placement
	unheard map[sessionKey]bool   // game sessions about which the driver said something, and never heard whether it arrived
}

func newPlaced() placed {
	return placed{active: map[string][]sessionKey{}, outcome: map[string]sessionKey{}, unheard: map[sessionKey]bool{}}
}

// activated: a placement has one game session that was ever ACTIVE. The exception is
// one of which the driver was wrong, because a message of its own came after it had given it
// up for lost; such a stray is terminated.
func (p *placed) activated(id string, room fleet.RoomID, session string) (broken string) {
	key := sessionKey{room, session}
	for _, other := range p.active[id] {
		if !p.unheard[other] && !p.unheard[key] {
			broken = sprintf("game session %v of placement %s was ACTIVE, and now %v is", other, id, key)
		}
	}
	p.active[id] = append(p.active[id], key)
	return broken
}

// fulfilled: the game session of a placement was ACTIVE, and it is the only answer.
func (p *placed) fulfilled(e *placement.PlacementFulfilled) string {
	key := sessionKey{e.Session.Room, e.Session.ID}
	if other, ok := p.outcome[e.ID]; ok {
		return sprintf("placement %s was given game session %v before", e.ID, other)
	}
	p.outcome[e.ID] = key
	return unless(slices.Contains(p.active[e.ID], key), "game session %v was never ACTIVE", key)
}

// happened is told of each fact, in the order of its shard.
func (w *world) happened(shardNumber int, f event.Fact) {
	switch f.Room {
	case 0, region.ShardRoom:
	case region.PlacementsRoom:
		w.placementHappened(f.Body)
	case region.MatchmakingRoom:
		w.matchHappened(f.Body)
	default:
		r, ok := w.shards[shardNumber].mirror.machine.RoomAt(uint16(f.Room))
		if !ok {
			return
		}
		w.roomHappened(r.ID(), f.Body)
		w.sessionHappened(r, f.Body)
	}
}

func (w *world) placementHappened(body any) {
	switch e := body.(type) {
	case *placement.PlacementStarted:
		p := w.know(e.Request)
		if e.Room != nil {
			w.attempt(p, 1, *e.Room, e.Deadline)
		} else {
			w.tryLater(p)
		}
	case *placement.AttemptBegun:
		if p := w.placing[e.ID]; p != nil {
			w.attempt(p, e.Number, e.Room, e.At.Add(time.Minute))
		}
	case *placement.AttemptEnded:
		if p := w.placing[e.ID]; p != nil {
			p.over, p.asking = max(p.over, p.asking), 0
			w.tryLater(p)
		}
	case *placement.PlacementFulfilled:
		delete(w.placing, e.ID)
		w.settleMatch(e.ID)
	case *placement.PlacementEnded:
		delete(w.placing, e.ID)
		w.settleMatch(e.ID)
	}
}

// know is what the driver has of a placement, from now on.
func (w *world) know(r placement.Request) *pendingPlacement {
	p := w.placing[r.ID]
	if p == nil {
		p = &pendingPlacement{request: r}
		w.placing[r.ID] = p
	}
	return p
}

// tryLater has a placement looked at after a while.
func (w *world) tryLater(p *pendingPlacement) {
	if p.planned {
		return
	}
	p.planned = true
	w.in(w.between(time.Second, 15*time.Second), func(*world) {
		p.planned = false
		w.review(p.request.ID)
	})
}

// tryAgain is tryLater for a placement that is known by its id.
func (w *world) tryAgain(id string) {
	if p := w.placing[id]; p != nil {
		w.tryLater(p)
	}
}

// attempt asks a room for the game session of an attempt.
func (w *world) attempt(p *pendingPlacement, number int, room fleet.RoomID, deadline event.Time) {
	if p.asking == number || number <= p.over {
		return
	}
	p.asking = number
	c := fleet.CreateGameSession{
		ID: placement.SessionID(p.request.ID, number), Maximum: p.request.Maximum, ActivationTimeout: w.between(10*time.Second, time.Minute), MaxActivations: 2,
		Placement: p.request.ID, Attempt: int32(number), Fingerprint: []byte(sprintf("%s/%d", p.request.ID, number)),
	}
	for _, player := range p.request.Players {
		c.Desired = append(c.Desired, fleet.NewPlayer{PlayerID: player.PlayerID, Random: w.random()})
	}
	w.askRoom(room, c, false, func(answer any, err error) {
		switch {
		case undecided(err):
			w.unheard(p, number, sessionKey{room, c.ID})
		case err != nil:
			w.refused(p, number, sessionKey{room, c.ID}, fault.Of(err).Message)
		default:
			p.heard(number)
			w.conclude(room, answer.(*fleet.GameSession))
		}
	})
}

// heard notes that it is known what has become of the last question about an attempt.
func (p *pendingPlacement) heard(number int) {
	if p.asking == number {
		p.asking = 0
	}
}

// unheard notes that it is not: what was said may still arrive, after the driver has
// looked and said something else.
func (w *world) unheard(p *pendingPlacement, number int, session sessionKey) {
	p.heard(number)
	w.placed.unheard[session] = true
	w.tryLater(p)
}

// refused tells a placement that nothing was free.
func (w *world) refused(p *pendingPlacement, number int, session sessionKey, text string) {
	w.askPlacement(p.request.ID, placement.Refused{ID: p.request.ID, Number: number, Text: text}, func(_ any, err error) {
		if undecided(err) {
			w.unheard(p, number, session)
			return
		}
		p.heard(number)
		p.over = max(p.over, number)
		w.tryLater(p)
	})
}

// review looks at a placement and does what comes next for it.
func (w *world) review(id string) {
	var p placement.Placement
	w.ask(&question{
		shard: region.PlacementShardOf(id, len(w.shards)), room: region.PlacementsRoom,
		read: func(m *region.Machine) {
			if found, ok := m.Placements().Placement(id); ok {
				p = *found
			}
		},
		answered: func(_ any, err error) {
			pending := w.placing[id]
			switch {
			case err != nil:
				w.tryAgain(id)
			case pending == nil || p.Status != placement.Pending || pending.asking != 0:
			case p.AttemptRunning():
				w.find(pending, *p.Attempt, p.Deadline)
			default:
				number := 1
				if p.Attempt != nil {
					number = p.Attempt.Number + 1
				}
				w.beginAttempt(id, number)
			}
		},
	})
}

// beginAttempt begins the next attempt.
func (w *world) beginAttempt(id string, number int) {
	room := w.rooms[w.rng.IntN(len(w.rooms))]
	w.askPlacement(id, placement.Begin{ID: id, Number: number, Room: room}, func(_ any, err error) {
		if undecided(err) {
			w.tryAgain(id)
		}
	})
}

// find looks for the game session of an attempt that runs, and asks for it when
// there is none.
func (w *world) find(p *pendingPlacement, a placement.Attempt, deadline event.Time) {
	id := placement.SessionID(p.request.ID, a.Number)
	var found *fleet.GameSession
	w.look(a.Room, func(r *fleet.Room) {
		if g, ok := r.GameSession(id); ok {
			found = g
		}
	}, func(err error) {
		if old, ok := w.past.sessions[sessionKey{a.Room, id}]; ok {
			found = old
		}
		switch {
		case err != nil:
			w.tryAgain(p.request.ID)
		case w.placing[p.request.ID] != p || p.asking != 0:
		case found != nil:
			w.conclude(a.Room, found)
		default:
			w.attempt(p, a.Number, a.Room, deadline)
		}
	})
}

// conclude tells a placement what has become of its attempt, if anything has.
func (w *world) conclude(room fleet.RoomID, g *fleet.GameSession) {
	switch {
	case g.Placement == "" || g.Activated == 0 && g.Status == fleet.Activating:
	case g.Activated != 0:
		w.askPlacement(g.Placement, placement.Fulfil{ID: g.Placement, Number: int(g.Attempt), Session: placedSession(room, g)}, w.again(room, g))
	default:
		terminated := g.Status == fleet.Terminating || g.StatusReason == fleet.TriggeredOnProcessTerminate
		w.askPlacement(g.Placement, placement.Ended{ID: g.Placement, Number: int(g.Attempt), Terminated: terminated}, w.again(room, g))
	}
}

// again has a placement looked at once more when it could not be told.
func (w *world) again(_ fleet.RoomID, g *fleet.GameSession) func(any, error) {
	return func(_ any, err error) {
		if undecided(err) {
			w.tryAgain(g.Placement)
		}
	}
}

func placedSession(room fleet.RoomID, g *fleet.GameSession) placement.Session {
	s := placement.Session{Room: room, ID: g.ID, IPAddress: g.IPAddress, Port: g.Port}
	for _, p := range g.PlayerSessions() {
		s.Players = append(s.Players, placement.PlacedPlayer{PlayerID: p.PlayerID, PlayerSession: p.ID})
	}
	return s
}

// sessionHappened tells placements what has become of their attempts.
func (w *world) sessionHappened(r *fleet.Room, body any) {
	var ordinal uint64
	switch e := body.(type) {
	case *fleet.GameSessionActivated:
		ordinal = e.Ordinal
	case *fleet.GameSessionTerminating:
		ordinal = e.Ordinal
	case *fleet.GameSessionEnded:
		ordinal = e.Ordinal
	default:
		return
	}
	g, ok := r.GameSessionAt(ordinal)
	if !ok || g.Placement == "" {
		return
	}
	w.conclude(r.ID(), g)
	if _, wanted := w.placing[g.Placement]; !wanted {
		w.clear(r.ID(), g)
	}
}

// clear ends a game session that its placement does not want.
func (w *world) clear(room fleet.RoomID, g *fleet.GameSession) {
	shardNumber := region.PlacementShardOf(g.Placement, len(w.shards))
	p, ok := w.shards[shardNumber].mirror.machine.Placements().Placement(g.Placement)
	switch {
	case g.HasEnded() || g.Status == fleet.Terminating:
	case ok && p.AttemptRunning() && p.Attempt.Number == int(g.Attempt):
	case w.placed.outcome[g.Placement] == sessionKey{room, g.ID}:
	default:
		w.seen["stray game session"]++
		w.askRoom(room, fleet.TerminateGameSession{ID: g.ID}, true, nil)
	}
}

// pendingIDs are the placements that are under way, by name.
func (w *world) pendingIDs() []string {
	var ids []string
	for id := range w.placing {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// sweep looks at everything that is under way, as drivers do after a recovery.
func (w *world) sweep() {
	for _, s := range w.shards {
		s.mirror.machine.Placements().Pending(func(p *placement.Placement) bool {
			w.know(p.Request)
			w.review(p.ID)
			return true
		})
		for _, r := range s.mirror.machine.Rooms() {
			r.GameSessions(0, func(g *fleet.GameSession) bool {
				if g.Placement != "" && !g.HasEnded() {
					w.clear(r.ID(), g)
				}
				return true
			})
		}
	}
	w.tickets().Matches(func(m *matchmaking.Match) bool {
		w.carry(m.ID)
		return true
	})
	w.endBackfills()
}

// match proposes matches of the tickets that wait.
func (w *world) match() {
	var open []matchmaking.Proposed
	var ids []string
	w.ask(&question{
		shard: region.MatchmakingShard(len(w.shards)), room: region.MatchmakingRoom,
		read: func(m *region.Machine) {
			m.Matchmaking().Searching(func(t *matchmaking.Ticket) bool {
				if t.Backfill && len(open) > 0 {
					return true // it has to stand first
				}
				open = append(open, matchmaking.Proposed{ID: t.ID, Round: t.Round})
				for _, p := range t.Players {
					ids = append(ids, p.ID)
				}
				return len(open) < 3
			})
		},
		answered: func(_ any, err error) {
			if err != nil || len(open) < 2 {
				return
			}
			w.askTickets(matchmaking.Propose{
				ID: w.id("match"), Tickets: open, Teams: []matchmaking.Team{{Name: "all", Players: ids}},
				Settings: matchmaking.MatchSettings{
					Configuration: ladder, Acceptance: int32(w.rng.IntN(2) * 30), Capacity: int32(len(ids) + 1), RequestTimeout: 60,
					AutomaticBackfill: w.chance(30),
				},
			}, true, nil)
		},
	})
}

func (w *world) matchHappened(body any) {
	switch e := body.(type) {
	case *matchmaking.MatchAccepted:
		w.carry(e.ID)
	case *matchmaking.MatchDropped:
		w.carry(e.ID)
	}
}

// carry has a match placed that was accepted, or filled in, and the placement
// cancelled of one whose tickets have left it.
func (w *world) carry(id string) {
	m, ok := w.tickets().Match(id)
	switch {
	case ok && m.Stage == matchmaking.StageFilling:
		w.fill(m)
		return
	case ok && m.Stage == matchmaking.StageCancelling:
		w.cancelPlacement(id)
		return
	case !ok || m.Stage != matchmaking.StagePlacing:
		return
	}
	w.settleMatch(id)
	if w.carried[id] {
		return
	}
	w.carried[id] = true
	r := placement.Request{ID: id, Match: id, Queue: "harbor", Maximum: m.Settings.Capacity}
	for _, team := range m.Teams {
		for _, p := range team.Players {
			r.Players = append(r.Players, placement.Player{PlayerID: p})
		}
	}
	w.startPlacement(r, 1000)
}

// cancelPlacement ends the placement of a match, or its game session, and then the
// match. What fails the next sweep does again.
func (w *world) cancelPlacement(id string) {
	over := func() { w.askTickets(matchmaking.PlacementTimedOut{Match: id}, true, nil) }
	cancelled := func(p *placement.Placement) {
		if p.Status != placement.Fulfilled {
			over()
			return
		}
		w.seen["placement fulfilled too late"]++
		w.askRoom(p.Session.Room, fleet.TerminateGameSession{ID: p.Session.ID}, true, func(_ any, err error) {
			if !undecided(err) {
				over()
			}
		})
	}
	if p, ok := w.past.placements[id]; ok {
		cancelled(p)
		return
	}
	w.askPlacement(id, placement.Cancel{Request: placement.Request{ID: id, Match: id, Queue: "harbor"}}, func(answer any, err error) {
		if p, ok := answer.(*placement.Placement); ok && err == nil {
			w.seen["placement cancelled"]++
			cancelled(p)
		}
	})
}

// fill lets the new players of a match into the game session that it fills.
func (w *world) fill(m *matchmaking.Match) {
	room, id := sessionOf(m.Backfill)
	c := fleet.BackfillGameSession{GameSession: id, Match: m.ID, MatchmakerData: "{}"}
	for _, ticket := range m.Tickets {
		if t, ok := w.tickets().Ticket(ticket); ok && !t.Backfill {
			for _, p := range t.Players {
				c.Players = append(c.Players, fleet.NewPlayer{PlayerID: p.ID, Random: w.random()})
			}
		}
	}
	w.askRoom(room, c, true, func(answer any, err error) {
		r, ok := answer.(fleet.Reservation)
		switch {
		case undecided(err): // the next sweep sees to it
		case err != nil || !ok:
			w.askTickets(matchmaking.FillFailed{Match: m.ID}, true, nil)
		default:
			connection := matchmaking.Connection{GameSession: m.Backfill, Port: r.GameSession.Port}
			for _, p := range r.Players {
				connection.Players = append(connection.Players, matchmaking.MatchedPlayer{PlayerID: p.PlayerID, PlayerSession: p.ID})
			}
			w.askTickets(matchmaking.Filled{Match: m.ID, Connection: connection}, true, nil)
			w.come(room, r.GameSession.Host, id, r.Players)
		}
	})
}

// sessionOf takes the ARN of a game session apart.
func sessionOf(text string) (fleet.RoomID, string) {
	_, fleetID, location, id, _ := arn.ParseGameSession(text)
	return fleet.RoomID{Fleet: fleet.ID(fleetID), Location: location}, id
}

// endBackfills ends the backfill tickets of game sessions that are over.
func (w *world) endBackfills() {
	look := func(t *matchmaking.Ticket) {
		if t.GameSession == "" {
			return
		}
		room, id := sessionOf(t.GameSession)
		r, ok := w.shards[w.shardOf(room)].mirror.machine.Room(room)
		if !ok {
			return
		}
		if g, ok := r.GameSession(id); !ok || g.HasEnded() {
			w.askTickets(matchmaking.GameSessionEnded{GameSession: t.GameSession}, true, nil)
		}
	}
	w.tickets().Searching(func(t *matchmaking.Ticket) bool { look(t); return true })
	w.tickets().Matches(func(m *matchmaking.Match) bool {
		if m.Backfill == "" {
			return true
		}
		if t, ok := w.tickets().Ticket(m.Tickets[0]); ok {
			look(t)
		}
		return true
	})
}

// settleMatch tells a match what has become of its placement.
func (w *world) settleMatch(id string) {
	if m, ok := w.tickets().Match(id); !ok || m.Stage != matchmaking.StagePlacing {
		return
	}
	p, ok := w.placement(id)
	if !ok || !p.HasEnded() {
		return
	}
	var c matchmaking.Command
	switch p.Status {
	case placement.Fulfilled:
		s := p.Session
		connection := matchmaking.Connection{GameSession: arn.GameSession("us-west-2", string(s.Room.Fleet), s.Room.Location, s.ID), Port: s.Port}
		for _, player := range s.Players {
			connection.Players = append(connection.Players, matchmaking.MatchedPlayer{PlayerID: player.PlayerID, PlayerSession: player.PlayerSession})
		}
		c = matchmaking.Placed{Match: id, Connection: connection}
	case placement.Failed:
		c = matchmaking.PlacementFailed{Match: id}
	default:
		c = matchmaking.PlacementTimedOut{Match: id}
	}
	w.askTickets(c, true, nil)
}

// placement finds a placement, in the history too.
func (w *world) placement(id string) (p *placement.Placement, ok bool) {
	if p, ok = w.past.placements[id]; ok {
		return p, true
	}
	return w.shards[region.PlacementShardOf(id, len(w.shards))].mirror.machine.Placements().Placement(id)
}
