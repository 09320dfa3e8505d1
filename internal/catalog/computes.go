package catalog

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A ComputeClaim reserves a compute's name in a fleet for one location, which has all other data of the compute.
type ComputeClaim struct {
	Fleet    string `cbor:"1,keyasint,omitempty"`
	Name     string `cbor:"2,keyasint,omitempty"`
	Location string `cbor:"3,keyasint,omitempty"`
}

// ClaimCompute reserves a name in a fleet for a compute at a location. Repeating it for the same location changes
// nothing. NotFound; InvalidFleetStatus for a fleet that is being deleted (an Anywhere fleet is never merely "not
// ready"); Conflict if the name is used at another location; InvalidRequest for a location that is not ACTIVE in the
// fleet; LimitExceeded.
type ClaimCompute struct {
	Fleet    string `cbor:"1,keyasint,omitzero"`
	Name     string `cbor:"2,keyasint,omitzero"`
	Location string `cbor:"3,keyasint,omitzero"`
}

// ReleaseCompute releases a name. An unused name changes nothing.
type ReleaseCompute struct {
	Fleet string `cbor:"1,keyasint,omitzero"`
	Name  string `cbor:"2,keyasint,omitzero"`
}

// ComputeClaimed follows ClaimCompute.
type ComputeClaimed struct {
	Fleet    string `cbor:"1,keyasint,omitempty"`
	Name     string `cbor:"2,keyasint,omitempty"`
	Location string `cbor:"3,keyasint,omitempty"`
}

// ComputeReleased follows ReleaseCompute. Deleting a location (FleetLocationRemoved) or fleet (FleetTerminated)
// releases its names too.
type ComputeReleased struct {
	Fleet string `cbor:"1,keyasint,omitempty"`
	Name  string `cbor:"2,keyasint,omitempty"`
}

func (c ClaimCompute) decide(s *State, _ event.Time) ([]Event, error) {
	f, err := s.activeFleet(c.Fleet)
	switch {
	case err != nil:
		return nil, err
	case f.Managed != nil:
		return nil, fault.New(fault.InvalidRequest, "Fleet %s is of compute type EC2: its instances are its computes. "+
			"Register computes in fleets of compute type ANYWHERE only.", c.Fleet)
	}
	if c.Location == "" {
		return nil, fault.New(fault.InvalidRequest, "Location is required for Anywhere compute type.")
	}
	if l, ok := s.FleetLocation(c.Fleet, c.Location); !ok || l.Status != StatusActive {
		return nil, fault.New(fault.InvalidRequest, "Location %s is not an active location of fleet %s",
			c.Location, c.Fleet)
	}
	switch held, ok := s.computes.Get(join(c.Fleet, c.Name)); {
	case ok && held.Location == c.Location:
		return nil, nil
	case ok:
		return nil, fault.New(fault.Conflict, "Compute %s of fleet %s is registered at location %s",
			c.Name, c.Fleet, held.Location)
	}
	if t, _ := s.tallies.Get(c.Fleet); t.computes >= s.limits.ComputesPerFleet {
		return nil, fault.New(fault.LimitExceeded, "The limit of %d computes in fleet %s is reached",
			s.limits.ComputesPerFleet, c.Fleet)
	}
	return []Event{&ComputeClaimed{Fleet: c.Fleet, Name: c.Name, Location: c.Location}}, nil
}

func (c ReleaseCompute) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.computes.Get(join(c.Fleet, c.Name)); !ok {
		return nil, nil
	}
	return []Event{&ComputeReleased{Fleet: c.Fleet, Name: c.Name}}, nil
}

func (e *ComputeClaimed) apply(s *State) {
	s.putCompute(&ComputeClaim{Fleet: e.Fleet, Name: e.Name, Location: e.Location})
}

func (e *ComputeReleased) apply(s *State) { s.removeCompute(e.Fleet, e.Name) }

func (s *State) putCompute(c *ComputeClaim) {
	if _, replaced := s.computes.Set(join(c.Fleet, c.Name), c); !replaced {
		s.count(c.Fleet, tally{computes: 1})
	}
}

func (s *State) removeCompute(fleet, name string) {
	if _, ok := s.computes.Delete(join(fleet, name)); ok {
		s.count(fleet, tally{computes: -1})
	}
}

func (s *State) dropComputesAt(fleet, location string) {
	var names []string
	walk(&s.computes, fleet, func(c *ComputeClaim) bool {
		if c.Location == location {
			names = append(names, c.Name)
		}
		return true
	})
	for _, name := range names {
		s.removeCompute(fleet, name)
	}
}

func (s *State) dropComputes(fleet string) {
	drop(&s.computes, fleet)
	t, _ := s.tallies.Get(fleet)
	s.count(fleet, tally{computes: -t.computes})
}

// A tally counts the contents of a fleet.
type tally struct{ computes, events int }

// count adds to a fleet's tally; zeros are not kept.
func (s *State) count(fleet string, more tally) {
	t, _ := s.tallies.Get(fleet)
	t.computes += more.computes
	t.events += more.events
	if t == (tally{}) {
		s.tallies.Delete(fleet)
		return
	}
	s.tallies.Set(fleet, t)
}

// ComputeLocation returns the location of a compute's name.
func (s *State) ComputeLocation(fleet, name string) (location string, ok bool) {
	c, ok := s.computes.Get(join(fleet, name))
	if !ok {
		return "", false
	}
	return c.Location, true
}

// Computes returns the claims of a fleet with names after the given one, in order, at one location or ("") all. A limit
// below 1 is none; more reports that there are further ones.
func (s *State) Computes(fleet, location, after string, limit int) (claims []*ComputeClaim, more bool) {
	return page(&s.computes, join(fleet, ""), after, limit, func(c *ComputeClaim) bool {
		return location == "" || c.Location == location
	})
}
