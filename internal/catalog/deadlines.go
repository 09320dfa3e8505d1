package catalog

import (
	"encoding/binary"

	"github.com/muster-gg/muster/internal/event"
)

// maxExpired is the maximum number of events of one Expire.
const maxExpired = 512

// State.dues has the deadlines, under keys that sort by time. The second part is the kind, which defines the third.
const (
	dueCreator     byte = 'c' // the key of a creator's window
	dueFleetEvents byte = 'e' // a fleet id
	dueFleet       byte = 'f' // a fleet id
	dueSignIn      byte = 's' // the id of a sign-in

	dueMachineToken byte = 'm' // the id of a join token
)

// due is the key of a deadline.
func due(at event.Time, kind byte, id string) string {
	// Inverting the sign bit makes bytes sort like times.
	key := binary.BigEndian.AppendUint64(make([]byte, 0, 9+len(id)), uint64(at)^1<<63)
	return string(append(append(key, kind), id...))
}

// parseDue splits the key of a deadline.
func parseDue(key string) (at event.Time, kind byte, id string) {
	return event.Time(binary.BigEndian.Uint64([]byte(key[:8])) ^ 1<<63), key[8], key[9:]
}

// Deadline returns when Expire must be called next, or zero.
func (s *State) Deadline() event.Time {
	key, _, ok := s.dues.Min()
	if !ok {
		return 0
	}
	at, _, _ := parseDue(key)
	return at
}

// Expire returns the events for expired records, oldest first, without changing s: creations, sign-ins, join tokens of
// machines, and after Retention fleet events and TERMINATED fleets. Their number is bounded; if Deadline has still
// passed after they are applied, there are more.
func (s *State) Expire(now event.Time) (events []Event) {
	s.dues.Scan(func(key string, _ struct{}) bool {
		at, kind, id := parseDue(key)
		if at > now || len(events) == maxExpired {
			return false
		}
		switch kind {
		case dueCreator:
			events = append(events, s.expireCreator(id, now))
		case dueFleetEvents:
			events = append(events, s.expireFleetEvents(id, now))
		case dueFleet:
			events = append(events, &FleetForgotten{Fleet: id})
		case dueSignIn:
			events = append(events, s.expireSignIn(id))
		case dueMachineToken:
			events = append(events, &MachineTokenDeleted{id})
		}
		return true
	})
	return events
}

// expireCreator ends the expired creations of a window, at least the first.
func (s *State) expireCreator(key string, now event.Time) Event {
	w, _ := s.creators.Get(key)
	f, _ := s.fleets.Get(w.Fleet)
	e := &CreationsExpired{Fleet: w.Fleet, Creator: w.Creator}
	for _, at := range w.At {
		if f.CreationLimit.end(at) > now {
			break
		}
		e.Through = at
	}
	return e
}

// expireFleetEvents ends the expired events of a fleet, at least the first.
func (s *State) expireFleetEvents(fleet string, now event.Time) Event {
	e := &FleetEventsExpired{Fleet: fleet}
	walk(&s.fleetEvents, fleet, func(line *FleetEvent) bool {
		if line.At.Add(Retention) > now {
			return false
		}
		e.Through = line.Number
		return true
	})
	return e
}
