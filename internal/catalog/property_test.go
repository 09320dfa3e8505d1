package catalog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestRandomCommands lets many random commands loose on a small world, in which
// they often meet, and holds the invariants after each. The seed names the
// subtest.
func TestRandomCommands(t *testing.T) {
	const seeds = 180
	tried, ran := map[reflect.Type]bool{}, 0
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := &world{r: rand.New(rand.NewPCG(seed, 1)), now: t0}
			if seed%2 == 0 {
				w.first = w.managed()
			}
			if seed%4 == 0 {
				w.first = append(w.first, ActivateInstance{"i-0", lifecycleIDs()})
			}
			live, journal := New(smallLimits()), []byte(nil)
			accepted, refused := 0, 0
			var frozen []*State
			var looked [][]byte
			for step := range 650 {
				if step%20 == 0 {
					frozen = append(frozen, live.Copy())
					looked = append(looked, encode(t, live))
				}
				var events []Event
				if w.r.IntN(8) == 0 {
					w.pass(live)
					events = live.Expire(w.now)
				} else {
					c := w.command()
					var err error
					if events, err = live.Decide(w.now, c); err != nil {
						if fault.Of(err).Kind == fault.InternalService || events != nil {
							t.Fatalf("step %d, %+v: %v with %d events", step, c, err, len(events))
						}
						refused++
						continue
					}
					accepted++
					tried[reflect.TypeOf(c)] = tried[reflect.TypeOf(c)] || len(events) > 0
				}
				journal = appendEvents(t, journal, events)
				for _, e := range events {
					live.Apply(e)
				}
				checkInvariants(t, live)
				if t.Failed() {
					t.Fatalf("after step %d:\n%s", step, dump(events))
				}
			}
			if accepted < 50 || refused < 50 {
				t.Errorf("%d commands accepted and %d refused: the world is too tame", accepted, refused)
			}
			for i, s := range frozen {
				if !bytes.Equal(encode(t, s), looked[i]) {
					t.Errorf("the copy before step %d has changed", i*20)
				}
				checkDerived(t, s)
			}
			replayed := replay(t, journal)
			checkEqual(t, "replay of the journal", replayed, live)
			if replayed.AccessVersion() != live.AccessVersion() {
				t.Error("the replay has another access version")
			}
			checkEqual(t, "snapshot", decode(t, smallLimits(), encode(t, live)), live)
			drain(t, live)
			ran++
		})
	}
	for _, entry := range Commands {
		kind := reflect.TypeOf(entry.Type).Elem()
		if entry.Level >= AccessLevel && ran == seeds && !tried[kind] {
			t.Errorf("no %s had an event", kind.Name())
		}
	}
}

// drain ages out all that can.
func drain(t *testing.T, s *State) {
	t.Helper()
	for i := 0; s.Deadline() != 0; i++ {
		events := s.Expire(s.Deadline())
		if len(events) == 0 || i > 100_000 {
			t.Fatalf("deadline %d passes without end", s.Deadline())
		}
		for _, e := range events {
			s.Apply(e)
		}
	}
	checkInvariants(t, s)
	if n := s.fleetEvents.Len() + s.creators.Len() + s.SignIns(); n != 0 || s.fleets.Len() != s.liveFleets {
		t.Errorf("%d fleet events, windows and sign-ins, %d fleets of which %d live remain", n, s.fleets.Len(),
			s.liveFleets)
	}
}

