package metrics

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
)

// A sampling collects the values of all entities at one time. Until it is finished, only the sum of a column is used,
// except of durations.
type sampling struct {
	catalog *catalog.State
	sampled []bool // by shard: this node owns it, and has its numbers
	rooms   map[fleet.RoomID]fleet.Counts
	counts  map[entity]counts
	queues  map[entity]waits
	tickets map[string]int

	values map[entity][]aggregate
}

// sample takes the numbers of the shards that this node owns. A shard that does not answer keeps its counts until it
// does.
func (r *Recorder) sample(ctx context.Context, now time.Time) map[entity][]aggregate {
	s := &sampling{
		catalog: r.cfg.Catalog(), sampled: make([]bool, len(r.folds)), rooms: map[fleet.RoomID]fleet.Counts{},
		counts: map[entity]counts{}, queues: map[entity]waits{}, tickets: map[string]int{},
		values: map[entity][]aggregate{},
	}
	for i, f := range r.folds {
		owned := r.cfg.Owned(i)
		if owned {
			asking, cancel := context.WithTimeout(ctx, roomsTime)
			rooms, err := r.cfg.Rooms(asking, i)
			cancel()
			if err != nil {
				continue
			}
			for id, c := range rooms {
				s.rooms[id] = c
			}
			s.sampled[i] = true
		}
		taken, waiting := f.take(event.At(now))
		s.add(taken, waiting, owned)
	}
	s.fleets()
	s.placements()
	s.matchmaking(r.totals)
	s.rest()
	s.derive()
	s.addCalls(r.callsSince())
	for e, columns := range s.values {
		finish(e.family(), columns)
	}
	return s.values
}

// add adds what a fold has counted.
func (s *sampling) add(taken map[entity]counts, w waiting, owned bool) {
	for e, c := range taken {
		have, ok := s.counts[e]
		if !ok {
			s.counts[e] = c
			continue
		}
		for i := range c {
			have[i] = sum(e.family().columns[i].kind, have[i], c[i])
		}
	}
	if !owned {
		return
	}
	for e, more := range w.queues {
		have := s.queues[e]
		s.queues[e] = waits{have.n + more.n, have.seconds + more.seconds}
	}
	for name, n := range w.tickets {
		s.tickets[name] += n
	}
}

// sum adds the value of another part of an entity in the same sample.
func sum(k kind, a, b aggregate) aggregate {
	if k == duration {
		return a.then(b)
	}
	return aggregate{sum: a.sum + b.sum}
}

// entity returns the columns of an entity, with its counts.
func (s *sampling) entity(e entity) []aggregate {
	columns, ok := s.values[e]
	if !ok {
		columns = s.counts[e]
		if delete(s.counts, e); columns == nil {
			columns = make([]aggregate, len(e.family().columns))
		}
		s.values[e] = columns
	}
	return columns
}

// everything is the limit of a page of the catalog that has everything.
const everything = 0

// fleets adds the locations of all fleets in sampled shards.
func (s *sampling) fleets() {
	all, _ := s.catalog.Fleets("", everything)
	for _, f := range all {
		for _, l := range s.catalog.FleetLocations(f.ID) {
			s.room(fleet.RoomID{Fleet: fleet.ID(f.ID), Location: l.Location})
		}
	}
	for id, c := range s.rooms { // of a location that was removed, while it has game sessions
		if c != (fleet.Counts{}) {
			s.room(id)
		}
	}
}

// room adds a fleet location.
func (s *sampling) room(id fleet.RoomID) {
	if !s.sampled[region.ShardOf(id, len(s.sampled))] {
		return
	}
	c, columns := s.rooms[id], s.entity(roomEntity(id))
	active, capacity := s.instances(id, c)
	for column, n := range map[int]int{
		activeInstances: active, idleInstances: max(0, active-c.BusyComputes),
		desiredInstances: int(capacity.Desired), minInstances: int(capacity.Min), maxInstances: int(capacity.Max),
		activeServerProcesses: c.Processes, healthyServerProcesses: c.Healthy,
		activatingGameSessions: c.Activating, activeGameSessions: c.Active,
		availableGameSessions: c.Waiting, concurrentActivatableGameSessions: c.Activatable,
		currentPlayerSessions: c.Players, maximumPlayerSessions: c.MaximumPlayers,
	} {
		columns[column].sum = float64(n)
	}
}

