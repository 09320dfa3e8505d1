package catalog

import (
	"encoding/binary"

	"github.com/muster-gg/muster/internal/event"
)

// maxExpired is how many events Expire returns at once.
const maxExpired = 512

// What ages out stands in State.dues, under a key that sorts by time. The
// second part says what it is, and so what stands in the third.
const (
	dueCreator     byte = 'c' // the key of a creator's window
	dueFleetEvents byte = 'e' // a fleet id
	dueFleet       byte = 'f' // a fleet id
)

// due is the key of a deadline.
func due(at event.Time, kind byte, id string) string {
	// The sign bit is turned over so that bytes sort as the times do.
	key := binary.BigEndian.AppendUint64(make([]byte, 0, 9+len(id)), uint64(at)^1<<63)
	return string(append(append(key, kind), id...))
}

// parseDue takes the key of a deadline apart.
func parseDue(key string) (at event.Time, kind byte, id string) {
	return event.Time(binary.BigEndian.Uint64([]byte(key[:8])) ^ 1<<63), key[8], key[9:]
}

// Deadline is when Expire next has events; zero when nothing ages out.
func (s *State) Deadline() event.Time {
	key, _, ok := s.dues.Min()
	if !ok {
		return 0
	}
	at, _, _ := parseDue(key)
	return at
}

// Expire returns the events that end what has aged out, oldest first, without
// changing s: creations that no longer count, fleet events and TERMINATED
// fleets after Retention. It returns a bounded number of them; when Deadline
// still lies in the past after they are applied, there are more.
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
		}
		return true
	})
	return events
}

// expireCreator ends the creations of a window that no longer count. At least
// the first does not: it made the window due.
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

// expireFleetEvents ends the oldest events of a fleet, up to the first that is
// not old enough. At least one is: it made the fleet due.
func (s *State) expireFleetEvents(fleet string, now event.Time) Event {
	e := &FleetEventsExpired{Fleet: fleet}
	walk(s.fleetEvents, fleet, func(line *FleetEvent) bool {
		if line.At.Add(Retention) > now {
			return false
		}
		e.Through = line.Number
		return true
	})
	return e
}
