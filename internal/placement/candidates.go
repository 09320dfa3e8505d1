package placement

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/fleet"
)

// A Queue is what a queue says about where to place.
type Queue struct {
	Destinations     []Destination // in the queue's order; those that lead nowhere have no locations
	LatencyPolicies  []LatencyPolicy
	AllowedLocations []string // nil: all
	PriorityOrder    []string // LATENCY, COST, DESTINATION, LOCATION; nil: the default order
	LocationOrder    []string
}

// A Destination is a fleet with what can take game sessions in it.
type Destination struct {
	Fleet     fleet.ID
	Cost      float64 // per hour
	Locations []string
	Unusable  string // why nothing can be placed there; "" if something can
}

// A LatencyPolicy is a cap, in force for a time; policies stand ascending by cap.
type LatencyPolicy struct {
	Cap      int32         // milliseconds, itself allowed
	Duration time.Duration // 0: to the end
}

// A Choice is where a placement can be tried at one moment.
type Choice struct {
	Rooms      []fleet.RoomID // best first
	Considered []Considered   // for the trail, bounded: the Rooms in their order, then those that were dropped in the queue's
	Omitted    int
	// Next is the age at which the choice changes by itself (the next latency
	// policy); 0: never.
	Next time.Duration
}

// Candidates chooses where a placement of the given age can be tried: all fleet
// locations of the queue, without those that the destination, the filter, the override
// or the latency policy in force excludes, and for a match those that one of its players
// does not report, by the queue's priorities. A location that an override lists comes
// before all others, each time anew.
// Source: API reference, StartGameSessionPlacement, PriorityConfiguration,
// FilterConfiguration, PlayerLatencyPolicy; developer guide, game session queues.
func Candidates(q Queue, r *Request, age time.Duration) Choice {
	var few [usualLocations]candidate // on the stack
	candidates := few[:0]
	s := selection{queue: q, request: r}
	if len(r.Latencies) > 0 {
		s.policy, s.next = policyAt(q.LatencyPolicies, age)
		s.latencies = tabulate(r.Latencies, s.policy != nil || r.Match != "")
	}
	for i := range q.Destinations {
		candidates = s.look(i, candidates)
	}
	s.prioritise(candidates)
	return s.choice(candidates)
}

// usualLocations is how many fleet locations the queues of most games have, at most.
const usualLocations = 8

// A selection is a choice in the making.
type selection struct {
	queue     Queue
	request   *Request
	policy    *LatencyPolicy // in force; nil: none
	next      time.Duration
	latencies *latencies   // nil: the request has none
	dropped   []Considered // the first MaxCandidates
	omitted   int          // dropped ones that are not in dropped
}

// A candidate is a fleet location with what it is ranked by: less is better.
type candidate struct {
	Considered
	measured    bool // Latency is that of somebody
	destination int  // index in the queue
	listed      int  // index in the override, behind it for others
	location    int  // index in the queue's LocationOrder, behind it for others
}

// look adds the locations of a destination to the candidates, or drops them.
func (s *selection) look(index int, candidates []candidate) []candidate {
	d := &s.queue.Destinations[index]
	switch {
	case s.again(index):
		s.drop(Considered{Room: fleet.RoomID{Fleet: d.Fleet}, Cost: d.Cost, Dropped: "the same fleet is an earlier destination"})
		return candidates
	case len(d.Locations) == 0:
		s.drop(Considered{Room: fleet.RoomID{Fleet: d.Fleet}, Cost: d.Cost, Dropped: cmp.Or(d.Unusable, "the fleet has no locations")})
		return candidates
	}
	for _, location := range d.Locations {
		c := candidate{Considered: Considered{Room: fleet.RoomID{Fleet: d.Fleet, Location: location}, Cost: d.Cost}, destination: index}
		c.Latency, c.measured = s.latencies.average(location)
		if c.Dropped = s.exclusion(d, location); c.Dropped != "" {
			s.drop(c.Considered)
			continue
		}
		c.location = place(s.queue.LocationOrder, location)
		if o := s.request.Override; o != nil {
			c.listed = place(o.LocationOrder, location)
		}
		candidates = append(candidates, c)
	}
	return candidates
}

// again reports whether a destination is the same fleet as an earlier one, as when an
// alias of it is a destination too.
func (s *selection) again(index int) bool {
	id := s.queue.Destinations[index].Fleet
	return id != "" && slices.ContainsFunc(s.queue.Destinations[:index], func(d Destination) bool { return d.Fleet == id })
}

// exclusion says why nothing can be placed in a location; "" if something can.
func (s *selection) exclusion(d *Destination, location string) string {
	o := s.request.Override
	switch {
	case d.Unusable != "":
		return d.Unusable
	case s.queue.AllowedLocations != nil && !slices.Contains(s.queue.AllowedLocations, location):
		return "not in AllowedLocations"
	case o != nil && o.ListOnly && !slices.Contains(o.LocationOrder, location):
		return "not in the LocationOrder of PriorityConfigurationOverride, and PlacementFallbackStrategy is NONE"
	case s.policy != nil:
		return s.latencies.violation(location, s.policy.Cap)
	case s.latencies != nil && s.request.Match != "":
		return s.latencies.unreported(location)
	}
	return ""
}

// place is where a text stands in a list; len(list) if it does not.
func place(list []string, text string) int {
	if i := slices.Index(list, text); i >= 0 {
		return i
	}
	return len(list)
}

func (s *selection) drop(c Considered) {
	if len(s.dropped) == MaxCandidates {
		s.omitted++
		return
	}
	s.dropped = append(s.dropped, c)
}

// choice is what has come out.
func (s *selection) choice(candidates []candidate) Choice {
	c := Choice{Next: s.next, Omitted: s.omitted, Rooms: make([]fleet.RoomID, len(candidates))}
	c.Considered = make([]Considered, 0, len(candidates)+len(s.dropped))
	for i := range candidates {
		c.Rooms[i] = candidates[i].Room
		c.Considered = append(c.Considered, candidates[i].Considered)
	}
	c.Considered, c.Omitted = bounded(append(c.Considered, s.dropped...), s.omitted)
	return c
}

// CheckOverride refuses, with InvalidRequest, a PriorityConfigurationOverride that a queue
// or the request itself leaves no room for.
// Source: API reference, StartGameSessionPlacement, PriorityConfigurationOverride; developer
// guide: LOCATION must stand first.
func CheckOverride(q Queue, r *Request) error {
	switch {
	case r.Override == nil:
		return nil
	case len(r.Latencies) > 0:
		return fault.New(fault.InvalidRequest, "PriorityConfigurationOverride and PlayerLatencies exclude each other: leave one of them out")
	case len(q.PriorityOrder) == 0 || q.PriorityOrder[0] != byLocation:
		return fault.New(fault.InvalidRequest, "PriorityConfigurationOverride needs a queue whose PriorityOrder begins with LOCATION: leave it out or update queue %s", r.Queue)
	}
	return nil
}
