package placement

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// Begin begins attempt Number, the next one, of a placement that is PENDING without a running attempt. After the
// deadline it ends the placement as TIMED_OUT. Otherwise it changes nothing and returns the current placement.
// NotFound, as for all commands below.
type Begin struct {
	ID         string       `cbor:"1,keyasint,omitzero"`
	Number     int          `cbor:"2,keyasint,omitzero"`
	Room       fleet.RoomID `cbor:"3,keyasint"`
	Candidates []Considered `cbor:"4,keyasint,omitzero"`
	Omitted    int          `cbor:"5,keyasint,omitzero"`
}

func (c Begin) decide(s *State, now event.Time) ([]any, error) {
	p, err := s.find(c.ID)
	if err != nil || !p.waits() || c.Number != p.nextAttempt() {
		return nil, err
	}
	if now >= p.Deadline {
		return []any{p.timedOut(now)}, nil
	}
	candidates, omitted := bounded(c.Candidates, c.Omitted)
	return []any{&AttemptBegun{ID: c.ID, Number: c.Number, Room: c.Room, At: now, Candidates: candidates,
		Omitted: omitted}}, nil
}

func (c Begin) answer(s *State) any { return s.shown(c.ID) }

func (e *AttemptBegun) apply(s *State) {
	p, ok := s.placements.Get(e.ID)
	if !ok || !p.waits() {
		return
	}
	next := *p
	next.Trail.Candidates, next.Trail.Omitted = e.Candidates, e.Omitted
	next.begin(e.Number, e.Room, e.At)
	s.put(&next)
}

// begin adds a new attempt to a placement that nobody has seen yet.
func (p *Placement) begin(number int, room fleet.RoomID, at event.Time) {
	p.Attempt = &Attempt{Number: number, Room: room, Running: true}
	p.Trail.add(Step{At: at, Kind: StepAttempt, Room: room})
}

// Refused ends attempt Number, which created no game session. After the deadline the placement is TIMED_OUT. Like Ended
// and Fulfil it ignores an attempt that is not running.
type Refused struct {
	ID     string `cbor:"1,keyasint,omitzero"`
	Number int    `cbor:"2,keyasint,omitzero"`
	Text   string `cbor:"3,keyasint,omitzero"`
}

func (c Refused) decide(s *State, now event.Time) ([]any, error) {
	p, err := s.find(c.ID)
	if err != nil || !p.runs(c.Number) {
		return nil, err
	}
	return p.attemptEnded(now, StepRefused, c.Text), nil
}

func (c Refused) answer(s *State) any { return s.shown(c.ID) }

// Ended ends attempt Number, whose game session ended before it was ACTIVE. If it was terminated by a caller, the
// placement ends as FAILED.
type Ended struct {
	ID         string `cbor:"1,keyasint,omitzero"`
	Number     int    `cbor:"2,keyasint,omitzero"`
	Terminated bool   `cbor:"3,keyasint,omitzero"`
	Text       string `cbor:"4,keyasint,omitzero"`
}

// Source: API reference, GameSessionPlacement.Status: FAILED when the game session was terminated before the placement
// process could complete.
func (c Ended) decide(s *State, now event.Time) ([]any, error) {
	p, err := s.find(c.ID)
	if err != nil || !p.runs(c.Number) {
		return nil, err
	}
	if c.Terminated {
		text := clip(c.Text)
		return []any{&AttemptEnded{ID: p.ID, At: now, Kind: StepEnded, Text: text}, p.ended(now, Failed, text)}, nil
	}
	return p.attemptEnded(now, StepEnded, c.Text), nil
}

func (c Ended) answer(s *State) any { return s.shown(c.ID) }

func (p *Placement) runs(number int) bool { return p.AttemptRunning() && p.Attempt.Number == number }

// attemptEnded ends the running attempt, and the placement if no time is left.
func (p *Placement) attemptEnded(now event.Time, kind StepKind, text string) []any {
	ended := &AttemptEnded{ID: p.ID, At: now, Kind: kind, Text: clip(text)}
	if now >= p.Deadline {
		return []any{ended, p.timedOut(now)}
	}
	return []any{ended}
}

func (e *AttemptEnded) apply(s *State) {
	p, ok := s.placements.Get(e.ID)
	if !ok || !p.AttemptRunning() {
		return
	}
	next := *p
	next.stopAttempt()
	next.Trail.add(Step{At: e.At, Kind: e.Kind, Room: p.Attempt.Room, Text: e.Text})
	s.put(&next)
}

// stopAttempt ends the running attempt of a copy, if there is one.
func (p *Placement) stopAttempt() {
	if p.Attempt != nil && p.Attempt.Running {
		last := *p.Attempt
		last.Running = false
		p.Attempt = &last
	}
}

// Fulfil ends attempt Number, whose game session is ACTIVE. The deadline does not matter: the game session became
// ACTIVE in time.
type Fulfil struct {
	ID      string  `cbor:"1,keyasint,omitzero"`
	Number  int     `cbor:"2,keyasint,omitzero"`
	Session Session `cbor:"3,keyasint"`
}

func (c Fulfil) decide(s *State, now event.Time) ([]any, error) {
	p, err := s.find(c.ID)
	if err != nil || !p.runs(c.Number) {
		return nil, err
	}
	return []any{&PlacementFulfilled{ID: p.ID, At: now, Session: c.Session}}, nil
}

func (c Fulfil) answer(s *State) any { return s.shown(c.ID) }

func (e *PlacementFulfilled) apply(s *State) {
	p, ok := s.placements.Get(e.ID)
	if !ok || p.HasEnded() {
		return
	}
	next := *p
	next.Status, next.Ended, next.Session = Fulfilled, e.At, &e.Session
	next.stopAttempt()
	next.Trail.add(Step{At: e.At, Kind: StepFulfilled, Room: e.Session.Room})
	s.conclude(&next)
}
