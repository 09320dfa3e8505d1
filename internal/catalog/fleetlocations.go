package catalog

import (
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const customPrefix = "custom-"

// FleetLocation is one of a fleet's locations. The stored Status of an Anywhere fleet is ACTIVE or DELETING; State's
// read methods return NOT_FOUND if the location was deleted, and DELETING if the fleet is.
type FleetLocation struct {
	Fleet    string   `cbor:"1,keyasint,omitempty"`
	Location string   `cbor:"2,keyasint,omitempty"`
	Status   Status   `cbor:"3,keyasint,omitempty"`
	Capacity Capacity `cbor:"4,keyasint,omitzero"` // of an EC2-type fleet
	// Stopped reports that automatic scaling is suspended here (AUTO_SCALING is a stopped action).
	Stopped bool `cbor:"5,keyasint,omitempty"`
	// ZeroMinutes is the time without activity after which the location scales to zero; 0: it does not.
	ZeroMinutes int32    `cbor:"6,keyasint,omitempty"`
	Shortage    Shortage `cbor:"7,keyasint,omitzero"` // of instances of an EC2-type fleet
}

// AddFleetLocations adds locations to an ACTIVE fleet: to an Anywhere fleet ACTIVE at once (although the API answers
// with NEW), to an EC2-type fleet NEW. NotFound for the fleet or a location, InvalidFleetStatus, Conflict for a
// location that the fleet has, InvalidRequest for repeated or non-custom names, UnsupportedRegion for a location of an
// EC2-type fleet without machines, LimitExceeded.
type AddFleetLocations struct {
	Fleet     string   `cbor:"1,keyasint,omitzero"`
	Locations []string `cbor:"2,keyasint,omitzero"`
	EventIDs  []string `cbor:"3,keyasint,omitzero"` // for the fleet events: one per location
}

// RemoveFleetLocations begins to remove locations from an ACTIVE fleet: they become DELETING, if they are not yet. All
// locations of an Anywhere fleet may be removed. NotFound for the fleet or a location that it does not have,
// InvalidFleetStatus, InvalidRequest for repeated names and for the home of an EC2-type fleet.
type RemoveFleetLocations struct {
	Fleet     string   `cbor:"1,keyasint,omitzero"`
	Locations []string `cbor:"2,keyasint,omitzero"`
	EventIDs  []string `cbor:"3,keyasint,omitzero"` // for the fleet events: one per location
}

// FinishFleetLocationRemoval removes a location whose computes are deregistered, with its compute names. It can be
// repeated. NotFound for the fleet; InvalidRequest for a location that is not being removed, or has instances.
type FinishFleetLocationRemoval struct {
	Fleet    string `cbor:"1,keyasint,omitzero"`
	Location string `cbor:"2,keyasint,omitzero"`
	EventID  string `cbor:"3,keyasint,omitzero"` // for LOCATION_STATE_DELETED
}

// FleetLocationsAdded follows AddFleetLocations.
type FleetLocationsAdded struct {
	Fleet     string   `cbor:"1,keyasint,omitempty"`
	Locations []string `cbor:"2,keyasint,omitempty"`
}

// FleetLocationRemovalStarted follows RemoveFleetLocations, one per location.
type FleetLocationRemovalStarted struct {
	Fleet    string `cbor:"1,keyasint,omitempty"`
	Location string `cbor:"2,keyasint,omitempty"`
}

// FleetLocationRemoved follows FinishFleetLocationRemoval.
type FleetLocationRemoved struct {
	Fleet    string `cbor:"1,keyasint,omitempty"`
	Location string `cbor:"2,keyasint,omitempty"`
}

func (c AddFleetLocations) decide(s *State, now event.Time) ([]Event, error) {
	f, err := s.activeFleet(c.Fleet)
	if err != nil {
		return nil, err
	}
	for _, location := range c.Locations {
		if _, ok := s.fleetLocations.Get(join(c.Fleet, location)); ok {
			return nil, fault.New(fault.Conflict, "Fleet %s already has location %s", c.Fleet, location)
		}
	}
	if f.Managed != nil {
		if err := s.checkManagedLocations(c.Locations, s.countLocations(c.Fleet)); err != nil {
			return nil, err
		}
		return []Event{&ManagedLocationsAdded{Fleet: c.Fleet, Locations: slices.Clone(c.Locations)}}, nil
	}
	if err := s.checkNewLocations(c.Locations, s.countLocations(c.Fleet)); err != nil {
		return nil, err
	}
	var notes []note
	for _, location := range c.Locations {
		notes = append(notes, locationNote(codeLocationStateActive, c.Fleet, location, StatusActive))
	}
	noted, err := s.note(now, c.Fleet, c.EventIDs, notes)
	if err != nil {
		return nil, err
	}
	return append([]Event{&FleetLocationsAdded{Fleet: c.Fleet, Locations: slices.Clone(c.Locations)}}, noted...), nil
}

func (s *State) checkNewLocations(names []string, others int) error {
	if len(names) == 0 {
		return errNoCustomLocation()
	}
	if name, ok := repeated(names); ok {
		return fault.New(fault.InvalidRequest, "Locations names %s more than once", name)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, customPrefix) {
			return errNoCustomLocation()
		}
		if _, ok := s.locations.Get(name); !ok {
			return locationNotFound(name)
		}
	}
	if others+len(names) > s.limits.LocationsPerFleet {
		return fault.New(fault.LimitExceeded, "A fleet can have at most %d locations", s.limits.LocationsPerFleet)
	}
	return nil
}

