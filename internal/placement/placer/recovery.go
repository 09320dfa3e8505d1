package placer

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// When a shard has recovered, what was sent to it and by it may be lost. So for each attempt that runs in a placement
// or a room of the shard its game session is looked up, in the room and in the history: the placement is told what
// became of it, and where there is none it is requested, again or for the first time. And each game session in the
// shard's rooms that its placement does not want is terminated.

const (
	retryAfter = time.Second // after a recovery that failed
	maxLookups = 256         // game sessions looked up at a time, so that one batch of a shard takes many of them
	// How often the game session of one attempt is requested: it may be the cause of the failures.
	maxFailed = 3
)

// A recovery is what is to be looked up. At most one pass over it runs at a time.
type recovery struct {
	shards   map[int]bool // that have recovered
	suspects []suspect
	pass     *pass      // that runs; nil: none
	retryAt  event.Time // after a pass that failed; 0: the next one may begin at once
}

func newRecovery() recovery { return recovery{shards: map[int]bool{}} }

// due is when the next pass begins; ok is false if there is nothing to do, or a pass runs.
func (r *recovery) due() (at event.Time, ok bool) {
	return r.retryAt, r.pass == nil && (len(r.shards) > 0 || len(r.suspects) > 0)
}

// A suspect is a game session that its placement may not want.
type suspect struct {
	room      fleet.RoomID
	id        string
	placement string
	attempt   int
	active    bool
}

func (m *Machine) suspect(s suspect) { m.recovery.suspects = append(m.recovery.suspects, s) }

// Recover starts again with a shard, from a view of its state.
func (m *Machine) Recover(shard int, view *region.Machine) {
	if !m.active {
		return
	}
	m.recoverRooms(shard, view)
	for _, p := range m.placements {
		if p.shard == shard {
			m.drop(p)
		}
	}
	view.Placements().Pending(func(r *placement.Placement) bool {
		p := &pending{request: &r.Request, shard: shard, started: r.Started, deadline: r.Deadline}
		if r.Attempt != nil {
			p.attempt, p.room = r.Attempt.Number, r.Attempt.Room
		}
		if r.AttemptRunning() {
			p.stage = running
		}
		m.placements[r.ID] = p
		return true
	})
	for _, w := range m.sortedWaitlists() {
		if m.shardOf(w.room) == shard {
			m.freed(w)
		}
	}
	m.recovery.shards[shard] = true
}

// recoverRooms takes the rooms of a shard from a view, with the game sessions of attempts that are ACTIVATING.
func (m *Machine) recoverRooms(shard int, view *region.Machine) {
	s := &m.shards[shard]
	clear(s.rooms)
	clear(s.activating)
	for _, r := range view.Rooms() {
		room := uint32(r.Address().Room)
		s.rooms[room] = r.ID()
		r.GameSessions(0, func(g *fleet.GameSession) bool {
			if g.Placement != "" && g.Status == fleet.Activating {
				s.activating[sessionKey{room, g.Ordinal}] = &fleet.GameSessionCreated{
					ID: g.ID, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port, Placement: g.Placement,
					Attempt: g.Attempt,
				}
			}
			return true
		})
	}
}

// sortedWaitlists lists them in the order of their rooms, so that equal histories make equal requests.
func (m *Machine) sortedWaitlists() []*waitlist {
	all := slices.Collect(maps.Values(m.waitlists))
	for room := range m.versions {
		all = append(all, m.versionsOf(room)...)
	}
	slices.SortFunc(all, func(a, b *waitlist) int {
		return cmp.Or(cmp.Compare(a.room.Fleet, b.room.Fleet), cmp.Compare(a.room.Location, b.room.Location),
			cmp.Compare(a.build, b.build))
	})
	return all
}

// A pass looks up everything that had come together when it began, in four steps, each of which begins when all
// requests of the one before are answered. When a request fails, the others go on, and all is done once more later.
type pass struct {
	m        *Machine
	shards   []int
	suspects []suspect
	lost     []*pending // attempts to look up
	step     int
	running  int // requests without an answer
	err      error
	unwanted []suspect
}

// recover begins a pass, if one is due.
func (m *Machine) recover() {
	r := &m.recovery
	if at, ok := r.due(); !ok || m.catalog == nil || m.now < at {
		return
	}
	s := &pass{m: m, shards: slices.Sorted(maps.Keys(r.shards)), suspects: r.suspects}
	for _, p := range m.byAge(func(p *pending) bool { return r.shards[p.shard] || r.shards[m.shardOf(p.room)] }) {
		switch {
		case p.stage == searching:
			m.place(p)
		case p.stage == running && p.call == nil:
			s.lost = append(s.lost, p)
		}
	}
	*r = newRecovery()
	r.pass = s
	s.next()
}

// next makes the requests that may be made, and ends the pass.
func (s *pass) next() {
	for s.m.recovery.pass == s && (s.running == 0 || s.step == 1 && s.running < maxLookups && len(s.lost) > 0) {
		switch s.step {
		case 0:
			s.step = 1
		case 1:
			if len(s.lost) == 0 {
				s.step = 2
				s.lookForSuspects()
				continue
			}
			p := s.lost[0]
			s.lost = s.lost[1:]
			s.find(p)
		case 2:
			s.step = 3
			s.sortOut()
		case 3:
			s.step = 4
			s.terminate()
		default:
			s.end()
		}
	}
}