func appendEvents(t *testing.T, journal []byte, events []Event) []byte {
	t.Helper()
	buf := bytes.NewBuffer(journal)
	for _, e := range events {
		if err := types.Append(buf, event.Fact{Body: e}); err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

func replay(t *testing.T, journal []byte) *State {
	t.Helper()
	s := New(smallLimits())
	for len(journal) > 0 {
		f, rest, err := types.Next(journal)
		if err != nil {
			t.Fatal(err)
		}
		s.Apply(f.Body.(Event))
		journal = rest
	}
	return s
}

func checkEqual(t *testing.T, what string, got, want *State) {
	t.Helper()
	if !bytes.Equal(encode(t, got), encode(t, want)) {
		t.Errorf("%s: the records differ", what)
	}
	g, w := derivedOf(got), derivedOf(want)
	for _, d := range []*derived{&g, &w} {
		for key := range d.indexes { // checkDerived holds the records to those compared above
			d.indexes[key] = nil
		}
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s: what is derived differs", what)
	}
}

// checkInvariants holds what is true of every reachable catalog.
func checkInvariants(t *testing.T, s *State) {
	t.Helper()
	checkDerived(t, s)
	l := s.limits
	if s.locations.Len() > l.Locations || s.liveFleets > l.Fleets || s.aliases.Len() > l.Aliases {
		t.Errorf("over a limit: %d locations, %d fleets, %d aliases", s.locations.Len(), s.liveFleets, s.aliases.Len())
	}
	s.fleets.Scan(func(id string, _ *Fleet) bool {
		if n, _ := s.tallies.Get(id); n.computes > l.ComputesPerFleet || n.events > maxFleetEvents ||
			s.countLocations(id) > l.LocationsPerFleet {
			t.Errorf("fleet %s holds too much: %+v", id, n)
		}
		return true
	})
	s.fleetLocations.Scan(func(_ string, fl *FleetLocation) bool {
		if _, err := s.LiveFleet(fl.Fleet); err != nil {
			t.Errorf("location %s of %s: %v", fl.Location, fl.Fleet, err)
		}
		return true
	})
	s.computes.Scan(func(_ string, c *ComputeClaim) bool {
		if _, ok := s.FleetLocation(c.Fleet, c.Location); !ok {
			t.Errorf("compute %s of %s is at %s, which the fleet does not have", c.Name, c.Fleet, c.Location)
		}
		return true
	})
	s.tags.Scan(func(resource string, r *ResourceTags) bool {
		if !s.Taggable(resource) || len(r.Tags) == 0 || len(r.Tags) > l.TagsPerResource {
			t.Errorf("%s has %d tags", resource, len(r.Tags))
		}
		return true
	})
	if s.queues.Len() > l.Queues || s.configurations.Len() > l.MatchmakingConfigurations ||
		s.ruleSets.Len() > l.RuleSets {
		t.Errorf("over a limit: %d queues, %d configurations, %d rule sets", s.queues.Len(), s.configurations.Len(),
			s.ruleSets.Len())
	}
	s.queues.Scan(func(name string, q *Queue) bool {
		if err := q.check(); err != nil || q.Name != name || q.Created > q.Updated {
			t.Errorf("queue %s: %v", name, err)
		}
		return true
	})
	s.configurations.Scan(func(name string, m *MatchmakingConfiguration) bool {
		if err := m.check(s, nil); err != nil || m.Name != name || m.Created > m.Updated { // so its rule set exists
			t.Errorf("configuration %s: %v", name, err)
		}
		return true
	})
	s.creators.Scan(func(_ string, w *CreatorWindow) bool {
		if f, err := s.LiveFleet(w.Fleet); err != nil || f.CreationLimit == nil || len(w.At) == 0 {
			t.Errorf("window %+v: %v", w, err)
		}
		return true
	})
	checkNumbers(t, s)
	checkBuilds(t, s)
	checkAccess(t, s)
	checkMachines(t, s)
	checkInstances(t, s)
	checkScaling(t, s)
}

// checkNumbers holds that a fleet's events are numbered without gaps and belong
// to a fleet that is known.
func checkNumbers(t *testing.T, s *State) {
	t.Helper()
	var before *FleetEvent
	s.fleetEvents.Scan(func(_ string, e *FleetEvent) bool {
		if before != nil && before.Fleet == e.Fleet && before.Number+1 != e.Number {
			t.Errorf("event %d of %s follows %d", e.Number, e.Fleet, before.Number)
		}
		if _, ok := s.fleets.Get(e.Fleet); !ok {
			t.Errorf("event %d of the unknown fleet %s", e.Number, e.Fleet)
		}
		before = e
		return true
	})
}

// A world makes random commands.
type world struct {
	r     *rand.Rand
	now   event.Time
	ids   int
	first []Command // before all others
}

// pass lets time go by: a little, or up to a little after the next deadline.
func (w *world) pass(s *State) {
	w.now += event.Time(w.r.Int64N(int64(20 * minute)))
	if d := s.Deadline(); d != 0 && w.r.IntN(6) == 0 {
		w.now = max(w.now, d+event.Time(w.r.Int64N(int64(minute))))
	}
}

func (w *world) some(prefix string, n int) string { return fmt.Sprint(prefix, w.r.IntN(n)) }
func (w *world) fleet() string                    { return w.some("fleet-", 5) }
func (w *world) location() string                 { return w.some("custom-", 4) }

func (w *world) queue() string         { return w.some("queue-", 3) }
func (w *world) configuration() string { return w.some("configuration-", 3) }
func (w *world) ruleSet() string       { return w.some("set-", 3) }

// destinations are ARNs, and the keys that must exist for them.
func (w *world) destinations() (arns, keys []string) {
	for range w.r.IntN(3) {
		key := fleetKind + w.fleet()
		arns, keys = append(arns, "arn:aws:gamelift:us-west-2::"+key), append(keys, key)
	}
	return arns, keys
}

// queues are as destinations, of a matchmaking configuration.
func (w *world) queues() (arns, keys []string) {
	if w.r.IntN(2) == 0 {
		return []string{}, nil
	}
	key := queueKind + w.queue()
	return []string{"arn:aws:gamelift:us-west-2::" + key}, []string{key}
}

// matchmakingCommand is about a queue, a configuration or a rule set.
func (w *world) matchmakingCommand() Command {
	switch w.r.IntN(10) {
	case 0, 1:
		arns, keys := w.destinations()
		return CreateQueue{Queue: Queue{ID: w.id(), Name: w.queue(), Timeout: w.r.Int32N(700), Destinations: arns},
			Refers: keys, Tags: w.tags()}
	case 2:
		arns, keys := w.destinations()
		return UpdateQueue{Name: w.queue(), Timeout: ptr(w.r.Int32N(700)), Destinations: arns, Refers: keys,
			LatencyPolicies: []LatencyPolicy{{w.r.Int32N(99), 0}, {w.r.Int32N(99), 0}}}
	case 3:
		return DeleteQueue{w.queue()}
	case 4, 5:
		arns, keys := w.queues()
		m := MatchmakingConfiguration{ID: w.id(), Name: w.configuration(), RuleSet: w.ruleSet(), Queues: arns,
			Standalone: w.r.IntN(2) == 0, RequestTimeout: 60}
		return CreateMatchmakingConfiguration{MatchmakingConfiguration: m, Refers: keys, Tags: w.tags()}
	case 6:
		arns, keys := w.queues()
		return UpdateMatchmakingConfiguration{Name: w.configuration(), RuleSet: ptr(w.ruleSet()), Queues: arns,
			Refers:     keys,
			Standalone: ptr(w.r.IntN(2) == 0)}
	case 7:
		return DeleteMatchmakingConfiguration{w.configuration()}
	case 8:
		return CreateRuleSet{ID: w.id(), Name: w.ruleSet(), Body: "{}", Tags: w.tags()}
	default:
		return DeleteRuleSet{w.ruleSet()}
	}
}

func (w *world) id() string {
	w.ids++
	return fmt.Sprint("event-", w.ids)
}

func (w *world) eventIDs(n int) (ids []string) {
	for range n {
		ids = append(ids, w.id())
	}
	return ids
}

func (w *world) locations() (names []string) {
	for range 1 + w.r.IntN(2) {
		names = append(names, w.location())
	}
	return names
}

func (w *world) tags() (tags []Tag) {
	for range w.r.IntN(3) {
		tags = append(tags, Tag{w.some("key-", 5), w.some("", 3)})
	}
	return tags
}

func (w *world) policy() *CreationLimit {
	if w.r.IntN(3) == 0 {
		return nil
	}
	return &CreationLimit{w.r.Int32N(4), w.r.Int32N(60)}
}

func (w *world) routing() Routing {
	switch w.r.IntN(5) {
	case 0:
		return Routing{Type: RoutingTerminal, Message: "closed"}
	case 1:
		return Routing{Type: RoutingTerminal, Fleet: w.fleet()}
	}
	return Routing{Type: RoutingSimple, Fleet: w.fleet()}
}

func (w *world) resource() string {
	return [...]string{
		fleetKind + w.fleet(), locationKind + w.location(), aliasKind + w.some("alias-", 3),
		queueKind + w.queue(), configurationKind + w.configuration(), ruleSetKind + w.ruleSet(),
		buildKind + w.build(),
	}[w.r.IntN(7)]
}

func (w *world) command() Command {
	if len(w.first) > 0 {
		c := w.first[0]
		w.first = w.first[1:]
		return c
	}
	if w.r.IntN(3) == 0 {
		return w.accessCommand()
	}
	if w.r.IntN(10) == 0 {
		return w.machineCommand()
	}
	if w.r.IntN(6) == 0 {
		return w.instanceCommand()
	}
	if w.r.IntN(10) == 0 {
		return w.scalingCommand()
	}
	switch w.r.IntN(40) {
	case 0, 1, 2:
		return CreateLocation{w.location(), w.tags()}
	case 3:
		return DeleteLocation{w.location()}
	case 4, 5, 6:
		c := CreateFleet{ID: w.fleet(), ComputeType: "ANYWHERE",
			Attributes: Attributes{Name: "arena", CreationLimit: w.policy()}, Locations: w.locations(), Tags: w.tags()}
		c.EventIDs = w.eventIDs(c.EventCount())
		return c
	case 7:
		return UpdateFleetAttributes{Fleet: w.fleet(), Name: ptr(w.some("name-", 9)), CreationLimit: w.policy(),
			EventID:          w.id(),
			ProtectionPolicy: ptr([...]ProtectionPolicy{NoProtection, FullProtection}[w.r.IntN(2)])}
	case 8:
		return DeleteFleet{w.fleet()}
	case 9:
		return FinishFleetDeletion{w.fleet(), w.id()}
	case 10:
		names := w.locations()
		return AddFleetLocations{w.fleet(), names, w.eventIDs(len(names))}
	case 11:
		names := w.locations()
		return RemoveFleetLocations{w.fleet(), names, w.eventIDs(len(names))}
	case 12:
		return FinishFleetLocationRemoval{w.fleet(), w.location(), w.id()}
	case 13:
		return UpdateRuntimeConfiguration{w.fleet(), RuntimeConfiguration{ServerProcesses: []ServerProcess{{"/game", "",
			w.r.Int32N(60)}}}}
	case 14:
		return RecordFleetEvent{w.fleet(), w.some("event-", w.ids+1), "GENERIC_EVENT", "m",
			w.now - event.Time(w.r.Int64N(int64(day))), 1}
	case 15, 16:
		return ClaimCompute{w.fleet(), w.some("host-", 4), w.location()}
	case 17:
		return ReleaseCompute{w.fleet(), w.some("host-", 4)}
	case 18:
		return CreateAlias{ID: w.some("alias-", 3), Name: "live", Routing: w.routing(), Tags: w.tags()}
	case 19:
		return UpdateAlias{ID: w.some("alias-", 3), Name: ptr(w.some("name-", 9)), Routing: ptr(w.routing())}
	case 20:
		return DeleteAlias{w.some("alias-", 3)}
	case 21:
		return TagResource{w.resource(), w.tags()}
	case 22:
		return UntagResource{w.resource(), []string{w.some("key-", 5)}}
	case 23:
		if w.r.IntN(2) == 0 {
			return DeleteAccessKey{w.some("AKIA", 3)}
		}
		return PutAccessKey{ID: w.some("AKIA", 3), SealedSecret: []byte{1}, Name: "k", Created: w.now}
	case 26, 27, 28, 29, 30, 31, 32, 33, 34, 35:
		return w.matchmakingCommand()
	case 36, 37, 38, 39:
		return w.buildCommand()
	case 24:
		return ReleaseCreation{w.fleet(), w.some("creator-", 2), w.now - event.Time(w.r.Int64N(3))}
	default:
		return ClaimCreation{w.fleet(), w.some("creator-", 2), w.now}
	}
}
