package control

import (
	"context"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/wire"
)

// A PlacementTrail is a placement with the steps that led to its state.
type PlacementTrail struct {
	PlacementID string           `json:"placementId"`
	Queue       string           `json:"gameSessionQueueName"`
	Match       string           `json:"matchId,omitempty"` // the match that is placed
	Status      placement.Status `json:"status"`
	StartTime   time.Time        `json:"startTime"`
	Deadline    time.Time        `json:"deadline"` // when it is TIMED_OUT
	EndTime     *time.Time       `json:"endTime,omitempty"`
	Reason      string           `json:"reason,omitempty"` // why it FAILED
	// GameSessionArn is the game session of a FULFILLED placement, or of the current attempt, which may not exist yet.
	GameSessionArn string `json:"gameSessionArn,omitempty"`
	// Candidates are the fleet locations of the newest attempt: those where it can be placed, best first, then those
	// that were left out, with the reason.
	Candidates        []PlacementCandidate `json:"candidates"`
	OmittedCandidates int                  `json:"omittedCandidates,omitempty"` // of which nothing is kept
	Steps             []PlacementStep      `json:"steps"`                       // oldest first
	EarlierSteps      int                  `json:"earlierSteps,omitempty"`      // before them, of which nothing is kept
	Waiting           *PlacementWait       `json:"waiting,omitempty"`           // PENDING without an attempt
}

// A PlacementCandidate is a fleet location that was considered.
type PlacementCandidate struct {
	FleetID          string  `json:"fleetId,omitempty"`
	Location         string  `json:"location,omitempty"`
	AverageLatencyMS float64 `json:"averageLatencyMs,omitempty"` // of all players, if they gave any
	CostPerHour      float64 `json:"costPerHour,omitempty"`
	Dropped          string  `json:"dropped,omitempty"` // why nothing is placed there
}

// A PlacementStep is something that happened to a placement.
type PlacementStep struct {
	Time     time.Time          `json:"time"`
	Kind     placement.StepKind `json:"kind"`
	FleetID  string             `json:"fleetId,omitempty"`
	Location string             `json:"location,omitempty"`
	Text     string             `json:"text,omitempty"`
}

// A PlacementWait is what a placement waits for.
type PlacementWait struct {
	Lines []PlacementLine `json:"lines"` // where a free server process serves it; none: no location can take it now
	// NextChoice is when the candidates change by themselves, by the queue's next latency policy.
	NextChoice *time.Time `json:"nextChoice,omitempty"`
}

// A PlacementLine is the line for one fleet location.
type PlacementLine struct {
	FleetID  string `json:"fleetId"`
	Location string `json:"location"`
	Position int    `json:"position"` // 1: served next
	Length   int    `json:"length"`   // of the line
}

// PlacementTrail explains a placement, also one in the history. NotFoundException: there is none.
func (p *Plane) PlacementTrail(ctx context.Context, id string) (*PlacementTrail, error) {
	in := &wire.DescribeGameSessionPlacementInput{PlacementId: id}
	if err := wire.OpDescribeGameSessionPlacement.Check(in); err != nil {
		return nil, err
	}
	r, err := p.findPlacement(ctx, id)
	if err != nil {
		return nil, err
	}
	t := &PlacementTrail{
		PlacementID: r.ID, Queue: r.Queue, Match: r.Match, Status: r.Status, StartTime: r.Started.Time(),
		Deadline: r.Deadline.Time(), EndTime: momentTo(r.Ended), Reason: r.Reason,
		Candidates: []PlacementCandidate{}, Steps: []PlacementStep{},
		OmittedCandidates: r.Trail.Omitted, EarlierSteps: r.Trail.Earlier,
	}
	switch {
	case r.Session != nil:
		t.GameSessionArn = p.GameSessionARN(r.Session.Room, r.Session.ID)
	case r.AttemptRunning():
		t.GameSessionArn = p.GameSessionARN(r.Attempt.Room, placement.SessionID(r.ID, r.Attempt.Number))
	case !r.HasEnded():
		t.Waiting = p.placementWait(id)
	}
	for _, c := range r.Trail.Candidates {
		t.Candidates = append(t.Candidates, PlacementCandidate{
			FleetID: string(c.Room.Fleet), Location: c.Room.Location,
			AverageLatencyMS: c.Latency, CostPerHour: c.Cost, Dropped: c.Dropped,
		})
	}
	for _, s := range r.Trail.Steps {
		t.Steps = append(t.Steps, placementStep(&s))
	}
	return t, nil
}

func placementStep(s *placement.Step) PlacementStep {
	return PlacementStep{
		Time: s.At.Time(), Kind: s.Kind, FleetID: string(s.Room.Fleet), Location: s.Room.Location, Text: s.Text,
	}
}

// momentTo returns a time; nil for zero.
func momentTo(t event.Time) *time.Time {
	if t == 0 {
		return nil
	}
	at := t.Time()
	return &at
}

// placementWait returns what a placement waits for; nil if it does not wait.
func (p *Plane) placementWait(id string) *PlacementWait {
	positions, next, ok := p.drivers.Waits(id)
	if !ok {
		return nil
	}
	w := &PlacementWait{Lines: []PlacementLine{}, NextChoice: momentTo(next)}
	for _, at := range positions {
		w.Lines = append(w.Lines, PlacementLine{
			FleetID: string(at.Room.Fleet), Location: at.Room.Location, Position: at.Number, Length: at.Length,
		})
	}
	return w
}
