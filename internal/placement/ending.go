package placement

import (
	"fmt"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Stop is StopGameSessionPlacement. NotFound; InvalidRequest if the placement has ended or an attempt is running.
type Stop struct {
	ID string `cbor:"1,keyasint,omitzero"`
}

func (c Stop) decide(s *State, now event.Time) ([]any, error) {
	p, err := s.find(c.ID)
	switch {
	case err != nil:
		return nil, err
	case p.HasEnded():
		return nil, fault.New(fault.InvalidRequest, "Placement %s is %s: only a PENDING placement can be stopped",
			p.ID, p.Status)
	case p.AttemptRunning():
		return nil, fault.New(fault.InvalidRequest, "A game session is being started for placement %s; end it with "+
			"TerminateGameSession", p.ID)
	}
	return []any{p.ended(now, Cancelled, "")}, nil
}

func (c Stop) answer(s *State) any { return s.shown(c.ID) }

// Fail ends a PENDING placement that cannot continue, because its queue was deleted. It abandons a running attempt: the
// caller ends its game session. It ignores an ended placement.
type Fail struct {
	ID     string `cbor:"1,keyasint,omitzero"`
	Reason string `cbor:"2,keyasint,omitzero"`
}

func (c Fail) decide(s *State, now event.Time) ([]any, error) {
	p, err := s.find(c.ID)
	if err != nil || p.HasEnded() {
		return nil, err
	}
	return []any{p.ended(now, Failed, clip(c.Reason))}, nil
}

func (c Fail) answer(s *State) any { return s.shown(c.ID) }

// Cancel ends the PENDING placement of a match that needs no game session any more: CANCELLED. It abandons a running
// attempt: the caller ends its game session. It ignores an ended placement. If there is none with the id, it creates a
// CANCELLED one: a Start for the match that arrives later finds it.
type Cancel struct {
	Request Request `cbor:"1,keyasint"` // ID, Match, and the known fields of the queue
}

func (c Cancel) decide(s *State, now event.Time) ([]any, error) {
	p, ok := s.placements.Get(c.Request.ID)
	switch {
	case !ok:
		p = &Placement{Request: c.Request}
		return []any{&PlacementStarted{Request: c.Request, At: now, Deadline: now}, p.ended(now, Cancelled, "")}, nil
	case p.HasEnded():
		return nil, nil
	}
	return []any{p.ended(now, Cancelled, "")}, nil
}

func (c Cancel) answer(s *State) any { return s.shown(c.Request.ID) }

// ended returns the event that ends the placement without a game session.
func (p *Placement) ended(now event.Time, status Status, reason string) *PlacementEnded {
	return &PlacementEnded{ID: p.ID, At: now, Status: status, Reason: reason}
}

func (p *Placement) timedOut(now event.Time) *PlacementEnded { return p.ended(now, TimedOut, "") }

func (e *PlacementEnded) apply(s *State) {
	p, ok := s.placements.Get(e.ID)
	if !ok || p.HasEnded() || e.Status == Pending {
		return
	}
	next := *p
	next.Status, next.Ended, next.Reason = e.Status, e.At, e.Reason
	next.stopAttempt()
	next.Trail.add(endStep(p, e))
	s.conclude(&next)
}

// endStep returns the last step of the trail. The kinds are the statuses.
func endStep(p *Placement, e *PlacementEnded) Step {
	step := Step{At: e.At, Kind: StepKind(e.Status), Text: e.Reason}
	if e.Status == TimedOut {
		step.Text = fmt.Sprintf("no game session became ACTIVE within %d s",
			p.Deadline.Sub(p.Started).Milliseconds()/1000)
	}
	return step
}

// conclude stores an ended placement, and announces it.
func (s *State) conclude(p *Placement) {
	s.put(p)
	s.header.Announced++
	s.outbox = append(s.outbox, &Announcement{Seq: s.header.Announced, Placement: p})
}

// maxDue is the maximum number of placements that one Expire ends, so that many timeouts do not delay commands.
const maxDue = 512

// Deadline returns when Expire must be called next, or zero.
func (s *State) Deadline() event.Time {
	first, _ := s.timers.Min()
	return first.at
}

// Expire decides and applies expired deadlines, the earliest first, a bounded number at a time: call it again while
// Deadline is not after now.
func (s *State) Expire(now event.Time) []any {
	var events []any
	for len(events) < maxDue {
		first, ok := s.timers.Min()
		if !ok || first.at > now {
			break
		}
		p, _ := s.placements.Get(first.id)
		e := p.timedOut(now)
		s.Apply(e)
		events = append(events, e)
	}
	return events
}