// ask makes a request of the pass. The pass has failed when answered returns an error.
func (s *pass) ask(r Request, answered func(answer any, err error) error) {
	s.running++
	r.Answer = func(answer any, err error) {
		s.running--
		if s.m.recovery.pass != s {
			return // the machine was ended
		}
		if err = answered(answer, err); err != nil {
			s.err = err
		}
		s.next()
	}
	s.m.requests = append(s.m.requests, r)
}

func (s *pass) end() {
	r := &s.m.recovery
	r.pass = nil
	if s.err == nil {
		return
	}
	for _, shard := range s.shards {
		r.shards[shard] = true
	}
	r.suspects = append(r.suspects, s.suspects...)
	r.retryAt = s.m.now.Add(retryAfter)
	s.m.cfg.Failed(s.err)
}

// find looks up the game session of an attempt.
func (s *pass) find(p *pending) {
	room, number, id := p.room, p.attempt, placement.SessionID(p.request.ID, p.attempt)
	var g *fleet.GameSession
	s.ask(Request{Shard: s.m.shardOf(room), Read: func(state *region.Machine) {
		if r, ok := state.Room(room); ok {
			g, _ = r.GameSession(id)
		}
	}}, func(_ any, err error) error {
		switch {
		case err != nil: // and the read may still be going on
		case g != nil:
			s.found(p, number, g)
		default:
			s.ask(Request{Past: &PastSession{room, id}}, func(answer any, err error) error {
				if g, _ := answer.(*fleet.GameSession); err == nil {
					s.found(p, number, g)
				}
				return err
			})
		}
		return err
	})
}

// found does what follows from the game session of an attempt; g is nil if there is none.
func (s *pass) found(p *pending, number int, g *fleet.GameSession) {
	m := s.m
	switch {
	// It was told meanwhile.
	case m.placements[p.request.ID] != p || p.stage != running || p.attempt != number || p.call != nil:
	case m.queueOf(p.request) == nil:
		m.fail(p)
	case g != nil && g.Placement == p.request.ID:
		m.conclude(p, g)
	case g != nil:
		m.refuse(p, "Another game session has the id "+g.ID)
	case p.failed >= maxFailed:
		m.refuse(p, "The service failed to start the game session")
	default:
		m.run(p, m.newCall(p, m.listOf(p)))
	}
}

// lookForSuspects lists the game sessions of placements in the shards that are not over.
func (s *pass) lookForSuspects() {
	for _, shard := range s.shards {
		var found []suspect
		s.ask(Request{Shard: shard, View: func(view *region.Machine) {
			for _, r := range view.Rooms() {
				r.GameSessions(0, func(g *fleet.GameSession) bool {
					if g.Placement != "" && (g.Status == fleet.Activating || g.Status == fleet.Active) {
						found = append(found, suspect{r.ID(), g.ID, g.Placement, int(g.Attempt),
							g.Status == fleet.Active})
					}
					return true
				})
			}
		}}, func(_ any, err error) error {
			if err == nil {
				s.suspects = append(s.suspects, found...)
			}
			return err
		})
	}
}

// sortOut finds the suspects that no placement wants.
func (s *pass) sortOut() {
	by := map[int][]suspect{}
	for _, one := range s.suspects {
		shard := region.PlacementShardOf(one.placement, s.m.cfg.Shards)
		by[shard] = append(by[shard], one)
	}
	for _, shard := range slices.Sorted(maps.Keys(by)) {
		var unwanted []suspect
		s.ask(Request{Shard: shard, View: func(view *region.Machine) {
			for _, one := range by[shard] {
				if !one.wanted(view.Placements()) {
					unwanted = append(unwanted, one)
				}
			}
		}}, func(_ any, err error) error {
			if err == nil {
				s.unwanted = append(s.unwanted, unwanted...)
			}
			return err
		})
	}
}

// wanted reports whether the placement of a game session wants it. The placements are seen later than the game session
// was: it cannot be of a later attempt. A placement that is not in memory any more is over, and has the game session if
// that is ACTIVE.
func (s suspect) wanted(placements *placement.State) bool {
	r, ok := placements.Placement(s.placement)
	switch {
	case !ok:
		return s.active
	case r.AttemptRunning():
		return r.Attempt.Number == s.attempt
	default:
		return r.Session != nil && r.Session.ID == s.id && r.Session.Room == s.room
	}
}

// terminate ends the game sessions that no placement wants.
func (s *pass) terminate() {
	for _, one := range s.unwanted {
		command := region.RoomCommand{Room: one.room, Command: fleet.TerminateGameSession{ID: one.id}}
		s.ask(Request{Shard: s.m.shardOf(one.room), Command: command}, func(_ any, err error) error {
			if fault.Is(err, fault.NotFound) || fault.Is(err, fault.InvalidGameSessionStatus) {
				return nil // it is over
			}
			return err
		})
	}
}
