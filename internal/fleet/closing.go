package fleet

import (
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// ClosingLevel is the feature level from which computes can be closed. It is that of EC2-type fleets.
const ClosingLevel = 9

// CloseCompute prevents that a compute gets another game session: its processes without one are asked to end, and so is
// each that becomes ready within the time. A game session that it has goes on. It can be repeated, and does not shorten
// the time. NotFound.
type CloseCompute struct {
	Name string        `cbor:"1,keyasint,omitzero"`
	For  time.Duration `cbor:"2,keyasint,omitzero"`
}

func (c CloseCompute) decide(r *Room, now event.Time) ([]any, error) {
	compute, ok := r.computes.Get(c.Name)
	if !ok {
		return nil, r.noCompute(c.Name)
	}
	var events []any
	if until := now.Add(c.For); compute.ClosedUntil < now.Add(c.For/2) { // a repetition need not be stored
		events = append(events, &ComputeClosed{Name: c.Name, Until: until})
	}
	r.processesOf(c.Name, func(p *Process) bool {
		if p.Status != ProcessEnded && !p.Hosts() && p.TerminateBy == 0 {
			events = append(events, r.askToEnd(p.ProcessKey, now))
		}
		return true
	})
	return events, nil
}

func (CloseCompute) answer(*Room) any { return nil }

func (r *Room) askToEnd(k ProcessKey, now event.Time) *ProcessAskedToEnd {
	return &ProcessAskedToEnd{ProcessKey: k, By: now.Add(r.settings.TerminationGrace)}
}

// unneeded appends that a process that becomes ready without a game session is asked to end, if its compute is closed,
// it is of another build than the fleet's own, or it has taken the slot of one that is.
func (r *Room) unneeded(p *Process, now event.Time, events ...any) []any {
	c, ok := r.computes.Get(p.Compute)
	if p.TerminateBy == 0 && (ok && c.ClosedUntil > now || p.Build != "" || r.tookSlot(p)) {
		events = append(events, r.askToEnd(p.ProcessKey, now))
	}
	return events
}

func (e *ComputeClosed) apply(r *Room) {
	if old, ok := r.computes.Get(e.Name); ok {
		next := *old
		next.ClosedUntil = e.Until
		r.computes.Set(e.Name, &next)
	}
}
