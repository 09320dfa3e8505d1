package placer

import (
	"fmt"
	"math"
	"reflect"
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
}

// fleetLimits are the settings of a fleet for its new game sessions.
type fleetLimits struct {
	activations       int // at a time, per compute
	activationTimeout time.Duration
	protection        string
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
		reflect.DeepEqual(old.fleets, s.fleets) {
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
	for _, text := range q.Destinations {
		s.resolved.Destinations = append(s.resolved.Destinations, m.resolveDestination(view, text, s.fleets))
	}
	s.plain = placement.Candidates(s.resolved, &placement.Request{}, 0)
	return s
}

// resolveDestination finds the fleet of a destination and where it takes game sessions.
func (m *Machine) resolveDestination(
	view *catalog.State, text string, fleets map[fleet.ID]fleetLimits,
) placement.Destination {
	id, err := m.destination(view, text)
	if err != nil {
		return placement.Destination{Fleet: fleet.ID(id), Unusable: fault.Of(err).Message}
	}
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
	fleets[to.Fleet] = fleetLimits{int(f.MaxConcurrentActivations()), f.ActivationTimeout(), string(f.ProtectionPolicy)}
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
	if len(r.Latencies) == 0 && r.Override == nil {
		return s.plain
	}
	return placement.Candidates(s.resolved, r, age)
}

// Check reports an override of a request that the queue leaves no room for, as placement.CheckOverride does.
func (s *Queue) Check(r *placement.Request) error { return placement.CheckOverride(s.resolved, r) }
