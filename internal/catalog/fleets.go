package catalog

import (
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Status is the status of a fleet or of one of its locations. Source: API reference, FleetStatus.
type Status string

// The statuses of fleets and their locations. An Anywhere fleet has only those from StatusActive to StatusNotFound.
const (
	StatusActive     Status = "ACTIVE"
	StatusDeleting   Status = "DELETING"
	StatusTerminated Status = "TERMINATED"
	StatusNotFound   Status = "NOT_FOUND" // only of a location: it was deleted

	StatusNew         Status = "NEW"
	StatusDownloading Status = "DOWNLOADING"
	StatusValidating  Status = "VALIDATING"
	StatusBuilding    Status = "BUILDING"
	StatusActivating  Status = "ACTIVATING"
	StatusError       Status = "ERROR"
)

const computeTypeAnywhere = "ANYWHERE"

// A Fleet is an Anywhere fleet or an EC2-type fleet.
type Fleet struct {
	ID         string     `cbor:"1,keyasint,omitempty"`
	Status     Status     `cbor:"2,keyasint,omitempty"`
	Created    event.Time `cbor:"3,keyasint,omitempty"`
	Terminated event.Time `cbor:"4,keyasint,omitempty"` // zero if not TERMINATED
	// Runtime is nil when none was given, and again once the fleet is TERMINATED.
	Runtime *RuntimeConfiguration `cbor:"5,keyasint,omitempty"`
	Managed *Managed              `cbor:"6,keyasint,omitempty"` // nil: an Anywhere fleet
	Attributes
}

// CreateFleet creates an Anywhere fleet, ACTIVE at once. InvalidRequest for another compute type, for missing, repeated
// or non-custom locations and for invalid attributes; NotFound for an unknown location; Conflict if the id is used;
// LimitExceeded, TaggingFailed.
type CreateFleet struct {
	ID          string                `cbor:"1,keyasint,omitzero"`
	ComputeType string                `cbor:"2,keyasint,omitzero"` // "ANYWHERE"
	Attributes                        // protection policy and metric groups have defaults
	Locations   []string              `cbor:"3,keyasint,omitzero"`
	Runtime     *RuntimeConfiguration `cbor:"4,keyasint,omitzero"` // nil: none
	Tags        []Tag                 `cbor:"5,keyasint,omitzero"`
	EventIDs    []string              `cbor:"6,keyasint,omitzero"` // EventCount ids for the fleet events
	// Home is a fleet whose one location is the region itself: that of game servers on server SDK 3 and 4.
	Home bool `cbor:"7,keyasint,omitzero"`
}

// EventCount returns the number of fleet events of c: FLEET_CREATED, FLEET_STATE_ACTIVE and one LOCATION_STATE_ACTIVE
// per location.
func (c CreateFleet) EventCount() int { return 2 + len(c.Locations) }

// FleetCreated follows CreateFleet; tags and fleet events are separate events.
type FleetCreated struct {
	ID        string                `cbor:"1,keyasint,omitempty"`
	At        event.Time            `cbor:"2,keyasint,omitempty"`
	Locations []string              `cbor:"3,keyasint,omitempty"`
	Runtime   *RuntimeConfiguration `cbor:"4,keyasint,omitempty"`
	Attributes
}

func (c CreateFleet) decide(s *State, now event.Time) ([]Event, error) {
	if _, ok := s.fleets.Get(c.ID); ok { // the id is random per request: this is a repetition
		return nil, nil
	}
	if err := c.checkRequest(s); err != nil {
		return nil, err
	}
	if s.liveFleets >= s.limits.Fleets {
		return nil, fault.New(fault.LimitExceeded, "The limit of %d fleets is reached", s.limits.Fleets)
	}
	tagged, err := s.tagNew(fleetKind+c.ID, c.Tags)
	if err != nil {
		return nil, err
	}
	notes, err := s.note(now, c.ID, c.EventIDs, c.notes())
	if err != nil {
		return nil, err
	}
	created := &FleetCreated{
		ID: c.ID, At: now, Locations: slices.Clone(c.Locations), Runtime: c.Runtime.clone(),
		Attributes: c.Attributes.normal(),
	}
	return append(append([]Event{created}, tagged...), notes...), nil
}

// checkRequest rejects invalid requests and unknown locations.
func (c CreateFleet) checkRequest(s *State) error {
	if c.ComputeType != computeTypeAnywhere {
		return fault.New(fault.InvalidRequest, "This service offers fleets of compute type ANYWHERE and EC2 only")
	}
	if c.Home {
		return nil
	}
	if err := s.checkNewLocations(c.Locations, 0); err != nil {
		return err
	}
	if err := c.Attributes.check(s.limits); err != nil {
		return err
	}
	return c.Runtime.check()
}

// notes returns the fleet events of a new fleet.
func (c CreateFleet) notes() []note {
	notes := []note{
		{codeFleetCreated, "Fleet " + c.ID + " was created", ""},
		{codeFleetStateActive, "Fleet " + c.ID + " changed state to ACTIVE", ""},
	}
	for _, location := range c.Locations {
		notes = append(notes, locationNote(codeLocationStateActive, c.ID, location, StatusActive))
	}
	return notes
}

func (e *FleetCreated) apply(s *State) {
	s.putFleet(&Fleet{ID: e.ID, Status: StatusActive, Created: e.At, Runtime: e.Runtime, Attributes: e.Attributes})
	for _, location := range e.Locations {
		s.fleetLocations.Set(join(e.ID, location),
			&FleetLocation{Fleet: e.ID, Location: location, Status: StatusActive})
	}
}

// changeFleet replaces a fleet by a changed copy.
func (s *State) changeFleet(id string, change func(f *Fleet)) {
	if old, ok := s.fleets.Get(id); ok {
		f := *old
		change(&f)
		s.putFleet(&f)
	}
}

// putFleet stores f and updates the derived state.
func (s *State) putFleet(f *Fleet) {
	creators := s.takeCreators(f.ID) // their deadlines depend on the fleet's policy
	s.uncountFleet(f.ID)
	s.fleets.Set(f.ID, f)
	if f.Status == StatusTerminated {
		s.dues.Set(due(f.Terminated.Add(Retention), dueFleet, f.ID), struct{}{})
	} else {
		s.liveFleets++
		s.referAll(f.Hashes(), +1)
	}
	for _, w := range creators {
		s.putCreator(w)
	}
}

// uncountFleet reverts putFleet for the fleet's current record.
func (s *State) uncountFleet(id string) {
	f, ok := s.fleets.Get(id)
	switch {
	case !ok:
	case f.Status == StatusTerminated:
		s.dues.Delete(due(f.Terminated.Add(Retention), dueFleet, id))
	default:
		s.liveFleets--
		s.referAll(f.Hashes(), -1)
	}
}

func fleetNotFound(id string) error {
	return fault.New(fault.NotFound, "Fleet %s not found", id)
}

// Fleet returns the record of a fleet, even if it is TERMINATED, for its fleet events and its empty runtime
// configuration. Use LiveFleet for everything else.
func (s *State) Fleet(id string) (*Fleet, bool) { return s.fleets.Get(id) }

// LiveFleet returns a fleet that is not TERMINATED, or NotFound.
func (s *State) LiveFleet(id string) (*Fleet, error) {
	f, ok := s.fleets.Get(id)
	if !ok || f.Status == StatusTerminated {
		return nil, fleetNotFound(id)
	}
	return f, nil
}

// activeFleet returns an ACTIVE fleet, or NotFound or InvalidFleetStatus.
func (s *State) activeFleet(id string) (*Fleet, error) {
	f, err := s.LiveFleet(id)
	if err != nil {
		return nil, err
	}
	if f.Status != StatusActive {
		return nil, fault.New(fault.InvalidFleetStatus, "Fleet %s is %s and must be ACTIVE", id, f.Status)
	}
	return f, nil
}

// FleetsOf returns those of Fleets that have a build; for "" all.
func (s *State) FleetsOf(build, after string, limit int) (fleets []*Fleet, more bool) {
	return page(&s.fleets, "", after, limit, func(f *Fleet) bool {
		return f.Status != StatusTerminated && (build == "" || f.Managed != nil && f.Managed.Build == build)
	})
}

// Fleets returns the fleets that are not TERMINATED with ids after the given one, in order. A limit below 1 is none;
// more reports that there are further ones.
func (s *State) Fleets(after string, limit int) (fleets []*Fleet, more bool) {
	return s.FleetsOf("", after, limit)
}
