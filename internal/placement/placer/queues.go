package placer

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Queue is a game session queue with its destinations resolved. It is made once for as long as the catalog says the
// same of it, and is not changed.
type Queue struct {
	view     *catalog.State // the newest one that says so
	queue    *catalog.Queue
	resolved placement.Queue
	fleets   map[fleet.ID]fleetLimits
	plain    placement.Choice // of all requests without latencies and override

	// With aliases that have weights, what is resolved for a turn is variants[turns[n-1]]; resolved and plain are those
	// of the first turn. Without, both are nil.
	turns    []uint8
	variants []variant
}

// A variant is a queue whose aliases with weights lead to certain fleets first.
type variant struct {
	first    []string // fleets, in the order of the aliases
	resolved placement.Queue
	plain    placement.Choice
}

// fleetLimits are the settings of a fleet for its new game sessions.
type fleetLimits struct {
	activations       int // at a time, per compute
	activationTimeout time.Duration
	protection        string
	builds            map[string]string // see placement.Destination
}

// buildFor returns the id of the build whose process a request needs in a fleet; "": the fleet's own.
func (l *fleetLimits) buildFor(r *placement.Request) string {
	if len(l.builds) == 0 {
		return ""
	}
	return l.builds[fleet.VersionOf(r.Properties)]
}

// limited reports whether the number of activations may keep a process from its use.
func (l fleetLimits) limited() bool { return l.activations < math.MaxInt32 }

// Queue resolves a queue of a view of the catalog.
func (m *Machine) Queue(view *catalog.State, q *catalog.Queue) *Queue {
	old := m.queues[q.Name]
	if old != nil && old.view == view && old.queue == q {
		return old
	}
	s := m.resolveQueue(view, q)
	if old != nil && old.queue.ID == q.ID && reflect.DeepEqual(old.resolved, s.resolved) &&
		reflect.DeepEqual(old.fleets, s.fleets) && reflect.DeepEqual(old.turns, s.turns) &&
		reflect.DeepEqual(old.variants, s.variants) {
		old.view, old.queue = view, q
		return old
	}
	if old != nil {
		m.revised, m.due = true, true
	}
	m.queues[q.Name] = s
	return s
}

// queueOf finds the queue of a placement as it is now; nil if it was deleted.
func (m *Machine) queueOf(r *placement.Request) *Queue {
	q, ok := m.catalog.Queue(r.Queue)
	if !ok || q.ID != r.QueueID {
		return nil
	}
	return m.Queue(m.catalog, q)
}

func (m *Machine) resolveQueue(view *catalog.State, q *catalog.Queue) *Queue {
	s := &Queue{view: view, queue: q, fleets: map[fleet.ID]fleetLimits{}}
	s.resolved = placement.Queue{AllowedLocations: q.AllowedLocations, PriorityOrder: q.PriorityOrder,
		LocationOrder: q.LocationOrder}
	for _, policy := range q.LatencyPolicies {
		s.resolved.LatencyPolicies = append(s.resolved.LatencyPolicies, placement.LatencyPolicy{
			Cap: policy.Cap, Duration: time.Duration(policy.Seconds) * time.Second,
		})
	}
	if m.resolveWeights(view, s) {
		s.resolved, s.plain = s.variants[0].resolved, s.variants[0].plain
		return s
	}
	for _, text := range q.Destinations {
		s.resolved.Destinations = append(s.resolved.Destinations, m.resolveDestination(view, text, s.fleets))
	}
	s.plain = placement.Candidates(s.resolved, &placement.Request{}, 0)
	return s
}

// resolveWeights resolves each turn of a queue; false if none of its destinations has weights.
func (m *Machine) resolveWeights(view *catalog.State, s *Queue) bool {
	weighted := map[string]*catalog.Alias{}
	for _, text := range s.queue.Destinations {
		id, ok := arn.ParseAlias(text)
		if a, found := view.Alias(id); ok && found && len(a.Weights) > 0 && !m.cfg.Elsewhere(text) {
			weighted[text] = a
		}
	}
	if len(weighted) == 0 {
		return false
	}
	for n := range catalog.WeightSum {
		v := variant{resolved: s.resolved}
		for _, text := range s.queue.Destinations {
			if a := weighted[text]; a != nil {
				v.first = append(v.first, a.Turn(n))
			}
		}
		at := slices.IndexFunc(s.variants, func(other variant) bool { return slices.Equal(other.first, v.first) })
		if at < 0 {
			at = len(s.variants)
			m.resolveTurn(view, s, weighted, &v)
			s.variants = append(s.variants, v)
		}
		s.turns = append(s.turns, uint8(at)) //nolint:gosec // below catalog.WeightSum
	}
	return true
}

