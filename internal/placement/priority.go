package placement

import (
	"cmp"
	"slices"
)

// The criteria of a queue's PriorityOrder. Source: API reference, PriorityConfiguration.
const (
	byLatency     = "LATENCY"     // the lower average of the players' latencies
	byCost        = "COST"        // the lower cost per hour of the fleet
	byDestination = "DESTINATION" // the earlier destination
	byLocation    = "LOCATION"    // the earlier in LocationOrder, then by name
)

// The orders of queues without a PriorityOrder, for requests with and without latencies. Source: API reference,
// StartGameSessionPlacement.
var (
	latencyOrder     = []string{byLatency, byCost, byDestination, byLocation}
	destinationOrder = []string{byDestination, byLocation}
)

// priorities returns the sort criteria, the most important first. Criteria missing in a PriorityOrder come last.
func (s *selection) priorities() []string {
	switch {
	case len(s.queue.PriorityOrder) == 0 && s.latencies == nil:
		return destinationOrder
	case len(s.queue.PriorityOrder) == 0:
		return latencyOrder
	}
	order := slices.Clip(s.queue.PriorityOrder)
	for _, criterion := range latencyOrder {
		if !slices.Contains(order, criterion) {
			order = append(order, criterion)
		}
	}
	return order
}

// prioritise sorts the candidates, the best first. No two are equal.
func (s *selection) prioritise(candidates []candidate) {
	if len(candidates) < 2 {
		return
	}
	order := s.priorities()
	slices.SortFunc(candidates, func(a, b candidate) int {
		result := cmp.Compare(a.listed, b.listed)
		for i := 0; result == 0 && i < len(order); i++ {
			result = compare(&a, &b, order[i])
		}
		return result
	})
}

func compare(a, b *candidate, criterion string) int {
	switch criterion {
	case byLatency:
		return compareLatency(a, b)
	case byCost:
		return cmp.Compare(a.Cost, b.Cost)
	case byDestination:
		return cmp.Compare(a.destination, b.destination)
	case byLocation:
		return cmp.Or(cmp.Compare(a.location, b.location), cmp.Compare(a.Room.Location, b.Room.Location))
	default:
		return 0
	}
}

// compareLatency sorts locations without reports last.
func compareLatency(a, b *candidate) int {
	switch {
	case a.measured && b.measured:
		return cmp.Compare(a.Latency, b.Latency)
	case a.measured:
		return -1
	case b.measured:
		return 1
	default:
		return 0
	}
}
