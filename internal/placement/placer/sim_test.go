package placer

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/arn"
)

var seeds = flag.Uint64("seeds", 400, "how many seeds TestSimulation runs")

const (
	shards  = 3
	fleetID = "fleet-2222bbbb-33cc-44dd-55ee-6666ffff77aa"
)

var (
	start     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	locations = []string{"custom-a", "custom-b"}
)

// A world is real state machines of shards under a seed, with a Machine that drives their placements. Requests wait in
// the queue of their shard, and what a shard has handled waits until it is durable: only then it is observed and
// answered. A shard that crashes loses a part of what is not durable, and all answers.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	now    time.Time
	m      *Machine
	shards [shards]*simShard
	past   []func(any, error) // look-ups of the history
	views  []func()

	late []Request // of which nobody waits for the answer

	begun, processes int
}

type simShard struct {
	state   *region.Machine
	journal []event.Fact // durable
	queue   []Request
	commits []commit // handled, not durable yet
}

type commit struct {
	facts  []event.Fact
	answer func(any, error)
	result any
	err    error
}

func settings() *region.Settings {
	return &region.Settings{Fleet: fleet.DefaultSettings("us-west-2"), Catalog: catalog.DefaultLimits(), Shards: shards}
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: start}
	for i := range w.shards {
		w.shards[i] = &simShard{state: region.New(i, settings())}
	}
	w.m = New(Config{
		Shards: shards, Elsewhere: func(string) bool { return false }, Failed: func(error) {},
		Random: func(b []byte) {
			for i := range b {
				b[i] = byte(w.rng.Uint32())
			}
		},
	})
	w.command(0, region.CatalogCommand{Command: catalog.CreateLocation{Name: locations[0]}})
	w.command(0, region.CatalogCommand{Command: catalog.CreateLocation{Name: locations[1]}})
	create := catalog.CreateFleet{ID: fleetID, ComputeType: "ANYWHERE", Locations: locations,
		Attributes: catalog.Attributes{Name: "f"}}
	for range create.EventCount() {
		create.EventIDs = append(create.EventIDs, fmt.Sprint("event-", len(create.EventIDs)))
	}
	w.command(0, region.CatalogCommand{Command: create})
	w.command(0, region.CatalogCommand{Command: catalog.CreateQueue{Queue: catalog.Queue{
		ID: "q-1", Name: "q", Timeout: 600, Destinations: []string{arn.Fleet("us-west-2", "123456789012", fleetID)},
	}, Refers: []string{"fleet/" + fleetID}}})
	for _, l := range locations {
		w.tell(l, fleet.RegisterCompute{Name: "host-" + l, IPAddress: "10.0.0.1"})
	}
	w.lead()
	return w
}

func room(location string) fleet.RoomID { return fleet.RoomID{Fleet: fleetID, Location: location} }

// command is carried out, and observed, at once.
func (w *world) command(shard int, c region.Command) {
	s := w.shards[shard]
	for len(s.commits) > 0 {
		w.commit(shard)
	}
	facts, _, err := s.state.Handle(w.now, c)
	if err != nil {
		w.t.Fatalf("%+v: %v", c, err)
	}
	s.commits = append(s.commits, commit{facts: facts})
	w.commit(shard)
}

// tell gives a room a command.
func (w *world) tell(location string, c fleet.Command) {
	w.command(region.ShardOf(room(location), shards), region.RoomCommand{Room: room(location), Command: c, Open: true})
}

// step calls the machine, and queues its requests.
func (w *world) step(f func(m *Machine)) {
	w.m.SetNow(event.At(w.now))
	f(w.m)
	for _, r := range w.m.Requests(nil) {
		if r.Past != nil {
			w.past = append(w.past, r.Answer)
			continue
		}
		s := w.shards[r.Shard]
		s.queue = append(s.queue, r)
	}
}

// lead makes the machine begin anew, with all shards.
func (w *world) lead() {
	w.step((*Machine).End)
	w.step((*Machine).Begin)
	w.step(func(m *Machine) { m.SetCatalog(w.shards[0].state.Catalog().Copy()) })
	for i := range w.shards {
		for len(w.shards[i].commits) > 0 {
			w.commit(i)
		}
		w.step(func(m *Machine) { m.Recover(i, w.shards[i].state.Freeze()) })
	}
}

