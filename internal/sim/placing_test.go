package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/placement/placer"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

// placing runs the machine that drives placements.
type placing struct {
	runner[*placer.Machine, placer.Request]
	asked map[*request]sessionKey // for game sessions, without an answer
}

func newPlacing(d *driver) *placing {
	w := d.node.world
	p := &placing{asked: map[*request]sessionKey{}}
	machine := placer.New(placer.Config{
		Shards: len(w.shards), Elsewhere: func(string) bool { return false }, Random: w.fill,
		Failed: func(err error) {
			w.trace.add(w.step, "node %d: a recovery of placements failed: "+
				"%v", d.node.name, err)
		},
	})
	p.runner = runner[*placer.Machine, placer.Request]{
		driver: d, machine: machine, send: p.carryOut, unanswered: placer.ErrUnanswered,
	}
	return p
}

// end is the end of the node's lead.
func (p *placing) end() {
	for _, session := range p.asked {
		p.driver.node.world.placed.unheard[session] = true
	}
	clear(p.asked)
	p.step((*placer.Machine).End)
}

// carryOut carries out a request.
func (p *placing) carryOut(r placer.Request) {
	w := p.driver.node.world
	if w.bug.placing != nil {
		w.bug.placing(w, &r)
	}
	q := &request{shard: r.Shard, cmd: r.Command, read: r.Read}
	switch {
	case r.Past != nil:
		p.driver.later(func() { p.answer(r.Answer, w.past.sessions[sessionKey{r.Past.Room, r.Past.ID}], nil) })
		return
	case r.View != nil:
		var view *region.Machine
		q.read = func(m *region.Machine) { view = m.Freeze() }
		q.done = func(_ any, err error) {
			if err == nil {
				r.View(view)
			}
		}
	default:
		p.note(q)
	}
	p.ask(q, r.Answer)
}

// note remembers that a game session is asked for, and which attempts several nodes drive that lead at the same time.
func (p *placing) note(q *request) {
	placed, contested := &p.driver.node.world.placed, p.driver.node.world.leaders() > 1
	tell, _ := q.cmd.(region.PlacementCommand)
	if refused, ok := tell.Command.(placement.Refused); ok && contested {
		placed.contested[placement.SessionID(refused.ID, refused.Number)] = true
	}
	c, _ := q.cmd.(region.RoomCommand)
	create, ok := c.Command.(fleet.CreateGameSession)
	if !ok {
		return
	}
	session := sessionKey{c.Room, create.ID}
	placed.contested[create.ID] = placed.contested[create.ID] || contested
	placed.unheard[session] = placed.asked[session]
	placed.asked[session] = true
	p.asked[q] = session
	q.done = func(_ any, err error) {
		delete(p.asked, q)
		if errors.Is(err, shard.ErrOutcomeUnknown) {
			placed.unheard[session] = true
		}
	}
}

// place is a backend that starts a placement.
func (w *world) place() {
	id := w.id("placement")
	r := placement.Request{ID: id, Queue: queue, Maximum: int32(2 + w.rng.IntN(4)), Call: "call-" + id}
	for range w.rng.IntN(3) {
		p := placement.Player{PlayerID: w.id("player")}
		r.Players = append(r.Players, p)
		for _, room := range w.rooms {
			if w.chance(50) {
				r.Latencies = append(r.Latencies, placement.Latency{
					PlayerID: p.PlayerID, Location: room.Location, Milliseconds: float64(w.rng.IntN(200)),
				})
			}
		}
	}
	w.startPlacement(r, 5)
}

// startPlacement starts a placement at some node, as package control does.
func (w *world) startPlacement(r placement.Request, tries int) {
	again := func() {
		if tries > 0 {
			w.in(w.between(0, 3*time.Second), func(*world) { w.startPlacement(r, tries-1) })
		}
	}
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	if n.idle() {
		again()
		return
	}
	c, ok := n.startOf(r)
	if !ok {
		again()
		return
	}
	w.askPlacement(r.ID, c, func(_ any, err error) {
		if undecided(err) {
			again()
		}
	})
}

// startOf is the command that starts a placement, as package control makes it; ok is false if there is no queue yet.
func (n *node) startOf(r placement.Request) (c placement.Start, ok bool) {
	view := n.world.shards[region.CatalogShard].follower.Freeze().Catalog()
	q, ok := view.Queue(r.Queue)
	if !ok {
		return c, false
	}
	r.QueueID = q.ID
	timeout := int32(10 + n.world.rng.IntN(110))
	if n.world.calm {
		timeout = 120
	}
	n.driver.placing.step(func(m *placer.Machine) {
		choice := m.Queue(view, q).Choose(&r, 0)
		c = placement.Start{
			Request: r, Timeout: timeout, Room: m.First(&choice),
			Trail: placement.Trail{Candidates: choice.Considered, Omitted: choice.Omitted},
		}
	})
	return c, true
}

// placed knows which game sessions of placements were ever ACTIVE.
type placed struct {
	active  map[string][]sessionKey
	outcome map[string]sessionKey // by placement
	asked   map[sessionKey]bool   // game sessions that a driver has asked for
	unheard map[sessionKey]bool   // those that were asked for twice, or without an answer

	contested map[string]bool // by id: game sessions that were asked for, or given up, while several nodes led
}

func newPlaced() placed {
	return placed{
		map[string][]sessionKey{}, map[string]sessionKey{}, map[sessionKey]bool{}, map[sessionKey]bool{},
		map[string]bool{},
	}
}

// activated: a placement has one game session that was ever ACTIVE. The exception is one that was asked for twice,
// without an answer, or while several nodes led: it may be refused once and created once, or created and given up.
// Such a stray is terminated: see checkStrays.
func (p *placed) activated(id string, room fleet.RoomID, session string) (broken string) {
	key := sessionKey{room, session}
	for _, other := range p.active[id] {
		if !p.stray(other) && !p.stray(key) {
			broken = sprintf("game session %v of placement %s was ACTIVE, and now %v is", other, id, key)
		}
	}
	p.active[id] = append(p.active[id], key)
	return broken
}

func (p *placed) stray(key sessionKey) bool { return p.unheard[key] || p.contested[key.id] }

// fulfilled: the game session of a placement was ACTIVE, and it is the only answer.
func (p *placed) fulfilled(e *placement.PlacementFulfilled) string {
	key := sessionKey{e.Session.Room, e.Session.ID}
	if other, ok := p.outcome[e.ID]; ok {
		return sprintf("placement %s was given game session %v before", e.ID, other)
	}
	p.outcome[e.ID] = key
	return unless(slices.Contains(p.active[e.ID], key), "game session %v was never ACTIVE", key)
}
