package catalog

import (
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fault"
)

// A CreatorWindow holds the game sessions that one creator started in a fleet
// within the period of the fleet's policy.
type CreatorWindow struct {
	Fleet   string       `cbor:"1,keyasint,omitempty"`
	Creator string       `cbor:"2,keyasint,omitempty"`
	At      []event.Time `cbor:"3,keyasint,omitempty"` // ascending; a moment may stand twice
}

// ClaimCreation asks whether a creator may start one more game session in a
// fleet, and counts it. It counts for the period of the fleet's policy; without
// a policy nothing is counted or kept. A policy that changes is applied to what
// is still kept. NotFound; InvalidFleetStatus; InvalidRequest for no creator
// where there is a policy; LimitExceeded.
// Source: API reference, ResourceCreationLimitPolicy.
type ClaimCreation struct {
	Fleet   string     `cbor:"1,keyasint,omitzero"`
	Creator string     `cbor:"2,keyasint,omitzero"`
	At      event.Time `cbor:"3,keyasint,omitzero"`
}

// ReleaseCreation takes back a ClaimCreation whose game session did not come
// about. What is not counted (any more) changes nothing.
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

// CreationReleased follows ReleaseCreation: one creation of that moment ends.
type CreationReleased struct {
	Fleet   string     `cbor:"1,keyasint,omitempty"`
	Creator string     `cbor:"2,keyasint,omitempty"`
	At      event.Time `cbor:"3,keyasint,omitempty"`
}

// CreationsExpired ends a creator's creations up to a moment.
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
		return nil, fault.New(fault.InvalidRequest, "CreatorId is required: fleet %s limits the game sessions of each creator", c.Fleet)
	}
	if s.creations(c.Fleet, c.Creator, limit, now) >= int(limit.SessionsPerCreator) {
		return nil, fault.New(fault.LimitExceeded, "The creator has reached the fleet's limit of %d new game sessions in %d minutes",
			limit.SessionsPerCreator, limit.PeriodMinutes)
	}
	return []Event{&CreationClaimed{Fleet: c.Fleet, Creator: c.Creator, At: c.At}}, nil
}

// creations counts what a creator started within the period that ends now.
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

// end is when a creation of that moment stops counting.
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

// changeCreator stores a creator's window with a changed copy of its moments.
func (s *State) changeCreator(fleet, creator string, change func(at []event.Time) []event.Time) {
	var at []event.Time
	if old, ok := s.takeCreator(fleet, creator); ok {
		at = slices.Clone(old.At)
	}
	s.putCreator(&CreatorWindow{Fleet: fleet, Creator: creator, At: change(at)})
}

// putCreator stores a window that is not stored yet, with its deadline. One that
// is empty or whose fleet has no policy is not kept.
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
	walk(s.creators, fleet, func(w *CreatorWindow) bool {
		windows = append(windows, w)
		return true
	})
	for _, w := range windows {
		s.takeCreator(fleet, w.Creator)
	}
	return windows
}
