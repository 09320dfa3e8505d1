package catalog

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// DeleteFleet begins to delete a fleet, which may have failed: it becomes DELETING and accepts no new locations,
// computes and instances. NotFound; InvalidFleetStatus if it is DELETING.
type DeleteFleet struct {
	Fleet string `cbor:"1,keyasint,omitzero"`
}

// FinishFleetDeletion makes a DELETING fleet TERMINATED when its computes and sessions have ended, and deletes its
// locations, compute names, tags and creations. Aliases of it stay. It can be repeated. NotFound; InvalidFleetStatus
// for a fleet that is not being deleted, or has instances.
type FinishFleetDeletion struct {
	Fleet   string `cbor:"1,keyasint,omitzero"`
	EventID string `cbor:"2,keyasint,omitzero"` // for FLEET_DELETED
}

// FleetDeletionStarted follows DeleteFleet.
type FleetDeletionStarted struct {
	Fleet string `cbor:"1,keyasint,omitempty"`
}

// FleetTerminated follows FinishFleetDeletion.
type FleetTerminated struct {
	Fleet string     `cbor:"1,keyasint,omitempty"`
	At    event.Time `cbor:"2,keyasint,omitempty"`
}

// FleetForgotten deletes the record of a fleet, Retention after it was terminated.
type FleetForgotten struct {
	Fleet string `cbor:"1,keyasint,omitempty"`
}

func (c DeleteFleet) decide(s *State, _ event.Time) ([]Event, error) {
	f, err := s.LiveFleet(c.Fleet)
	switch {
	case err != nil:
		return nil, err
	case f.Status == StatusDeleting:
		return nil, fault.New(fault.InvalidFleetStatus, "Fleet %s is DELETING already", c.Fleet)
	}
	return []Event{&FleetDeletionStarted{Fleet: c.Fleet}}, nil
}

func (c FinishFleetDeletion) decide(s *State, now event.Time) ([]Event, error) {
	f, ok := s.fleets.Get(c.Fleet)
	switch {
	case !ok:
		return nil, fleetNotFound(c.Fleet)
	case f.Status == StatusTerminated:
		return nil, nil
	case f.Status != StatusDeleting:
		return nil, fault.New(fault.InvalidFleetStatus, "Fleet %s is %s and not being deleted", c.Fleet, f.Status)
	case len(s.Instances(c.Fleet, "")) > 0:
		return nil, fault.New(fault.InvalidFleetStatus, "Fleet %s has instances that have not ended", c.Fleet)
	}
	notes, err := s.note(now, c.Fleet, []string{c.EventID},
		[]note{{codeFleetDeleted, "Fleet " + c.Fleet + " was deleted", ""}})
	if err != nil {
		return nil, err
	}
	return append([]Event{&FleetTerminated{Fleet: c.Fleet, At: now}}, notes...), nil
}

func (e *FleetDeletionStarted) apply(s *State) {
	s.changeFleet(e.Fleet, func(f *Fleet) { f.Status = StatusDeleting })
}

func (e *FleetTerminated) apply(s *State) {
	s.changeFleet(e.Fleet, func(f *Fleet) {
		f.Status, f.Terminated, f.Runtime = StatusTerminated, e.At, nil
	})
	s.releaseFleet(e.Fleet)
}

func (e *FleetForgotten) apply(s *State) {
	s.removeFleet(e.Fleet)
}

// releaseFleet deletes all records of a fleet except itself and its fleet events.
func (s *State) releaseFleet(id string) {
	s.takeCreators(id)
	drop(&s.fleetLocations, id)
	drop(&s.scalingPolicies, id)
	s.endInstances(id, "")
	s.dropComputes(id)
	s.tags.Delete(fleetKind + id)
}

func (s *State) removeFleet(id string) {
	s.releaseFleet(id)
	s.dropFleetEvents(id)
	s.uncountFleet(id)
	s.fleets.Delete(id)
}