// instances returns the number of active instances of a fleet location, and its capacity. Those of an Anywhere fleet
// are its computes.
func (s *sampling) instances(id fleet.RoomID, c fleet.Counts) (active int, capacity catalog.Capacity) {
	f, ok := s.catalog.Fleet(string(id.Fleet))
	if !ok || f.Managed == nil {
		n := int32(c.Computes)
		return c.Computes, catalog.Capacity{Max: n, Desired: n}
	}
	l, _ := s.catalog.FleetLocation(f.ID, id.Location)
	for _, i := range s.catalog.Instances(f.ID, id.Location) {
		if i.Status == catalog.InstanceActive {
			active++
		}
	}
	return active, l.Capacity
}

// placements adds the queues. Each node has the placements of its shards.
func (s *sampling) placements() {
	all, _ := s.catalog.Queues("", everything)
	for _, q := range all {
		s.entity(entity{set: byQueue, a: q.Name})
		for _, destination := range q.Destinations {
			for _, l := range s.catalog.FleetLocations(s.fleetOf(destination)) {
				s.entity(entity{byQueueLocation, q.Name, l.Location})
			}
		}
	}
	for e, w := range s.queues {
		columns := s.entity(e)
		columns[queueDepth].sum, columns[waitSum].sum = float64(w.n), w.seconds
	}
}

// fleetOf returns the fleet of a queue's destination, which is the ARN of a fleet or an alias; "" if there is none.
func (s *sampling) fleetOf(destination string) string {
	at := strings.LastIndexByte(destination, '/') + 1
	id := destination[at:]
	if !strings.HasPrefix(id, "alias-") {
		return id
	}
	found, err := s.catalog.ResolveAlias(id)
	if err != nil {
		return ""
	}
	return found
}

// matchmaking adds the configurations, on the node that has the tickets, and those of their rules that have been
// evaluated.
func (s *sampling) matchmaking(known map[entity]*total) {
	if !s.sampled[region.MatchmakingShard(len(s.sampled))] {
		return
	}
	all, _ := s.catalog.MatchmakingConfigurations("", "", everything)
	for _, c := range all {
		s.entity(configurationEntity(c.Name))
	}
	for name, n := range s.tickets {
		s.entity(configurationEntity(name))[currentTickets].sum = float64(n)
	}
	for e := range known {
		if e.set != byRule {
			continue
		}
		if _, ok := s.catalog.MatchmakingConfiguration(e.a); ok {
			s.entity(e)
		}
	}
}

// rest adds what was counted for resources that have been deleted since.
func (s *sampling) rest() {
	for e := range s.counts {
		s.entity(e)
	}
}

// derive adds the sums of fleet locations.
func (s *sampling) derive() {
	for e, columns := range s.values {
		if e.set != byFleetLocation {
			continue
		}
		sums := []entity{{set: byFleet, a: e.a}, {set: byLocation, a: e.b}}
		if f, ok := s.catalog.Fleet(e.a); ok {
			for _, group := range f.MetricGroups {
				sums = append(sums, entity{set: byGroup, a: group}, entity{byGroupLocation, group, e.b})
			}
		}
		for _, to := range sums {
			have := s.entity(to)
			for i := range columns {
				have[i] = sum(fleets.columns[i].kind, have[i], columns[i])
			}
		}
	}
}

// finish makes samples of sums, and computes ratios.
func finish(f *family, columns []aggregate) {
	v := make([]float64, len(columns))
	for i := range columns {
		v[i] = columns[i].sum
	}
	for i := range columns {
		switch f.columns[i].kind {
		case ratio:
			columns[i] = aggregate{}
			if value := ratios[f][i](v); !math.IsNaN(value) {
				columns[i] = sample(value)
			}
		case duration:
		default:
			columns[i] = sample(v[i])
		}
	}
}
