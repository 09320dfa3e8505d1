package matchdriver

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/placement/placer"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/arn"
)

const (
	shards   = 3
	tickets  = shards - 1 // the shard that holds them
	regionID = "us-west-2"
	account  = "123456789012"
	fleetID  = "fleet-2222bbbb-33cc-44dd-55ee-6666ffff77aa"
	rules    = `{"ruleLanguageVersion":"1.0","teams":[{"name":"crew","minPlayers":2,"maxPlayers":3}]}`
)

var (
	start     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	locations = []string{"custom-a", "custom-b"}
)

// A world is real state machines of shards under a seed, with the machines that drive their placements and matchmaking.
// Requests wait in the queue of their shard, and what a shard has handled waits until it is durable: only then it is
// observed and answered. A shard that crashes loses a part of what is not durable, and all answers.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	now    time.Time
	placer *placer.Machine
	driver *Driver
	shards [shards]*simShard
	makers []*Maker // that have something to do
	beside []func() // look-ups, work and other things that take their time
	late   []call   // of which nobody waits for the answer

	sets    map[string]*ruleset.Set
	ids     int
	in      map[string]string             // tickets: the match that they are in
	told    map[string]matchmaking.Status // of tickets: the durable status when those who wait were woken last
	notices []*Notice
}

type simShard struct {
	state   *region.Machine
	durable *region.Machine
	led     bool // the drivers have begun with it
	journal []event.Fact
	queue   []call
	commits []commit // handled, not durable yet
}

type call struct {
	shard   int
	command region.Command
	read    func(*region.Machine)
	view    func(*region.Machine) // as placer.Request
	answer  func(any, error)
}

type commit struct {
	facts  []event.Fact
	answer func(any, error)
	result any
	err    error
}

func settings() *region.Settings {
	s := &region.Settings{
		Fleet: fleet.DefaultSettings(regionID), Catalog: catalog.DefaultLimits(), Shards: shards,
		Level: region.MaxLevel,
	}
	s.Fleet.HealthInterval, s.Fleet.Reservation = 24*time.Hour, 24*time.Hour
	return s
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: start,
		sets: map[string]*ruleset.Set{}, told: map[string]matchmaking.Status{}, in: map[string]string{},
	}
	for i := range w.shards {
		w.shards[i] = &simShard{state: region.New(i, settings()), durable: region.New(i, settings())}
		w.store(i, w.shards[i].state.Recovered(w.now))
	}
	w.placer = placer.New(placer.Config{
		Shards: shards, Elsewhere: func(string) bool { return false }, Failed: func(error) {}, Random: w.fill,
	})
	w.driver = New(Config{
		Shards: shards, Region: regionID, Account: account, NewID: func() string { return w.id("match") },
		Random: w.fill, RuleSet: w.ruleSet, Changed: w.changed, Failed: func(string, error) {},
	})
	w.furnish()
	w.lead()
	for i := range w.shards {
		w.recover(i)
	}
	return w
}

// furnish makes the catalog: two locations, a queue, and the configurations "plain" and "careful".
func (w *world) furnish() {
	change := func(c catalog.Command) { w.command(0, region.CatalogCommand{Command: c}) }
	for _, l := range locations {
		change(catalog.CreateLocation{Name: l})
	}
	create := catalog.CreateFleet{
		ID: fleetID, ComputeType: "ANYWHERE", Locations: locations, Attributes: catalog.Attributes{Name: "f"},
	}
	for range create.EventCount() {
		create.EventIDs = append(create.EventIDs, w.id("event"))
	}
	change(create)
	change(catalog.CreateQueue{Queue: catalog.Queue{
		ID: "q-1", Name: "q", Timeout: 30, Destinations: []string{arn.Fleet(regionID, account, fleetID)},
	}, Refers: []string{"fleet/" + fleetID}})
	change(catalog.CreateRuleSet{ID: "r-1", Name: "rules", Body: rules})
	for _, c := range []catalog.MatchmakingConfiguration{
		{ID: "c-1", Name: "plain", AutomaticBackfill: true},
		{ID: "c-2", Name: "careful", AcceptanceRequired: true, AcceptanceTimeout: 10},
	} {
		c.RuleSet, c.RequestTimeout, c.Queues = "rules", 40, []string{arn.Queue(regionID, account, "q")}
		change(catalog.CreateMatchmakingConfiguration{MatchmakingConfiguration: c,
			Refers: []string{"gamesessionqueue/q"}})
	}
	for _, l := range locations {
		w.tell(l, fleet.RegisterCompute{Name: "host-" + l, IPAddress: "10.0.0.1"})
	}
}

