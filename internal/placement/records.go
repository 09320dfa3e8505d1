package placement

import (
	"strconv"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// Status is a status as it stands on the wire.
type Status string

// Source: API reference, GameSessionPlacement.Status.
const (
	Pending   Status = "PENDING"
	Fulfilled Status = "FULFILLED"
	Cancelled Status = "CANCELLED"
	TimedOut  Status = "TIMED_OUT"
	Failed    Status = "FAILED"
)

// A Request is what was asked for. It never changes.
type Request struct {
	ID             string           `cbor:"1,keyasint"`
	Queue          string           `cbor:"2,keyasint"`           // its name
	QueueID        string           `cbor:"3,keyasint,omitempty"` // tells it from a later queue of that name
	Maximum        int32            `cbor:"4,keyasint,omitempty"` // players
	Properties     []fleet.Property `cbor:"5,keyasint,omitempty"`
	Name           string           `cbor:"6,keyasint,omitempty"` // of the game session
	Data           string           `cbor:"7,keyasint,omitempty"`
	MatchmakerData string           `cbor:"8,keyasint,omitempty"`
	Latencies      []Latency        `cbor:"9,keyasint,omitempty"`
	Players        []Player         `cbor:"10,keyasint,omitempty"` // the desired player sessions
	Override       *Override        `cbor:"11,keyasint,omitempty"`
	Call           string           `cbor:"12,keyasint,omitempty"` // names the call that made it, so that its repetition finds it; "" for none
	Match          string           `cbor:"13,keyasint,omitempty"` // the match that is placed; "" without FlexMatch
	// What the queue says about its events when the placement begins: for when the
	// queue is gone before the placement is over.
	Topic     string `cbor:"14,keyasint,omitempty"` // NotificationTarget
	EventData string `cbor:"15,keyasint,omitempty"` // CustomEventData
}

// Latency is one player's latency to one location.
type Latency struct {
	PlayerID     string  `cbor:"1,keyasint"`
	Location     string  `cbor:"2,keyasint"`
	Milliseconds float64 `cbor:"3,keyasint"`
}

// A Player is one for whom a player session is wanted.
type Player struct {
	PlayerID string `cbor:"1,keyasint"`
	Data     string `cbor:"2,keyasint,omitempty"`
}

// An Override replaces the queue's order of locations for one placement.
type Override struct {
	LocationOrder []string `cbor:"1,keyasint,omitempty"`
	ListOnly      bool     `cbor:"2,keyasint,omitempty"` // PlacementFallbackStrategy NONE
}

// A Placement is one request and what became of it.
type Placement struct {
	Request  `cbor:"1,keyasint"`
	Status   Status     `cbor:"2,keyasint" often:"FULFILLED|PENDING|TIMED_OUT|CANCELLED|FAILED"`
	Started  event.Time `cbor:"3,keyasint"`
	Deadline event.Time `cbor:"4,keyasint"` // the queue's time-out
	Ended    event.Time `cbor:"5,keyasint,omitempty"`
	// Attempt is the one that runs, while PENDING, or the last one.
	Attempt *Attempt `cbor:"6,keyasint,omitempty"`
	Session *Session `cbor:"7,keyasint,omitempty"` // of a FULFILLED placement
	Reason  string   `cbor:"8,keyasint,omitempty"` // why it FAILED
	Trail   Trail    `cbor:"9,keyasint"`
}

// Over reports whether the placement has ended, well or not.
func (p *Placement) HasEnded() bool { return p.Status != Pending }

// Trying reports whether an attempt of the placement runs.
func (p *Placement) AttemptRunning() bool {
	return !p.HasEnded() && p.Attempt != nil && p.Attempt.Running
}

// waits reports whether the placement is PENDING and no attempt runs: its deadline
// is a timer.
func (p *Placement) waits() bool { return !p.HasEnded() && !p.AttemptRunning() }

// nextAttempt is the number of the attempt that comes next.
func (p *Placement) nextAttempt() int {
	if p.Attempt == nil {
		return 1
	}
	return p.Attempt.Number + 1
}

// SessionID is the id of the game session that an attempt of a placement starts, the
// last segment of its ARN: the placement's own for the first attempt, with the number
// behind it for later ones. Source: game session ARNs in captured placement events.
func SessionID(id string, attempt int) string {
	if attempt <= 1 {
		return id
	}
	return id + "-" + strconv.Itoa(attempt)
}

// An Attempt is one try to start a game session in one fleet location.
type Attempt struct {
	Number  int          `cbor:"1,keyasint"` // from 1
	Room    fleet.RoomID `cbor:"2,keyasint"`
	Running bool         `cbor:"3,keyasint,omitempty"` // a game session may exist, or may come to exist
}

// A Session is the game session that fulfilled a placement.
type Session struct {
	Room      fleet.RoomID   `cbor:"1,keyasint"`
	ID        string         `cbor:"2,keyasint"` // the last segment of the ARN
	IPAddress string         `cbor:"3,keyasint,omitempty"`
	DNSName   string         `cbor:"4,keyasint,omitempty"`
	Port      int32          `cbor:"5,keyasint,omitempty"`
	Players   []PlacedPlayer `cbor:"6,keyasint,omitempty"`
}

// A PlacedPlayer is a player with the player session that was reserved.
type PlacedPlayer struct {
	PlayerID      string                `cbor:"1,keyasint"`
	PlayerSession fleet.PlayerSessionID `cbor:"2,keyasint"`
}

// A Trail says how a placement came to be where it is. It is bounded: see MaxCandidates
// and MaxSteps.
type Trail struct {
	Candidates []Considered `cbor:"1,keyasint,omitempty"` // of the newest look, best first, then those that were dropped
	Steps      []Step       `cbor:"2,keyasint,omitempty"` // oldest first
	Omitted    int          `cbor:"3,keyasint,omitempty"` // candidates that were left out
	Earlier    int          `cbor:"4,keyasint,omitempty"` // steps before the first of Steps, which were left out
}

// The bounds of a trail.
const (
	MaxCandidates = 64
	MaxSteps      = 32
)

// Considered is one fleet location that was looked at.
type Considered struct {
	Room    fleet.RoomID `cbor:"1,keyasint"`
	Dropped string       `cbor:"2,keyasint,omitempty"` // why it is no candidate: "not in AllowedLocations", "player p2 reports 90 ms, the policy allows 70"
	Latency float64      `cbor:"3,keyasint,omitempty"` // average in milliseconds, if there is latency data
	Cost    float64      `cbor:"4,keyasint,omitempty"` // per hour
}

// A Step is something that happened to a placement.
type Step struct {
	At   event.Time `cbor:"1,keyasint"`
	Kind StepKind   `cbor:"2,keyasint" often:"ATTEMPT|FULFILLED|WAITING|REFUSED|ENDED"`
	// Room is that of the attempt.
	Room fleet.RoomID `cbor:"3,keyasint,omitempty"`
	Text string       `cbor:"4,keyasint,omitempty"` // in words, where the kind does not say all
}

// StepKind says what happened.
type StepKind string

// The kinds of steps, as the trail shows them.
const (
	StepAttempt   StepKind = "ATTEMPT" // a game session is asked for in Room
	StepRefused   StepKind = "REFUSED" // no server process was free there
	StepEnded     StepKind = "ENDED"   // the game session ended before it was ACTIVE
	StepWaiting   StepKind = "WAITING" // nothing is free; waits for capacity
	StepFulfilled StepKind = "FULFILLED"
	StepCancelled StepKind = "CANCELLED"
	StepTimedOut  StepKind = "TIMED_OUT"
	StepFailed    StepKind = "FAILED"
)
