package catalog

import (
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A CreatorWindow is the recent game sessions of one creator in a fleet, within the period of the fleet's policy.
type CreatorWindow struct {
	Fleet   string       `cbor:"1,keyasint,omitempty"`
	Creator string       `cbor:"2,keyasint,omitempty"`
	At      []event.Time `cbor:"3,keyasint,omitempty"` // ascending; may have duplicates
}

// ClaimCreation counts a new game session of a creator in a fleet, if the fleet's policy allows one more; without a
// policy it changes nothing. A changed policy applies to the kept creations. NotFound; InvalidFleetStatus;
// InvalidRequest for a missing creator if there is a policy; LimitExceeded. Source: API reference,
// ResourceCreationLimitPolicy.
type ClaimCreation struct {
	Fleet   string     `cbor:"1,keyasint,omitzero"`
	Creator string     `cbor:"2,keyasint,omitzero"`
	At      event.Time `cbor:"3,keyasint,omitzero"`
}

// ReleaseCreation reverts a ClaimCreation whose game session was not created, if it still counts.
type ReleaseCreation struct {
	Fleet   string     `cbor:"1,keyasint,omitzero"`
	Creator string     `cbor:"2,keyasint,omitzero"`
	At      event.Time `cbor:"3,keyasint,omitzero"` // that of the claim
}

// CreationClaimed follows ClaimCreation.
type CreationClaimed struct {
	Fleet   string     `cbor:"1,keyasint,omitempty"`
	Creator string     `cbor:"2,keyasint,omitempty"`
	At      event.Time `cbor:"3,keyasint,omitempty"`
}

// CreationReleased follows ReleaseCreation: one creation of that time ends.
type CreationReleased struct {
	Fleet   string     `cbor:"1,keyasint,omitempty"`
	Creator string     `cbor:"2,keyasint,omitempty"`
	At      event.Time `cbor:"3,keyasint,omitempty"`
}

// CreationsExpired ends a creator's creations up to a time.
type CreationsExpired struct {
	Fleet   string     `cbor:"1,keyasint,omitempty"`
	Creator string     `cbor:"2,keyasint,omitempty"`
	Through event.Time `cbor:"3,keyasint,omitempty"`
}

func (c ClaimCreation) decide(s *State, now event.Time) ([]Event, error) {
	f, err := s.activeFleet(c.Fleet)
	if err != nil {
		return nil, err
	}
	limit := f.CreationLimit
	if limit == nil {
		return nil, nil
	}
	if c.Creator == "" {
		return nil, fault.New(fault.InvalidRequest, "CreatorId is required: fleet %s limits the game sessions of each "+
			"creator", c.Fleet)
	}
	if s.creations(c.Fleet, c.Creator, limit, now) >= int(limit.SessionsPerCreator) {
		return nil, fault.New(fault.LimitExceeded, "The creator has reached the fleet's limit of %d new game sessions "+
			"in %d minutes",
			limit.SessionsPerCreator, limit.PeriodMinutes)
	}
	return []Event{&CreationClaimed{Fleet: c.Fleet, Creator: c.Creator, At: c.At}}, nil
}

// creations counts a creator's creations within the period that ends now.
func (s *State) creations(fleet, creator string, limit *CreationLimit, now event.Time) (n int) {
	w, ok := s.creators.Get(join(fleet, creator))
	if !ok {
		return 0
	}
	for _, at := range w.At {
		if limit.end(at) > now {
			n++
		}
	}
	return n
}

// end returns when a creation stops counting.
func (l *CreationLimit) end(at event.Time) event.Time {
	return at + event.Time(l.PeriodMinutes)*60_000
}

func (c ReleaseCreation) decide(s *State, _ event.Time) ([]Event, error) {
	w, ok := s.creators.Get(join(c.Fleet, c.Creator))
	if !ok || !slices.Contains(w.At, c.At) {
		return nil, nil
	}
	return []Event{&CreationReleased{Fleet: c.Fleet, Creator: c.Creator, At: c.At}}, nil
}

func (e *CreationClaimed) apply(s *State) {
	s.changeCreator(e.Fleet, e.Creator, func(at []event.Time) []event.Time {
		i, _ := slices.BinarySearch(at, e.At)
		return slices.Insert(at, i, e.At)
	})
}

func (e *CreationReleased) apply(s *State) {
	s.changeCreator(e.Fleet, e.Creator, func(at []event.Time) []event.Time {
		if i, ok := slices.BinarySearch(at, e.At); ok {
			return slices.Delete(at, i, i+1)
		}
		return at
	})
}

func (e *CreationsExpired) apply(s *State) {
	s.changeCreator(e.Fleet, e.Creator, func(at []event.Time) []event.Time {
		return slices.DeleteFunc(at, func(t event.Time) bool { return t <= e.Through })
	})
}

// changeCreator replaces a creator's window.
func (s *State) changeCreator(fleet, creator string, change func(at []event.Time) []event.Time) {
	var at []event.Time
	if old, ok := s.takeCreator(fleet, creator); ok {
		at = slices.Clone(old.At)
	}
	s.putCreator(&CreatorWindow{Fleet: fleet, Creator: creator, At: change(at)})
}

// putCreator stores a new window with its deadline, unless it is empty or the fleet has no policy.
func (s *State) putCreator(w *CreatorWindow) {
	f, ok := s.fleets.Get(w.Fleet)
	if !ok || f.CreationLimit == nil || len(w.At) == 0 {
		return
	}
	key := join(w.Fleet, w.Creator)
	s.creators.Set(key, w)
	s.dues.Set(due(f.CreationLimit.end(w.At[0]), dueCreator, key), struct{}{})
}

// takeCreator removes a window and its deadline.
func (s *State) takeCreator(fleet, creator string) (*CreatorWindow, bool) {
	key := join(fleet, creator)
	w, ok := s.creators.Delete(key)
	if !ok {
		return nil, false
	}
	if f, ok := s.fleets.Get(fleet); ok && f.CreationLimit != nil {
		s.dues.Delete(due(f.CreationLimit.end(w.At[0]), dueCreator, key))
	}
	return w, true
}

// takeCreators removes all windows of a fleet.
func (s *State) takeCreators(fleet string) (windows []*CreatorWindow) {
	walk(&s.creators, fleet, func(w *CreatorWindow) bool {
		windows = append(windows, w)
		return true
	})
	for _, w := range windows {
		s.takeCreator(fleet, w.Creator)
	}
	return windows
}
