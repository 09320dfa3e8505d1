package sim

import (
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/matchmaking/matchdriver"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// matching runs the machines that drive matchmaking.
type matching struct {
	runner[*matchdriver.Driver, matchdriver.Request]
	next map[*matchdriver.Maker]time.Time // when each of them searches by itself
}

func newMatching(d *driver) *matching {
	w := d.node.world
	m := &matching{next: map[*matchdriver.Maker]time.Time{}}
	machine := matchdriver.New(matchdriver.Config{
		Shards: len(w.shards), Region: "us-west-2", Account: account,
		NewID: func() string { return w.id("match") }, Random: w.fill, Changed: func(string) {},
		Failed: func(request string, err error) {
			w.trace.add(w.step, "node %d: a request of matchmaking failed: %s: %v", d.node.name, request, err)
		},
		RuleSet: func(*catalog.State, *catalog.MatchmakingConfiguration) (*ruleset.Set, error) { return ruleSet() },
	})
	m.runner = runner[*matchdriver.Driver, matchdriver.Request]{
		driver: d, machine: machine, send: m.carryOut, unanswered: matchdriver.ErrUnanswered,
	}
	return m
}

// rules are those of all matches.
const rules = `{
	"name": "rules", "ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 3, "maxPlayers": 5}]
}`

var ruleSet = sync.OnceValues(func() (*ruleset.Set, error) { return ruleset.Parse(rules) })

// carryOut carries out a request.
func (m *matching) carryOut(r matchdriver.Request) {
	w := m.driver.node.world
	if w.bug.matching != nil && !w.bug.matching(&r) {
		return
	}
	switch {
	case r.Maker != nil:
		m.plan(r.Maker, 0)
	case r.Notice != nil:
		w.noticed(r.Notice)
	case r.Work != nil:
		m.driver.later(func() {
			r.Work()
			m.answer(r.Answer, nil, nil)
		})
	case r.Past != "":
		m.driver.later(func() { m.answer(r.Answer, w.past.placements[r.Past], nil) })
	case r.Place != nil:
		m.driver.later(func() { m.place(r) })
	default:
		m.ask(&request{shard: r.Shard, cmd: r.Command, read: r.Read}, r.Answer)
	}
}

// place starts the placement of a match.
func (m *matching) place(r matchdriver.Request) {
	w := m.driver.node.world
	if p, ok := w.past.placements[r.Place.Request.ID]; ok {
		m.answer(r.Answer, p, nil)
		return
	}
	if c, ok := m.driver.node.startOf(r.Place.Request); ok {
		m.ask(&request{shard: w.placementShard(c.Request.ID), cmd: region.PlacementCommand{Command: c}}, r.Answer)
	}
}

// plan has a Maker search after a while.
func (m *matching) plan(k *matchdriver.Maker, after time.Duration) {
	at := time.Now().Add(after + m.driver.node.world.between(0, 10*time.Millisecond))
	if planned, ok := m.next[k]; ok && !at.Before(planned) {
		return
	}
	m.next[k] = at
	m.driver.node.world.at(at, func(*world) {
		m.driver.do(func() {
			if m.next[k].Equal(at) {
				m.search(k)
			}
		})
	})
}

// search has a Maker search, and hands its proposal on.
func (m *matching) search(k *matchdriver.Maker) {
	delete(m.next, k)
	var news matchdriver.News
	var runs bool
	m.step(func(d *matchdriver.Driver) { news, runs = d.News(k) })
	if !runs {
		k.End()
		return
	}
	clock := m.driver.node.clock
	match, more := k.Step(news, clock.Now())
	if match != nil {
		m.driver.node.submit(&request{
			shard: m.driver.node.world.ticketShard(), cmd: region.MatchmakingCommand{Command: *match}, twice: true,
			done: func(_ any, err error) {
				m.step(func(d *matchdriver.Driver) { d.Proposed(k, match.Tickets, err) })
			},
		})
	}
	if more {
		m.plan(k, 0)
	} else if at, due := k.Due(); due {
		m.plan(k, max(0, at.Sub(clock.Now())))
	}
}

// noticed is a game server that is told of new players: they come.
func (w *world) noticed(n *matchdriver.Notice) {
	var reserved []*fleet.PlayerSession
	for _, p := range n.GameSession.CurrentPlayers {
		if p.Status == fleet.Reserved {
			reserved = append(reserved, p)
		}
	}
	w.come(n.Room, n.GameSession.Host, n.GameSession.ID, reserved)
}

// happened is told of each fact, in the order of its shard.
func (w *world) happened(shardNumber int, f event.Fact) {
	if e, ok := f.Body.(*placement.PlacementEnded); ok && e.Status == placement.Cancelled {
		w.seen["placement cancelled"]++
	}
	if r, ok := w.shards[shardNumber].mirror.machine.RoomAt(uint16(f.Room)); ok && f.Room < 1<<16 {
		w.roomHappened(r.ID(), f.Body)
		if e, ok := f.Body.(*fleet.GameSessionActivated); ok {
			w.activated(r, e)
		}
	}
}

// activated has the players come for whom a game session was created.
func (w *world) activated(r *fleet.Room, e *fleet.GameSessionActivated) {
	if g, ok := r.GameSessionAt(e.Ordinal); ok {
		for _, seat := range e.Slots {
			w.visit(r.ID(), g.Host, g.ID, seat.ID)
		}
	}
}

// remind shows all drivers the state of a shard, as after a failure of a request.
func (w *world) remind() {
	number := w.rng.IntN(len(w.shards))
	for _, n := range w.nodes {
		if n.up() {
			n.do(func() { n.driver.remind(number) })
		}
	}
}

// sessionOf takes the ARN of a game session apart.
func sessionOf(text string) (fleet.RoomID, string) {
	_, fleetID, location, id, _ := arn.ParseGameSession(text)
	return fleet.RoomID{Fleet: fleet.ID(fleetID), Location: location}, id
}

// placement finds a placement, in the history too.
func (w *world) placement(id string) (p *placement.Placement, ok bool) {
	if p, ok = w.past.placements[id]; ok {
		return p, true
	}
	return w.shards[w.placementShard(id)].mirror.machine.Placements().Placement(id)
}