func (w *world) fill(b []byte) {
	for i := range b {
		b[i] = byte(w.rng.Uint32())
	}
}

func (w *world) id(kind string) string {
	w.ids++
	return fmt.Sprintf("%s-%d", kind, w.ids)
}

func (w *world) ruleSet(view *catalog.State, c *catalog.MatchmakingConfiguration) (*ruleset.Set, error) {
	r, _ := view.RuleSet(c.RuleSet)
	if w.sets[r.ID] == nil {
		set, err := ruleset.Parse(r.Body)
		if err != nil {
			return nil, err
		}
		w.sets[r.ID] = set
	}
	return w.sets[r.ID], nil
}

// changed wakes those who wait for a ticket.
func (w *world) changed(id string) {
	if t, ok := w.shards[tickets].durable.Matchmaking().Ticket(id); ok {
		w.told[id] = t.Status
	}
}

func room(location string) fleet.RoomID { return fleet.RoomID{Fleet: fleetID, Location: location} }

// room is a fleet location as it is.
func (w *world) room(location string) *fleet.Room {
	r, _ := w.shards[region.ShardOf(room(location), shards)].state.Room(room(location))
	return r
}

// command is carried out, and observed, at once.
func (w *world) command(shard int, c region.Command) (answer any) {
	s := w.shards[shard]
	for len(s.commits) > 0 {
		w.commit(shard)
	}
	facts, answer, err := s.state.Handle(w.now, c)
	if err != nil {
		w.t.Fatalf("%+v: %v", c, err)
	}
	s.commits = append(s.commits, commit{facts: facts})
	w.commit(shard)
	return answer
}

// tell gives a room a command.
func (w *world) tell(location string, c fleet.Command) {
	w.command(region.ShardOf(room(location), shards), region.RoomCommand{Room: room(location), Command: c, Open: true})
}

// drive calls the driver of matchmaking, and queues its requests.
func (w *world) drive(f func(d *Driver)) {
	w.driver.SetNow(event.At(w.now))
	f(w.driver)
	for _, r := range w.driver.Requests(nil) {
		answer := func(result any, err error) { w.drive(func(*Driver) { r.Answer(result, err) }) }
		switch {
		case r.Maker != nil:
			w.makers = append(w.makers, r.Maker)
		case r.Notice != nil:
			w.notices = append(w.notices, r.Notice)
		case r.Work != nil:
			w.beside = append(w.beside, func() { r.Work(); answer(nil, nil) })
		case r.Past != "":
			w.beside = append(w.beside, func() { answer((*placement.Placement)(nil), nil) })
		case r.Place != nil:
			w.beside = append(w.beside, func() { w.startPlacement(r.Place, answer) })
		default:
			w.ask(call{shard: r.Shard, command: r.Command, read: r.Read, answer: answer})
		}
	}
}

// place calls the driver of placements, and queues its requests.
func (w *world) place(f func(m *placer.Machine)) {
	w.placer.SetNow(event.At(w.now))
	f(w.placer)
	for _, r := range w.placer.Requests(nil) {
		answer := func(result any, err error) {
			if r.Answer != nil {
				w.place(func(*placer.Machine) { r.Answer(result, err) })
			}
		}
		if r.Past != nil {
			w.beside = append(w.beside, func() { answer((*fleet.GameSession)(nil), nil) })
			continue
		}
		w.ask(call{shard: r.Shard, command: r.Command, read: r.Read, view: r.View, answer: answer})
	}
}

func (w *world) ask(c call) { w.shards[c.shard].queue = append(w.shards[c.shard].queue, c) }

// startPlacement starts a placement, as control does.
func (w *world) startPlacement(p *Placement, answer func(any, error)) {
	var choice placement.Choice
	var first *fleet.RoomID
	w.place(func(m *placer.Machine) {
		choice = m.Queue(w.shards[0].durable.Catalog(), p.Queue).Choose(&p.Request, 0)
		first = m.First(&choice)
	})
	w.ask(call{
		shard: region.PlacementShardOf(p.Request.ID, shards), answer: answer,
		command: region.PlacementCommand{Command: placement.Start{
			Request: p.Request, Timeout: p.Queue.Timeout, Room: first,
			Trail: placement.Trail{Candidates: choice.Considered},
		}},
	})
}

