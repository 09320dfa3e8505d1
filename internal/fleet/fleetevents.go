package fleet

import (
	"fmt"

	"github.com/muster-gg/muster/internal/event"
)

// The fleet events that a Room notes.
// Source: API reference, Event.EventCode.
const (
	codeProcessCrashed         = "SERVER_PROCESS_CRASHED"
	codeProcessUnhealthy       = "SERVER_PROCESS_TERMINATED_UNHEALTHY"
	codeProcessReadyTimeout    = "SERVER_PROCESS_PROCESS_READY_TIMEOUT"
	codeProcessForceTerminated = "SERVER_PROCESS_FORCE_TERMINATED"
	codeActivationTimeout      = "GAME_SESSION_ACTIVATION_TIMEOUT"
)

func note(now event.Time, code, format string, args ...any) *FleetEventAdded {
	return &FleetEventAdded{Code: code, Message: fmt.Sprintf(format, args...), At: now}
}

func (r *Room) applyFleetEventAdded(e *FleetEventAdded) {
	r.header.FleetEvents++
	n := r.header.FleetEvents
	r.fleetEvents.Set(n, &FleetEvent{Number: n, ID: eventID(r.address, r.after, n), Code: e.Code, Message: e.Message, At: e.At})
	if r.fleetEvents.Len() > maxFleetEvents {
		r.fleetEvents.PopMin()
	}
}

// noteDeadline is when the oldest fleet event is to be dropped, or zero.
func (r *Room) fleetEventDeadline() event.Time {
	if _, oldest, ok := r.fleetEvents.Min(); ok {
		return oldest.At.Add(r.settings.FleetEventRetention)
	}
	return 0
}

// expireNotes gives the event that drops the fleet events past their time.
func (r *Room) expireFleetEvents(now event.Time) []any {
	var through uint64
	r.fleetEvents.Scan(func(n uint64, note *FleetEvent) bool {
		if note.At.Add(r.settings.FleetEventRetention) > now {
			return false
		}
		through = n
		return true
	})
	if through == 0 {
		return nil
	}
	return []any{&FleetEventsDropped{Through: through}}
}

func (r *Room) applyFleetEventsDropped(e *FleetEventsDropped) {
	for {
		n, _, ok := r.fleetEvents.Min()
		if !ok || n > e.Through {
			return
		}
		r.fleetEvents.Delete(n)
	}
}

// Notes lists the fleet events from one moment to another, both included,
// newest first. A zero end is open.
func (r *Room) FleetEvents(from, to event.Time) []*FleetEvent {
	var notes []*FleetEvent
	r.fleetEvents.Reverse(func(_ uint64, n *FleetEvent) bool {
		if (to == 0 || n.At <= to) && n.At >= from {
			notes = append(notes, n)
		}
		return true // to the end: a clock that was put back leaves times out of order
	})
	return notes
}
