package catalog

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Location is a custom location, where Anywhere fleets have computes.
type Location struct {
	Name    string     `cbor:"1,keyasint,omitempty"`
	Created event.Time `cbor:"2,keyasint,omitempty"`
}

// CreateLocation creates a custom location. Conflict if it exists, LimitExceeded, TaggingFailed.
type CreateLocation struct {
	Name string `cbor:"1,keyasint,omitzero"` // "custom-…", 8 to 64 characters; validated by the caller
	Tags []Tag  `cbor:"2,keyasint,omitzero"`
}

// DeleteLocation deletes a custom location, even if fleets refer to it: these show it as NOT_FOUND and accept no new
// computes there, until a location of that name is created again. NotFound.
type DeleteLocation struct {
	Name string `cbor:"1,keyasint,omitzero"`
}

// LocationCreated follows CreateLocation; its tags follow as ResourceTagged.
type LocationCreated struct {
	Name string     `cbor:"1,keyasint,omitempty"`
	At   event.Time `cbor:"2,keyasint,omitempty"`
}

// LocationDeleted follows DeleteLocation. It also deletes the location's tags.
type LocationDeleted struct {
	Name string `cbor:"1,keyasint,omitempty"`
}

func (c CreateLocation) decide(s *State, now event.Time) ([]Event, error) {
	if _, ok := s.locations.Get(c.Name); ok {
		return nil, fault.New(fault.Conflict, "Location %s already exists", c.Name)
	}
	if s.locations.Len() >= s.limits.Locations {
		return nil, fault.New(fault.LimitExceeded, "The limit of %d custom locations is reached", s.limits.Locations)
	}
	tagged, err := s.tagNew(locationKind+c.Name, c.Tags)
	if err != nil {
		return nil, err
	}
	return append([]Event{&LocationCreated{Name: c.Name, At: now}}, tagged...), nil
}

func (c DeleteLocation) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.locations.Get(c.Name); !ok {
		return nil, locationNotFound(c.Name)
	}
	return []Event{&LocationDeleted{Name: c.Name}}, nil
}

func (e *LocationCreated) apply(s *State) {
	s.locations.Set(e.Name, &Location{Name: e.Name, Created: e.At})
}

func (e *LocationDeleted) apply(s *State) {
	s.locations.Delete(e.Name)
	s.tags.Delete(locationKind + e.Name)
}

func locationNotFound(name string) error {
	return fault.New(fault.NotFound, "Location %s not found", name)
}

// Location finds a custom location.
func (s *State) Location(name string) (*Location, bool) { return s.locations.Get(name) }

// Locations returns the custom locations with names after the given one, in order. A limit below 1 is none; more
// reports that there are further ones.
func (s *State) Locations(after string, limit int) (locations []*Location, more bool) {
	return page(&s.locations, "", after, limit, every)
}
