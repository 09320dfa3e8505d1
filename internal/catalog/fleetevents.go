package catalog

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Retention is how long fleet events and the records of TERMINATED fleets are kept. The API reference states it for
// game sessions only.
const Retention = 30 * 24 * time.Hour

// maxFleetEvents is how many events a fleet keeps; the oldest are dropped first.
const maxFleetEvents = 1000

// The codes of the catalog's fleet events. Source: API reference, EventCode.
const (
	codeFleetCreated          = "FLEET_CREATED"
	codeFleetStateActive      = "FLEET_STATE_ACTIVE"
	codeFleetDeleted          = "FLEET_DELETED"
	codeProtectionUpdated     = "FLEET_NEW_GAME_SESSION_PROTECTION_POLICY_UPDATED"
	codeFleetScaling          = "FLEET_SCALING_EVENT"
	codeGeneric               = "GENERIC_EVENT"
	codeLocationStateActive   = "LOCATION_STATE_ACTIVE"
	codeLocationStateDeleting = "LOCATION_STATE_DELETING"
	codeLocationStateDeleted  = "LOCATION_STATE_DELETED"
)

// A FleetEvent is an entry of DescribeFleetEvents.
type FleetEvent struct {
	Fleet   string     `cbor:"1,keyasint,omitempty"`
	Number  uint64     `cbor:"2,keyasint,omitempty"` // increases by one within the fleet
	ID      string     `cbor:"3,keyasint,omitempty"`
	Code    string     `cbor:"4,keyasint,omitempty"` // an EventCode of the API
	Message string     `cbor:"5,keyasint,omitempty"`
	At      event.Time `cbor:"6,keyasint,omitempty"`
	Count   int32      `cbor:"7,keyasint,omitempty"` // how often it happened; 0: once
	Log     string     `cbor:"8,keyasint,omitempty"` // hash of the output of an installation; "": none
}

// RecordFleetEvent adds a fleet event from outside the catalog: a crashed server process, an activation timeout. It can
// be repeated with the same id. NotFound.
type RecordFleetEvent struct {
	Fleet   string     `cbor:"1,keyasint,omitzero"`
	ID      string     `cbor:"2,keyasint,omitzero"`
	Code    string     `cbor:"3,keyasint,omitzero"`
	Message string     `cbor:"4,keyasint,omitzero"`
	At      event.Time `cbor:"5,keyasint,omitzero"` // zero: now
	Count   int32      `cbor:"6,keyasint,omitzero"` // 1 to 101; 0: once
}

// FleetEventRecorded follows RecordFleetEvent, and the commands that change a fleet's status, locations or protection
// policy.
type FleetEventRecorded struct {
	FleetEvent
}

// FleetEventsExpired drops the fleet events up to a number.
type FleetEventsExpired struct {
	Fleet   string `cbor:"1,keyasint,omitempty"`
	Through uint64 `cbor:"2,keyasint,omitempty"`
}

func (c RecordFleetEvent) decide(s *State, now event.Time) ([]Event, error) {
	if _, ok := s.fleets.Get(c.Fleet); !ok {
		return nil, fleetNotFound(c.Fleet)
	}
	if c.ID == "" {
		return nil, errEventIDs(c.Fleet)
	}
	known := false
	s.descendFleetEvents(c.Fleet, 0, func(e *FleetEvent) bool {
		known = e.ID == c.ID
		return !known
	})
	if known {
		return nil, nil
	}
	return []Event{&FleetEventRecorded{FleetEvent{
		Fleet: c.Fleet, Number: s.lastFleetEvent(c.Fleet) + 1, ID: c.ID, Code: c.Code, Message: c.Message,
		At: cmp.Or(c.At, now), Count: c.Count,
	}}}, nil
}

// A note is a new fleet event. The log is the hash of the output of an installation, or "".
type note struct{ code, message, log string }

func locationNote(code, fleet, location string, status Status) note {
	return note{code, fmt.Sprintf("Location %s of fleet %s changed state to %s", location, fleet, status), ""}
}

// errEventIDs is an error of the caller, not of its client.
func errEventIDs(fleet string) error {
	return fault.Internal(fmt.Errorf("fleet %s: an event id is missing", fleet))
}

// note returns the events that add notes to a fleet's log, with the first ids.
func (s *State) note(now event.Time, fleet string, ids []string, notes []note) ([]Event, error) {
	if len(ids) < len(notes) || slices.Contains(ids[:len(notes)], "") {
		return nil, errEventIDs(fleet)
	}
	last := s.lastFleetEvent(fleet)
	events := make([]Event, len(notes))
	for i, n := range notes {
		events[i] = &FleetEventRecorded{FleetEvent{
			Fleet: fleet, Number: last + 1 + uint64(i), ID: ids[i], Code: n.code, Message: n.message, At: now,
			Log: n.log,
		}}
	}
	return events, nil
}

