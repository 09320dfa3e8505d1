package catalog

import (
	"fmt"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// SetCapacity changes the capacity of an EC2-type fleet at a location: the fields that are not nil. A changed limit
// moves the desired number between the limits, if it does not come with the change. NotFound; InvalidFleetStatus;
// InvalidRequest for an Anywhere fleet, for limits or a desired number that contradict each other, and for MinSize
// while the location scales to and from zero; LimitExceeded for more instances than the service allows.
type SetCapacity struct {
	Fleet    string `cbor:"1,keyasint,omitzero"`
	Location string `cbor:"2,keyasint,omitzero"`
	Min      *int32 `cbor:"3,keyasint,omitzero"`
	Max      *int32 `cbor:"4,keyasint,omitzero"`
	Desired  *int32 `cbor:"5,keyasint,omitzero"`
	// ZeroMinutes is the time without activity after which the location scales to zero; 0: it does not.
	ZeroMinutes *int32 `cbor:"6,keyasint,omitzero"`
	EventID     string `cbor:"7,keyasint,omitzero"` // for the fleet event
}

// Scale changes the desired number of instances at a location, as scaling decided while it was From. It has no effect
// if it is another by now, or if scaling was suspended. The number is kept between the location's limits and below the
// limit of instances. NotFound; InvalidRequest for an Anywhere fleet.
type Scale struct {
	Fleet    string   `cbor:"1,keyasint,omitzero"`
	Location string   `cbor:"2,keyasint,omitzero"`
	From     int32    `cbor:"3,keyasint,omitzero"`
	Desired  int32    `cbor:"4,keyasint,omitzero"`
	Reason   string   `cbor:"5,keyasint,omitzero"` // for the fleet event
	Acted    []string `cbor:"6,keyasint,omitzero"` // scaling policies whose wait begins
	EventID  string   `cbor:"7,keyasint,omitzero"` // for the fleet event
}

// StopScaling suspends or resumes scaling of an EC2-type fleet at a location. NotFound; InvalidRequest for an Anywhere
// fleet.
type StopScaling struct {
	Fleet    string `cbor:"1,keyasint,omitzero"`
	Location string `cbor:"2,keyasint,omitzero"`
	Stopped  bool   `cbor:"3,keyasint,omitzero"`
}

// CapacitySet follows SetCapacity and Scale.
type CapacitySet struct {
	Fleet       string   `cbor:"1,keyasint,omitempty"`
	Location    string   `cbor:"2,keyasint,omitempty"`
	Capacity    Capacity `cbor:"3,keyasint"`
	ZeroMinutes int32    `cbor:"4,keyasint,omitempty"`
}

// ScalingStopped follows StopScaling.
type ScalingStopped struct {
	Fleet    string `cbor:"1,keyasint,omitempty"`
	Location string `cbor:"2,keyasint,omitempty"`
	Stopped  bool   `cbor:"3,keyasint,omitempty"`
}

func (c SetCapacity) decide(s *State, now event.Time) ([]Event, error) {
	l, err := s.scalable(c.Fleet, c.Location)
	if err != nil {
		return nil, err
	}
	if err := s.checkActive(l); err != nil {
		return nil, err
	}
	next := *l
	set(&next.ZeroMinutes, c.ZeroMinutes)
	if c.Min != nil && next.ZeroMinutes > 0 {
		return nil, fault.New(fault.InvalidRequest, "MinSize cannot be set while ZeroCapacityStrategy is "+
			"SCALE_TO_AND_FROM_ZERO, which changes it between 0 and 1. Leave it out, or set the strategy to MANUAL.")
	}
	set(&next.Capacity.Min, c.Min)
	set(&next.Capacity.Max, c.Max)
	set(&next.Capacity.Desired, c.Desired)
	if c.Desired == nil {
		next.Capacity.Desired = next.Capacity.within(l.Capacity.Desired)
	}
	next.setMinimum()
	if err := next.Capacity.check(); err != nil {
		return nil, err
	}
	if next.Capacity.Desired > l.Capacity.Desired {
		if most := s.roomFor(l); int(next.Capacity.Desired) > most {
			return nil, fault.New(fault.LimitExceeded, "The service allows %d instances in all fleets, so that this "+
				"location can have at most %d", s.limits.Instances, most)
		}
	}
	return s.capacityEvents(now, l, &next, "the capacity was set", c.EventID)
}

func (c Scale) decide(s *State, now event.Time) ([]Event, error) {
	l, err := s.scalable(c.Fleet, c.Location)
	if err != nil {
		return nil, err
	}
	next := *l
	next.Capacity.Desired = min(next.desiredBetween(c.Desired), int32(max(s.roomFor(l), int(l.Capacity.Desired))))
	next.setMinimum()
	if l.Capacity.Desired != c.From || l.Stopped || next == *l || s.checkActive(l) != nil {
		return nil, nil
	}
	events, err := s.capacityEvents(now, l, &next, c.Reason, c.EventID)
	for _, name := range c.Acted {
		if _, ok := s.scalingPolicies.Get(join(c.Fleet, name)); ok {
			events = append(events, &ScalingPolicyActed{Fleet: c.Fleet, Name: name, Location: c.Location, At: now})
		}
	}
	return events, err
}

func (c StopScaling) decide(s *State, _ event.Time) ([]Event, error) {
	l, err := s.scalable(c.Fleet, c.Location)
	if err != nil || l.Stopped == c.Stopped {
		return nil, err
	}
	return []Event{&ScalingStopped{Fleet: c.Fleet, Location: c.Location, Stopped: c.Stopped}}, nil
}

// scalable returns a location of an EC2-type fleet, or NotFound or InvalidRequest.
func (s *State) scalable(fleet, location string) (*FleetLocation, error) {
	if _, err := s.managedFleet(fleet); err != nil {
		return nil, err
	}
	l, ok := s.fleetLocations.Get(join(fleet, location))
	if !ok {
		return nil, fault.New(fault.NotFound, "Fleet %s has no location %s", fleet, location)
	}
	return l, nil
}

// managedFleet returns an EC2-type fleet, or NotFound or InvalidRequest.
func (s *State) managedFleet(id string) (*Fleet, error) {
	f, err := s.LiveFleet(id)
	if err != nil {
		return nil, err
	}
	if f.Managed == nil {
		return nil, fault.New(fault.InvalidRequest, "Fleet %s is of compute type ANYWHERE: its capacity is the "+
			"computes that you register, and their ports are yours. Create a fleet of compute type EC2 to scale it.",
			id)
	}
	return f, nil
}

// checkActive rejects a location that is not ACTIVE, or whose fleet is not, with InvalidFleetStatus.
func (s *State) checkActive(l *FleetLocation) error {
	if _, err := s.activeFleet(l.Fleet); err != nil {
		return err
	}
	if status := s.present(l).Status; status != StatusActive {
		return fault.New(fault.InvalidFleetStatus, "Location %s of fleet %s is %s and must be ACTIVE", l.Location,
			l.Fleet, status)
	}
	return nil
}

// roomFor returns the highest desired number of a location within the limit of instances of all fleets.
func (s *State) roomFor(l *FleetLocation) int {
	most := s.limits.Instances + int(l.Capacity.Desired)
	s.fleetLocations.Scan(func(_ string, other *FleetLocation) bool {
		most -= int(other.Capacity.Desired)
		return true
	})
	return max(0, most)
}

// capacityEvents returns the events that replace a location by next, if they differ.
func (s *State) capacityEvents(now event.Time, old, next *FleetLocation, why, id string) ([]Event, error) {
	if *next == *old {
		return nil, nil
	}
	notes, err := s.note(now, old.Fleet, []string{id}, []note{{code: codeFleetScaling, message: fmt.Sprintf(
		"Capacity of location %s of fleet %s changed from %v to %v: %s", old.Location, old.Fleet, old.Capacity,
		next.Capacity, why)}})
	if err != nil {
		return nil, err
	}
	return append([]Event{&CapacitySet{Fleet: old.Fleet, Location: old.Location, Capacity: next.Capacity,
		ZeroMinutes: next.ZeroMinutes}}, notes...), nil
}

// changeFleetLocation replaces a location of a fleet by a changed copy.
func (s *State) changeFleetLocation(fleet, location string, change func(l *FleetLocation)) {
	if old, ok := s.fleetLocations.Get(join(fleet, location)); ok {
		l := *old
		change(&l)
		s.fleetLocations.Set(join(fleet, location), &l)
	}
}

// String is for fleet events.
func (c Capacity) String() string {
	return fmt.Sprintf("%d desired (minimum %d, maximum %d)", c.Desired, c.Min, c.Max)
}

// within returns the number nearest to desired that the limits allow.
func (c Capacity) within(desired int32) int32 { return min(max(desired, c.Min), c.Max) }

// check rejects contradictions.
func (c Capacity) check() error {
	if c.Min > c.Max || c.Desired < c.Min || c.Desired > c.Max {
		return fault.New(fault.InvalidRequest, "The capacity would be %v. DesiredInstances must be at least MinSize "+
			"and at most MaxSize; set them in one request.", c)
	}
	return nil
}

// desiredBetween returns the number nearest to desired that scaling can set.
func (l *FleetLocation) desiredBetween(desired int32) int32 {
	limits := l.Capacity
	if l.ZeroMinutes > 0 {
		limits.Min = 0
	}
	return limits.within(desired)
}

// setMinimum changes the minimum of a location that scales to and from zero: it follows the desired number.
func (l *FleetLocation) setMinimum() {
	if l.ZeroMinutes > 0 {
		l.Capacity.Min = min(1, l.Capacity.Desired)
	}
}

func (e *CapacitySet) apply(s *State) {
	s.changeFleetLocation(e.Fleet, e.Location, func(l *FleetLocation) {
		l.Capacity, l.ZeroMinutes = e.Capacity, e.ZeroMinutes
	})
}

func (e *ScalingStopped) apply(s *State) {
	s.changeFleetLocation(e.Fleet, e.Location, func(l *FleetLocation) { l.Stopped = e.Stopped })
}