// lead makes the drivers begin anew. They know no shard until recover.
func (w *world) lead() {
	view := w.shards[0].durable.Catalog().Copy()
	w.drive((*Driver).End)
	w.place((*placer.Machine).End)
	w.drive(func(d *Driver) { d.SetCatalog(view) })
	w.place(func(m *placer.Machine) { m.SetCatalog(view) })
	w.drive((*Driver).Begin)
	w.place((*placer.Machine).Begin)
	for _, s := range w.shards {
		s.led = false
	}
}

// recover shows the drivers the durable state of a shard.
func (w *world) recover(shard int) {
	s := w.shards[shard]
	s.led = true
	view := s.durable.Freeze()
	w.place(func(m *placer.Machine) { m.Recover(shard, view) })
	w.drive(func(d *Driver) { d.Recover(shard, view) })
	if shard == tickets {
		for id := range w.told { // whoever waits looks again
			w.changed(id)
		}
	}
}

// handle carries out the oldest request of a shard.
func (w *world) handle(shard int) {
	s := w.shards[shard]
	r := s.queue[0]
	s.queue = s.queue[1:]
	c := commit{answer: r.answer}
	switch {
	case r.view != nil:
		view := s.state.Freeze()
		c.answer = func(_ any, err error) {
			w.beside = append(w.beside, func() {
				if err == nil {
					r.view(view)
				}
				r.answer(nil, err)
			})
		}
	case r.read != nil:
		r.read(s.state)
	default:
		c.facts, c.result, c.err = s.state.Handle(w.now, r.command)
	}
	s.commits = append(s.commits, c)
}

// expire has a shard do what is due.
func (w *world) expire(shard int) {
	s := w.shards[shard]
	if due := s.state.Deadline(); !due.IsZero() && !due.After(w.now) {
		if facts := s.state.Expire(w.now); len(facts) > 0 {
			s.commits = append(s.commits, commit{facts: facts})
		}
	}
}

// store makes facts durable.
func (w *world) store(shard int, facts []event.Fact) {
	s := w.shards[shard]
	for _, f := range facts {
		s.journal = append(s.journal, f)
		s.durable.Apply(f)
		switch e := f.Body.(type) {
		case *matchmaking.MatchProposed:
			for _, id := range e.Tickets {
				if w.in[id] != "" {
					w.t.Errorf("ticket %s is in the matches %s and %s", id, w.in[id], e.ID)
				}
				w.in[id] = e.ID
			}
		case *matchmaking.MatchDropped:
			maps.DeleteFunc(w.in, func(_, match string) bool { return match == e.ID })
		case *matchmaking.MatchCompleted:
			maps.DeleteFunc(w.in, func(_, match string) bool { return match == e.ID })
		}
	}
}

// commit makes the oldest commit of a shard durable: it is observed, and answered.
func (w *world) commit(shard int) {
	s := w.shards[shard]
	c := s.commits[0]
	s.commits = s.commits[1:]
	w.store(shard, c.facts)
	if s.led {
		w.place(func(m *placer.Machine) { m.Observe(shard, c.facts) })
		w.drive(func(d *Driver) { d.Observe(shard, c.facts) })
	} else if shard == tickets {
		for id := range w.told {
			w.changed(id)
		}
	}
	if c.answer != nil {
		c.answer(c.result, c.err)
	}
}

// crash loses all answers of a shard, and some of what is not durable; the shard begins anew with the rest.
func (w *world) crash(shard int) {
	s := w.shards[shard]
	kept := w.rng.IntN(len(s.commits) + 1)
	lost := s.queue
	for i, c := range s.commits {
		if i < kept {
			w.store(shard, c.facts)
		}
		lost = append(lost, call{answer: c.answer})
	}
	s.commits, s.queue, s.state, s.led = nil, nil, region.New(shard, settings()), false
	for _, f := range s.journal {
		s.state.Apply(f)
	}
	if w.rng.IntN(2) == 0 {
		w.recover(shard)
	}
	for _, c := range lost {
		w.lost(c)
	}
	if w.rng.IntN(4) > 0 {
		w.recover(shard)
	}
}

// lost answers a request of which nobody knows what became.
func (w *world) lost(c call) {
	if c.answer != nil {
		c.answer(nil, fmt.Errorf("%w: %w", ErrUnanswered, placer.ErrUnanswered))
	}
}

// lose loses the answer to a request that waits: it is carried out late.
func (w *world) lose(shard int) {
	s := w.shards[shard]
	i := w.rng.IntN(len(s.queue))
	c := s.queue[i]
	if c.command == nil {
		return
	}
	s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
	w.lost(c)
	w.late = append(w.late, call{shard: shard, command: c.command})
	w.recover(shard)
}
