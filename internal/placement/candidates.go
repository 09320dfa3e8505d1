package placement

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Queue is the part of a queue that determines candidates.
type Queue struct {
	Destinations     []Destination // in the queue's order; unusable ones have no locations
	LatencyPolicies  []LatencyPolicy
	AllowedLocations []string // nil: all
	PriorityOrder    []string // LATENCY, COST, DESTINATION, LOCATION; nil: the default order
	LocationOrder    []string
}

// A Destination is a fleet with the locations that can take game sessions.
type Destination struct {
	Fleet     fleet.ID
	Cost      float64 // per hour
	Locations []string
	Unusable  string // why nothing can be placed there; "" if it is usable
	// Builds are the ids of the builds besides the fleet's own by version, for an EC2-type fleet; nil: the fleet has no
	// versions, and their property has no meaning there.
	Builds map[string]string
}

// A LatencyPolicy is a cap for some time. Policies are sorted by cap, ascending.
type LatencyPolicy struct {
	Cap      int32         // milliseconds, inclusive
	Duration time.Duration // 0: to the end
}

// A Choice lists the candidates of a placement at one time.
type Choice struct {
	Rooms      []fleet.RoomID // best first
	Considered []Considered   // for the trail, bounded: the Rooms in their order, then the dropped ones in the queue's
	Omitted    int
	// Next is the age at which the choice changes by itself (the next latency policy); 0: never.
	Next time.Duration
}

// Candidates returns the fleet locations where a placement of the given age can be tried, sorted by the queue's
// priorities: all of the queue, without those that the destination, the filter, the override or the latency policy in
// force excludes, and for a match those that one of its players does not report. Locations listed by an override come
// first. Source: API reference, StartGameSessionPlacement, PriorityConfiguration, FilterConfiguration,
// PlayerLatencyPolicy; developer guide, game session queues.
func Candidates(q Queue, r *Request, age time.Duration) Choice {
	var few [usualLocations]candidate // on the stack
	candidates := few[:0]
	s := selection{queue: q, request: r}
	if len(r.Latencies) > 0 {
		s.policy, s.next = policyAt(q.LatencyPolicies, age)
		s.latencies = tabulate(r.Latencies, s.policy != nil || r.Match != "")
	}
	for i := range q.Destinations {
		candidates = s.addDestination(i, candidates)
	}
	s.prioritise(candidates)
	return s.choice(candidates)
}

// usualLocations is the usual maximum number of fleet locations in a queue.
const usualLocations = 8

// A selection is the state of Candidates.
type selection struct {
	queue     Queue
	request   *Request
	policy    *LatencyPolicy // in force; nil: none
	next      time.Duration
	latencies *latencies   // nil: the request has none
	dropped   []Considered // the first MaxCandidates
	omitted   int          // further dropped ones
}

// A candidate is a fleet location with its sort keys: less is better.
type candidate struct {
	Considered
	measured    bool // Latency is set
	destination int  // index in the queue
	listed      int  // index in the override, its length for others
	location    int  // index in the queue's LocationOrder, its length for others
}

// addDestination adds the locations of a destination to the candidates, or drops them.
func (s *selection) addDestination(index int, candidates []candidate) []candidate {
	d := &s.queue.Destinations[index]
	switch {
	case s.isRepeated(index):
		s.drop(Considered{Room: fleet.RoomID{Fleet: d.Fleet}, Cost: d.Cost,
			Dropped: "the same fleet is an earlier destination"})
		return candidates
	case len(d.Locations) == 0:
		s.drop(Considered{Room: fleet.RoomID{Fleet: d.Fleet}, Cost: d.Cost,
			Dropped: cmp.Or(d.Unusable, "the fleet has no locations")})
		return candidates
	}
	for _, location := range d.Locations {
		c := candidate{Considered: Considered{Room: fleet.RoomID{Fleet: d.Fleet, Location: location}, Cost: d.Cost},
			destination: index}
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

// isRepeated reports whether a destination is the same fleet as an earlier one, for example by an alias.
func (s *selection) isRepeated(index int) bool {
	id := s.queue.Destinations[index].Fleet
	return id != "" && slices.ContainsFunc(s.queue.Destinations[:index],
		func(d Destination) bool { return d.Fleet == id })
}

// exclusion returns why a location is excluded, or "".
func (s *selection) exclusion(d *Destination, location string) string {
	o := s.request.Override
	switch {
	case d.Unusable != "":
		return d.Unusable
	case Lacks(d.Builds, s.request):
		return "the fleet has no build version " + fleet.VersionOf(s.request.Properties)
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

// Lacks reports whether a request names a build version that is not among those of a fleet: see Destination.
func Lacks(builds map[string]string, r *Request) bool {
	version := fleet.VersionOf(r.Properties)
	return builds != nil && version != "" && builds[version] == ""
}

// CheckVersion rejects, with InvalidRequest, a request that names a build version which no usable destination of the
// queue has.
func CheckVersion(q Queue, r *Request) error {
	version, has := fleet.VersionOf(r.Properties), map[string]bool{}
	usable := 0
	for i := range q.Destinations {
		d := &q.Destinations[i]
		if d.Unusable != "" {
			continue
		}
		usable++
		if !Lacks(d.Builds, r) {
			return nil
		}
		for name := range d.Builds {
			has[name] = true
		}
	}
	if usable == 0 {
		return nil // the trail of the placement has the reasons
	}
	names := "They have none."
	if len(has) > 0 {
		names = "They have " + strings.Join(slices.Sorted(maps.Keys(has)), ", ") + "."
	}
	return fault.New(fault.InvalidRequest, "The game property %s is %.100s, and no fleet of queue %s has that build "+
		"version. %s", fleet.VersionProperty, version, r.Queue, names)
}

// place returns the index of a text in a list; len(list) if it is missing.
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

// CheckOverride rejects, with InvalidRequest, a PriorityConfigurationOverride that contradicts the queue or the
// request. Source: API reference, StartGameSessionPlacement, PriorityConfigurationOverride; developer guide: LOCATION
// must be first.
func CheckOverride(q Queue, r *Request) error {
	switch {
	case r.Override == nil:
		return nil
	case len(r.Latencies) > 0:
		return fault.New(fault.InvalidRequest, "PriorityConfigurationOverride and PlayerLatencies exclude each other: "+
			"leave one of them out")
	case len(q.PriorityOrder) == 0 || q.PriorityOrder[0] != byLocation:
		return fault.New(fault.InvalidRequest,
			"PriorityConfigurationOverride needs a queue whose PriorityOrder begins "+
				"with LOCATION: leave it out or update queue %s", r.Queue)
	}
	return nil
}