// handle carries out the oldest request of a shard.
func (w *world) handle(shard int) {
	s := w.shards[shard]
	r := s.queue[0]
	s.queue = s.queue[1:]
	c := commit{answer: r.Answer}
	switch {
	case r.View != nil:
		view := s.state.Freeze()
		c.answer = func(_ any, err error) {
			w.views = append(w.views, func() {
				if err == nil {
					r.View(view)
				}
				w.step(func(*Machine) { r.Answer(nil, err) })
			})
		}
	case r.Read != nil:
		r.Read(s.state)
	default:
		c.facts, c.result, c.err = s.state.Handle(w.now, r.Command)
	}
	s.commits = append(s.commits, c)
}

// commit makes the oldest commit of a shard durable.
func (w *world) commit(shard int) {
	s := w.shards[shard]
	c := s.commits[0]
	s.commits = s.commits[1:]
	s.journal = append(s.journal, c.facts...)
	w.step(func(m *Machine) { m.Observe(shard, c.facts) })
	w.answer(c.answer, c.result, c.err)
}

func (w *world) answer(answer func(any, error), result any, err error) {
	if answer != nil {
		w.step(func(*Machine) { answer(result, err) })
	}
}

// crash loses all answers of a shard, and some of what is not durable; the shard begins anew with the rest.
func (w *world) crash(shard int) {
	s := w.shards[shard]
	kept := w.rng.IntN(len(s.commits) + 1)
	lost := s.queue
	for i, c := range s.commits {
		if i < kept {
			s.journal = append(s.journal, c.facts...)
		}
		lost = append(lost, Request{Answer: c.answer})
	}
	s.commits, s.queue, s.state = nil, nil, region.New(shard, settings())
	for _, f := range s.journal {
		s.state.Apply(f)
	}
	recovered := s.state.Freeze()
	if w.rng.IntN(2) == 0 {
		w.step(func(m *Machine) { m.Recover(shard, recovered) })
		recovered = nil
	}
	for _, r := range lost {
		w.answer(r.Answer, nil, fmt.Errorf("%w: crash", ErrUnanswered))
	}
	if recovered != nil {
		w.step(func(m *Machine) { m.Recover(shard, recovered) })
	}
}

// lose loses the answer to a request that waits: it is carried out late, when the shard has been looked at again.
func (w *world) lose(shard int) {
	s := w.shards[shard]
	i := w.rng.IntN(len(s.queue))
	r := s.queue[i]
	if r.Command == nil {
		return
	}
	s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
	w.answer(r.Answer, nil, fmt.Errorf("%w: lost", ErrUnanswered))
	w.late = append(w.late, Request{Shard: shard, Command: r.Command})
	durable := region.New(shard, settings())
	for _, f := range s.journal {
		durable.Apply(f)
	}
	w.step(func(m *Machine) { m.Recover(shard, durable.Freeze()) })
}

// place starts a placement, as control does.
func (w *world) place() {
	w.begun++
	r := placement.Request{ID: fmt.Sprint("p", w.begun), Queue: "q", QueueID: "q-1", Maximum: 4,
		Players: []placement.Player{{PlayerID: "x"}}}
	var choice placement.Choice
	var first *fleet.RoomID
	w.step(func(m *Machine) {
		q, _ := m.catalog.Queue("q")
		choice = m.Queue(m.catalog, q).Choose(&r, 0)
		first = m.First(&choice)
	})
	w.begin(placement.Start{Request: r, Timeout: 600, Room: first,
		Trail: placement.Trail{Candidates: choice.Considered}})
}

// begin asks for a new placement until there is an answer, as callers do.
func (w *world) begin(c placement.Start) {
	shard := region.PlacementShardOf(c.Request.ID, shards)
	s := w.shards[shard]
	s.queue = append(s.queue, Request{Shard: shard, Command: region.PlacementCommand{Command: c}, Answer: func(
		_ any, err error,
	) {
		if errors.Is(err, ErrUnanswered) {
			w.begin(c)
		}
	}})
}

// come starts a server process, which is ready.
func (w *world) come(location string) {
	w.processes++
	key := fleet.ProcessKey{Compute: "host-" + location, ID: fmt.Sprint("process-", w.processes)}
	w.tell(location, fleet.ConnectProcess{ProcessKey: key})
	w.tell(location, fleet.ReadyProcess{ProcessKey: key, Port: 7777})
}

// free is how many server processes of a room could take a game session.
func (w *world) free(location string) int {
	r, _ := w.shards[region.ShardOf(room(location), shards)].state.Room(room(location))
	return r.FreeFor(1000)
}

