package fleet

import (
	"fmt"

	"github.com/muster-gg/muster/internal/event"
)

// The codes of the fleet events that a Room records, besides those that agents report. Source: API reference,
// Event.EventCode.
const (
	codeProcessCrashed         = string(ExitCrashed)
	codeProcessUnhealthy       = string(ExitUnhealthy)
	codeProcessReadyTimeout    = string(ExitReadyTimeout)
	codeProcessForceTerminated = string(ExitForceTerminated)
	codeActivationTimeout      = "GAME_SESSION_ACTIVATION_TIMEOUT"
)

func newFleetEvent(now event.Time, code, format string, args ...any) *FleetEventAdded {
	return &FleetEventAdded{Code: code, Message: fmt.Sprintf(format, args...), At: now}
}

func (e *FleetEventAdded) apply(r *Room) {
	r.header.FleetEvents++
	n := r.header.FleetEvents
	r.fleetEvents.Set(n, &FleetEvent{Number: n,
		ID: eventID(r.address, r.after, n), Code: e.Code, Message: e.Message, At: e.At})
	if r.fleetEvents.Len() > maxFleetEvents {
		r.fleetEvents.PopMin()
	}
}

// fleetEventDeadline returns when the oldest fleet event expires, or zero.
func (r *Room) fleetEventDeadline() event.Time {
	if _, oldest, ok := r.fleetEvents.Min(); ok {
		return oldest.At.Add(r.settings.FleetEventRetention)
	}
	return 0
}

// expireFleetEvents returns the event that drops the expired fleet events.
func (r *Room) expireFleetEvents(now event.Time) []any {
	var through uint64
	r.fleetEvents.Scan(func(n uint64, e *FleetEvent) bool {
		if e.At.Add(r.settings.FleetEventRetention) > now {
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

func (e *FleetEventsDropped) apply(r *Room) {
	for {
		n, _, ok := r.fleetEvents.Min()
		if !ok || n > e.Through {
			return
		}
		r.fleetEvents.Delete(n)
	}
}

// FleetEvents lists the fleet events between two times, inclusive, newest first. A zero end is open.
func (r *Room) FleetEvents(from, to event.Time) []*FleetEvent {
	var found []*FleetEvent
	r.fleetEvents.Reverse(func(_ uint64, n *FleetEvent) bool {
		if (to == 0 || n.At <= to) && n.At >= from {
			found = append(found, n)
		}
		return true // all of them: after the clock was set back, times are out of order
	})
	return found
}

// LastFleetEvents returns the last fleet events, the newest first.
func (r *Room) LastFleetEvents(limit int) (found []*FleetEvent) {
	r.fleetEvents.Reverse(func(_ uint64, n *FleetEvent) bool {
		found = append(found, n)
		return len(found) < limit
	})
	return found
}