// lastFleetEvent returns the number of a fleet's newest event, or 0.
func (s *State) lastFleetEvent(fleet string) (number uint64) {
	s.descendFleetEvents(fleet, 0, func(e *FleetEvent) bool {
		number = e.Number
		return false
	})
	return number
}

// descendFleetEvents visits the events of a fleet with numbers below before (0: all), newest first, until visit returns
// false.
func (s *State) descendFleetEvents(fleet string, before uint64, visit func(*FleetEvent) bool) {
	s.fleetEvents.Descend(fleetEventKey(fleet, before-1), func(_ string, e *FleetEvent) bool {
		return e.Fleet == fleet && visit(e)
	})
}

// fleetEventKey sorts by fleet and number.
func fleetEventKey(fleet string, number uint64) string {
	return join(fleet, string(binary.BigEndian.AppendUint64(nil, number)))
}

func (e *FleetEventRecorded) apply(s *State) {
	line := e.FleetEvent
	s.putFleetEvent(&line)
}

func (e *FleetEventsExpired) apply(s *State) {
	for {
		first := s.firstFleetEvent(e.Fleet)
		if first == nil || first.Number > e.Through {
			return
		}
		s.removeFirstFleetEvent(first)
	}
}

func (s *State) firstFleetEvent(fleet string) (first *FleetEvent) {
	walk(&s.fleetEvents, fleet, func(e *FleetEvent) bool {
		first = e
		return false
	})
	return first
}

// putFleetEvent stores e, drops the oldest event if there are too many, and updates the deadline.
func (s *State) putFleetEvent(e *FleetEvent) {
	s.undueFleetEvents(e.Fleet)
	if old, replaced := s.fleetEvents.Set(fleetEventKey(e.Fleet, e.Number), e); replaced {
		s.refer(old.Log, -1)
	} else {
		s.count(e.Fleet, tally{events: 1})
	}
	s.refer(e.Log, +1)
	s.dueFleetEvents(e.Fleet)
	if t, _ := s.tallies.Get(e.Fleet); t.events > maxFleetEvents {
		s.removeFirstFleetEvent(s.firstFleetEvent(e.Fleet))
	}
}

func (s *State) removeFirstFleetEvent(e *FleetEvent) {
	s.undueFleetEvents(e.Fleet)
	s.fleetEvents.Delete(fleetEventKey(e.Fleet, e.Number))
	s.refer(e.Log, -1)
	s.count(e.Fleet, tally{events: -1})
	s.dueFleetEvents(e.Fleet)
}

func (s *State) dropFleetEvents(fleet string) {
	s.undueFleetEvents(fleet)
	for _, e := range entries(&s.fleetEvents, fleet) {
		s.refer(e.Log, -1)
	}
	drop(&s.fleetEvents, fleet)
	t, _ := s.tallies.Get(fleet)
	s.count(fleet, tally{events: -t.events})
}

// dueFleetEvents sets the deadline of a fleet's oldest event.
func (s *State) dueFleetEvents(fleet string) {
	if first := s.firstFleetEvent(fleet); first != nil {
		s.dues.Set(due(first.At.Add(Retention), dueFleetEvents, fleet), struct{}{})
	}
}

func (s *State) undueFleetEvents(fleet string) {
	if first := s.firstFleetEvent(fleet); first != nil {
		s.dues.Delete(due(first.At.Add(Retention), dueFleetEvents, fleet))
	}
}

// FleetEvents returns events of a fleet from start to end, inclusive, newest first; zero is open. It returns only
// events with numbers below before (0: all), and at most limit (below 1: all); more reports that there are further
// ones. NotFound for an unknown or deleted fleet, but not for a TERMINATED one; InvalidRequest if start is after end.
func (s *State) FleetEvents(fleet string, start, end event.Time, before uint64, limit int) (events []*FleetEvent,
	more bool, err error) {
	if _, ok := s.fleets.Get(fleet); !ok {
		return nil, false, fleetNotFound(fleet)
	}
	if end != 0 && start > end {
		return nil, false, fault.New(fault.InvalidRequest, "StartTime is after EndTime")
	}
	s.descendFleetEvents(fleet, before, func(e *FleetEvent) bool {
		if e.At < start || (end != 0 && e.At > end) {
			return true
		}
		if limit > 0 && len(events) == limit {
			more = true
			return false
		}
		events = append(events, e)
		return true
	})
	return events, more, nil
}