// play lets the server processes of a room do what they are asked to; with chance they end instead of activating.
func (w *world) play(location string, chance int) {
	shard := region.ShardOf(room(location), shards)
	for len(w.shards[shard].commits) > 0 {
		w.commit(shard)
	}
	r, _ := w.shards[shard].state.Room(room(location))
	var commands []fleet.Command
	r.GameSessions(0, func(g *fleet.GameSession) bool {
		switch {
		case g.Status == fleet.Terminating, g.Status == fleet.Activating && w.rng.IntN(100) < chance:
			commands = append(commands, fleet.EndProcess{ProcessKey: g.Host})
		case g.Status == fleet.Activating:
			commands = append(commands, fleet.ActivateGameSession{ProcessKey: g.Host, GameSession: g.ID})
		}
		return true
	})
	for _, c := range commands {
		w.tell(location, c)
	}
}

// random does one thing; final leaves out what disturbs.
func (w *world) random(final bool) {
	location := locations[w.rng.IntN(len(locations))]
	shard := w.rng.IntN(shards)
	s := w.shards[shard]
	switch n := w.rng.IntN(100); {
	case n < 35 && len(s.queue) > 0:
		w.handle(shard)
	case n < 70 && len(s.commits) > 0:
		w.commit(shard)
	case n < 74 && len(w.past) > 0:
		answer := w.past[0]
		w.past = w.past[1:]
		w.answer(answer, (*fleet.GameSession)(nil), nil)
	case n < 78 && len(w.views) > 0:
		view := w.views[0]
		w.views = w.views[1:]
		view()
	case n < 79 && len(w.late) > 0 && (final || w.rng.IntN(20) == 0):
		r := w.late[0]
		w.late = w.late[1:]
		w.shards[r.Shard].queue = append(w.shards[r.Shard].queue, r)
	case n < 86:
		w.play(location, map[bool]int{false: 20}[final])
	case n < 91:
		w.now = w.now.Add(50 * time.Millisecond)
		if at, due := w.m.Due(); due && at <= event.At(w.now) {
			w.step((*Machine).Review)
		}
	case final:
	case n < 94 && w.begun < 12:
		w.place()
	case n < 97 && w.processes < 8:
		w.come(location)
	case n < 98:
		w.crash(shard)
	case n == 98 && len(s.queue) > 0:
		w.lose(shard)
	case n == 99 && w.rng.IntN(3) == 0:
		w.lead()
	}
}

// over reports whether every placement has exactly one game session, which is ACTIVE, and nothing is under way.
func (w *world) over() bool {
	if !w.m.Idle() || len(w.late) > 0 {
		return false
	}
	for i := range w.begun {
		id := fmt.Sprint("p", i+1)
		p, ok := w.shards[region.PlacementShardOf(id, shards)].state.Placements().Placement(id)
		if !ok || p.Status != placement.Fulfilled || len(w.sessions(id)) != 1 || w.sessions(id)[0] != p.Session.ID {
			return false
		}
	}
	return true
}

// sessions lists the game sessions of a placement that are not over.
func (w *world) sessions(id string) (found []string) {
	for _, l := range locations {
		r, _ := w.shards[region.ShardOf(room(l), shards)].state.Room(room(l))
		r.GameSessions(0, func(g *fleet.GameSession) bool {
			if g.Placement == id && !g.HasEnded() {
				found = append(found, g.ID)
			}
			return true
		})
	}
	return found
}

// Whatever crashes, and however answers and facts are delayed: each placement gets exactly one game session, once there
// are processes for it, and no other one is left.
func TestSimulation(t *testing.T) {
	for seed := range *seeds {
		w := newWorld(t, seed)
		for range 3_000 {
			w.random(false)
		}
		for w.begun < 3 {
			w.place()
		}
		for n := 0; !w.over(); n++ {
			if n == 200_000 {
				t.Fatalf("seed %d: not over: %s", seed, w.describe())
			}
			if l := locations[n/500%len(locations)]; n%500 == 0 && w.free(l) == 0 {
				w.come(l)
			}
			w.random(true)
		}
	}
}

// describe tells what is not as it should be.
func (w *world) describe() (text string) {
	for i := range w.begun {
		id := fmt.Sprint("p", i+1)
		p, ok := w.shards[region.PlacementShardOf(id, shards)].state.Placements().Placement(id)
		if sessions := w.sessions(id); !ok || p.Status != placement.Fulfilled || len(sessions) != 1 ||
			w.m.placements[id] != nil {
			text += fmt.Sprintf("\n%s: %+v has the game sessions %v, known as %+v", id, p, sessions, w.m.placements[id])
		}
	}
	return text + fmt.Sprintf("\n%d processes, recovery %+v", w.processes, w.m.recovery)
}