// resolveTurn resolves the destinations of a variant. The other fleets of an alias follow the one whose turn it is,
// and cost no less, so that they are tried only if that has no room.
func (m *Machine) resolveTurn(view *catalog.State, s *Queue, weighted map[string]*catalog.Alias, v *variant) {
	first := v.first
	for _, text := range s.queue.Destinations {
		a := weighted[text]
		if a == nil {
			v.resolved.Destinations = append(v.resolved.Destinations, m.resolveDestination(view, text, s.fleets))
			continue
		}
		lead := m.resolveFleet(view, first[0], s.fleets)
		v.resolved.Destinations = append(v.resolved.Destinations, lead)
		for _, w := range a.Weights {
			if w.Fleet != first[0] {
				other := m.resolveFleet(view, w.Fleet, s.fleets)
				other.Cost = max(other.Cost, lead.Cost)
				v.resolved.Destinations = append(v.resolved.Destinations, other)
			}
		}
		first = first[1:]
	}
	v.plain = placement.Candidates(v.resolved, &placement.Request{}, 0)
}

// resolveDestination finds the fleet of a destination and where it takes game sessions.
func (m *Machine) resolveDestination(
	view *catalog.State, text string, fleets map[fleet.ID]fleetLimits,
) placement.Destination {
	id, err := m.destination(view, text)
	if err != nil {
		return placement.Destination{Fleet: fleet.ID(id), Unusable: fault.Of(err).Message}
	}
	return m.resolveFleet(view, id, fleets)
}

// resolveFleet returns where a fleet takes game sessions.
func (m *Machine) resolveFleet(view *catalog.State, id string, fleets map[fleet.ID]fleetLimits) placement.Destination {
	to := placement.Destination{Fleet: fleet.ID(id)}
	f, err := view.LiveFleet(id)
	switch {
	case err != nil:
		to.Unusable = fault.Of(err).Message
		return to
	case f.Status != catalog.StatusActive:
		to.Unusable = fmt.Sprintf("Fleet %s is %s", id, f.Status)
		return to
	}
	to.Cost, _ = strconv.ParseFloat(f.Cost, 64) // "" is 0; the catalog takes nothing else than decimals
	for _, l := range view.FleetLocations(id) {
		if l.Status != catalog.StatusDeleting {
			to.Locations = append(to.Locations, l.Location)
		}
	}
	if len(to.Locations) == 0 {
		to.Unusable = fmt.Sprintf("Fleet %s has no location that takes game sessions", id)
	}
	to.Builds = f.BuildsByVersion()
	fleets[to.Fleet] = fleetLimits{int(f.MaxConcurrentActivations()), f.ActivationTimeout(), string(f.ProtectionPolicy),
		to.Builds}
	return to
}

// destination is the id of the fleet that the ARN of a fleet or an alias leads to.
func (m *Machine) destination(view *catalog.State, text string) (fleetID string, err error) {
	if m.cfg.Elsewhere(text) {
		return "", fault.New(fault.NotFound, "Destination %s is in another Region", text)
	}
	if id, ok := arn.ParseFleet(text); ok {
		return id, nil
	}
	id, ok := arn.ParseAlias(text)
	if !ok {
		return "", fault.New(fault.InvalidRequest, "Destination %s is not the ARN of a fleet or an alias", text)
	}
	return view.ResolveAlias(id)
}

// Choose returns the rooms for a request of the given age. The caller must not change them.
func (s *Queue) Choose(r *placement.Request, age time.Duration) placement.Choice {
	resolved, plain := &s.resolved, &s.plain
	if len(s.turns) > 0 && r.Turn > 0 {
		v := &s.variants[s.turns[int(r.Turn-1)%len(s.turns)]]
		resolved, plain = &v.resolved, &v.plain
	}
	if len(r.Latencies) == 0 && r.Override == nil && fleet.VersionOf(r.Properties) == "" {
		return *plain
	}
	return placement.Candidates(*resolved, r, age)
}

// Weighted reports whether the choice depends on the turn of the request.
func (s *Queue) Weighted() bool { return len(s.turns) > 0 }

// Check reports an override of a request that the queue leaves no room for, as placement.CheckOverride does, and a
// build version that none of its fleets has.
func (s *Queue) Check(r *placement.Request) error {
	if err := placement.CheckOverride(s.resolved, r); err != nil {
		return err
	}
	return placement.CheckVersion(s.resolved, r)
}
