package placement

import (
	"fmt"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fault"
)

// Stop is StopGameSessionPlacement. NotFound; InvalidRequest when the placement is
// over or an attempt runs.
type Stop struct {
	ID string `cbor:"1,keyasint,omitzero"`
}

func (c Stop) decide(s *State, now event.Time) ([]any, error) {
	p, err := s.find(c.ID)
	switch {
	case err != nil:
		return nil, err
	case p.HasEnded():
		return nil, fault.New(fault.InvalidRequest, "Placement %s is %s: only a PENDING placement can be stopped", p.ID, p.Status)
	case p.AttemptRunning():
		return nil, fault.New(fault.InvalidRequest, "A game session is being started for placement %s; end it with TerminateGameSession", p.ID)
	}
	return []any{p.ended(now, Cancelled, "")}, nil
}

func (c Stop) answer(s *State) any { return s.shown(c.ID) }

// Fail ends a PENDING placement that cannot go on: its queue is gone. A running
// attempt is given up: the caller ends its game session. One that is over stays.
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

// Cancel ends the PENDING placement of a match that wants no game session any more:
// CANCELLED. A running attempt is given up: the caller ends its game session. One that
// is over stays as it is. If there is none with the id, it is made and CANCELLED: a
// Start for the match that arrives later finds it.
type Cancel struct {
	Request Request `cbor:"1,keyasint"` // ID, Match, and what is known of the queue
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

// ended is the event that ends the placement without a game session.
func (p *Placement) ended(now event.Time, status Status, reason string) *PlacementEnded {
	return &PlacementEnded{ID: p.ID, At: now, Status: status, Reason: reason}
}

func (p *Placement) timedOut(now event.Time) *PlacementEnded { return p.ended(now, TimedOut, "") }

func (s *State) applyPlacementEnded(e *PlacementEnded) {
	p, ok := s.placements.Get(e.ID)
	if !ok || p.HasEnded() || e.Status == Pending {
		return
	}
	next := *p
	next.Status, next.Ended, next.Reason = e.Status, e.At, e.Reason
	next.stopTrying()
	next.Trail.add(endStep(p, e))
	s.conclude(&next)
}

// endStep says how a placement ended, in the trail. The kinds are the statuses.
func endStep(p *Placement, e *PlacementEnded) Step {
	step := Step{At: e.At, Kind: StepKind(e.Status), Text: e.Reason}
	if e.Status == TimedOut {
		step.Text = fmt.Sprintf("no game session became ACTIVE within %d s", p.Deadline.Sub(p.Started).Milliseconds()/1000)
	}
	return step
}

// conclude stores a placement that has ended, and announces it.
func (s *State) conclude(p *Placement) {
	s.put(p)
	s.header.Announced++
	s.outbox = append(s.outbox, &Announcement{Seq: s.header.Announced, Placement: p})
}

// maxDue is the number of placements that one Expire ends, so that a crowd of
// time-outs does not hold up the commands.
const maxDue = 512

// Deadline is when Expire next has something to do, or zero. A placement with a
// running attempt has no deadline of its own: its game session has one.
func (s *State) Deadline() event.Time {
	first, _ := s.timers.Min()
	return first.at
}

// Expire decides and applies what is due, the earliest first and a bounded part of
// it at a time: call it again while Deadline is not after now.
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