func errNoCustomLocation() error {
	return fault.New(fault.InvalidRequest, "Locations must contain at least one custom location for compute type "+
		"ANYWHERE, and no others")
}

func (s *State) countLocations(fleet string) (n int) {
	walk(&s.fleetLocations, fleet, func(*FleetLocation) bool { n++; return true })
	return n
}

func (c RemoveFleetLocations) decide(s *State, now event.Time) ([]Event, error) {
	f, err := s.activeFleet(c.Fleet)
	if err != nil {
		return nil, err
	}
	if name, ok := repeated(c.Locations); ok {
		return nil, fault.New(fault.InvalidRequest, "Locations names %s more than once", name)
	}
	if f.Managed != nil && slices.Contains(c.Locations, f.Managed.Home) {
		return nil, fault.New(fault.InvalidRequest, "Location %s is the home of fleet %s and cannot be removed. Set "+
			"its capacity to 0 instead.", f.Managed.Home, c.Fleet)
	}
	var events []Event
	var notes []note
	for _, location := range c.Locations {
		l, ok := s.fleetLocations.Get(join(c.Fleet, location))
		if !ok {
			return nil, fault.New(fault.NotFound, "Fleet %s has no location %s", c.Fleet, location)
		}
		if l.Status == StatusDeleting {
			continue
		}
		events = append(events, &FleetLocationRemovalStarted{Fleet: c.Fleet, Location: location})
		notes = append(notes, locationNote(codeLocationStateDeleting, c.Fleet, location, StatusDeleting))
	}
	noted, err := s.note(now, c.Fleet, c.EventIDs, notes)
	if err != nil {
		return nil, err
	}
	return append(events, noted...), nil
}

func (c FinishFleetLocationRemoval) decide(s *State, now event.Time) ([]Event, error) {
	if _, err := s.LiveFleet(c.Fleet); err != nil {
		return nil, err
	}
	l, ok := s.fleetLocations.Get(join(c.Fleet, c.Location))
	if !ok {
		return nil, nil
	}
	if l.Status != StatusDeleting {
		return nil, fault.New(fault.InvalidRequest, "Location %s of fleet %s is not being removed", c.Location, c.Fleet)
	}
	if len(s.Instances(c.Fleet, c.Location)) > 0 {
		return nil, fault.New(fault.InvalidRequest, "Location %s of fleet %s has instances that have not ended",
			c.Location, c.Fleet)
	}
	notes, err := s.note(now, c.Fleet, []string{c.EventID},
		[]note{locationNote(codeLocationStateDeleted, c.Fleet, c.Location, "DELETED")})
	if err != nil {
		return nil, err
	}
	return append([]Event{&FleetLocationRemoved{Fleet: c.Fleet, Location: c.Location}}, notes...), nil
}

func (e *FleetLocationsAdded) apply(s *State) {
	for _, location := range e.Locations {
		s.fleetLocations.Set(join(e.Fleet, location), &FleetLocation{Fleet: e.Fleet, Location: location,
			Status: StatusActive})
	}
}

func (e *FleetLocationRemovalStarted) apply(s *State) {
	if old, ok := s.fleetLocations.Get(join(e.Fleet, e.Location)); ok {
		l := *old
		l.Status = StatusDeleting
		s.fleetLocations.Set(join(e.Fleet, e.Location), &l)
	}
}

func (e *FleetLocationRemoved) apply(s *State) {
	s.fleetLocations.Delete(join(e.Fleet, e.Location))
	s.endInstances(e.Fleet, e.Location)
	s.dropComputesAt(e.Fleet, e.Location)
}

// FleetLocation returns one of a fleet's locations with its current status.
func (s *State) FleetLocation(fleet, location string) (FleetLocation, bool) {
	l, ok := s.fleetLocations.Get(join(fleet, location))
	if !ok {
		return FleetLocation{}, false
	}
	return s.present(l), true
}

// FleetLocations returns a fleet's locations by name, with their current status. A TERMINATED fleet has none.
func (s *State) FleetLocations(fleet string) (locations []FleetLocation) {
	walk(&s.fleetLocations, fleet, func(l *FleetLocation) bool {
		locations = append(locations, s.present(l))
		return true
	})
	return locations
}

// custom reports whether the location is not the region itself.
func (l *FleetLocation) custom() bool { return strings.HasPrefix(l.Location, customPrefix) }

// present returns l with the status that follows from the fleet and the location.
func (s *State) present(l *FleetLocation) FleetLocation {
	now := *l
	if f, ok := s.fleets.Get(l.Fleet); ok && f.Status != StatusActive && !f.beginning() {
		now.Status = f.Status
	} else if _, ok := s.locations.Get(l.Location); !ok && l.Status != StatusDeleting && l.custom() {
		now.Status = StatusNotFound // unless it is DELETING: a removal must be finished
	}
	return now
}
