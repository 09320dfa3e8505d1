package catalog

import (
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// WeightSum is the sum of the weights of an alias, and the number of game sessions after which its fleets have been
	// chosen exactly as often as their weights are.
	WeightSum = 100

	maxWeights = 10
)

// An AliasWeight is the share of new game sessions that a fleet of an alias gets, in percent.
type AliasWeight struct {
	Fleet  string `cbor:"1,keyasint,omitempty"`
	Weight int32  `cbor:"2,keyasint,omitempty"`
}

// SetAliasWeights has an alias lead to several fleets, or with no weights to the one that it led to most. NotFound for
// the alias and for a fleet, InvalidRequest.
type SetAliasWeights struct {
	ID      string        `cbor:"1,keyasint,omitzero"`
	Weights []AliasWeight `cbor:"2,keyasint,omitzero"`
}

// AliasWeightsSet follows SetAliasWeights, and without weights an UpdateAlias with a routing. The alias leads to the
// fleet with the highest weight, the first of several, wherever it can lead to one alone. Without weights the routing
// stays.
type AliasWeightsSet struct {
	ID      string        `cbor:"1,keyasint,omitempty"`
	Weights []AliasWeight `cbor:"2,keyasint,omitempty"`
	At      event.Time    `cbor:"3,keyasint,omitempty"`
}

func (c SetAliasWeights) decide(s *State, now event.Time) ([]Event, error) {
	a, ok := s.aliases.Get(c.ID)
	switch {
	case !ok:
		return nil, aliasNotFound(c.ID)
	case slices.Equal(a.Weights, c.Weights):
		return nil, nil
	}
	if err := c.check(s); err != nil {
		return nil, err
	}
	return []Event{&AliasWeightsSet{c.ID, slices.Clone(c.Weights), now}}, nil
}

func (c SetAliasWeights) check(s *State) error {
	sum := int64(0)
	for i, w := range c.Weights {
		switch {
		case i == maxWeights:
			return fault.New(fault.InvalidRequest, "An alias can have weights for at most %d fleets", maxWeights)
		case w.Weight < 1 || w.Weight > WeightSum:
			return fault.New(fault.InvalidRequest, "The weight of fleet %.200s is %d; it must be 1 to %d percent",
				w.Fleet, w.Weight, WeightSum)
		case slices.ContainsFunc(c.Weights[:i], func(other AliasWeight) bool { return other.Fleet == w.Fleet }):
			return fault.New(fault.InvalidRequest, "Fleet %.200s has two weights", w.Fleet)
		}
		if _, err := s.LiveFleet(w.Fleet); err != nil {
			return err
		}
		sum += int64(w.Weight)
	}
	if len(c.Weights) > 0 && sum != WeightSum {
		return fault.New(fault.InvalidRequest, "The sum of the weights is %d; it must be %d", sum, WeightSum)
	}
	return nil
}

func (e *AliasWeightsSet) apply(s *State) {
	old, ok := s.aliases.Get(e.ID)
	if !ok {
		return
	}
	a := *old
	a.Weights, a.Updated = e.Weights, e.At
	if len(e.Weights) > 0 {
		a.Routing = Routing{Type: RoutingSimple, Fleet: heaviest(e.Weights)}
	}
	s.aliases.Set(e.ID, &a)
}

func heaviest(weights []AliasWeight) string {
	return slices.MaxFunc(weights, func(a, b AliasWeight) int { return int(a.Weight) - int(b.Weight) }).Fleet
}

// Turn returns the fleet whose turn is the n-th new game session of an alias with weights, n from 0 to WeightSum - 1.
// Over all of them, in any order, each fleet has as many turns as its weight, and they are spread evenly.
func (a *Alias) Turn(n int) string {
	current := make([]int32, len(a.Weights)) // smooth weighted round-robin
	for ; ; n-- {
		best := 0
		for i, w := range a.Weights {
			if current[i] += w.Weight; current[i] > current[best] {
				best = i
			}
		}
		if n <= 0 {
			return a.Weights[best].Fleet
		}
		current[best] -= WeightSum
	}
}
