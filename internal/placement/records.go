package placement

import (
	"strconv"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// A Status is the status of a placement, as the API names it.
type Status string

// Source: API reference, GameSessionPlacement.Status.
const (
	Pending   Status = "PENDING"
	Fulfilled Status = "FULFILLED"
	Cancelled Status = "CANCELLED"
	TimedOut  Status = "TIMED_OUT"
	Failed    Status = "FAILED"
)

// A Request is the request for a placement. It never changes.
type Request struct {
	ID             string           `cbor:"1,keyasint"`
	Queue          string           `cbor:"2,keyasint"`           // its name
	QueueID        string           `cbor:"3,keyasint,omitempty"` // distinguishes later queues of that name
	Maximum        int32            `cbor:"4,keyasint,omitempty"` // players
	Properties     []fleet.Property `cbor:"5,keyasint,omitempty"`
	Name           string           `cbor:"6,keyasint,omitempty"` // of the game session
	Data           string           `cbor:"7,keyasint,omitempty"`
	MatchmakerData string           `cbor:"8,keyasint,omitempty"`
	Latencies      []Latency        `cbor:"9,keyasint,omitempty"`
	Players        []Player         `cbor:"10,keyasint,omitempty"` // the desired player sessions
	Override       *Override        `cbor:"11,keyasint,omitempty"`
	// identifies the API call, so that its repetition is recognised; "" for none
	Call  string `cbor:"12,keyasint,omitempty"`
	Match string `cbor:"13,keyasint,omitempty"` // the match to be placed; "" without FlexMatch
	// Settings of the queue at the start, in case it is deleted before the placement ends.
	Topic     string `cbor:"14,keyasint,omitempty"` // NotificationTarget
	EventData string `cbor:"15,keyasint,omitempty"` // CustomEventData
	// Turn, from 1 on, is the number of the placement in its queue, for destinations with weights: see
	// catalog.Alias.Turn. 0: the queue had none. From catalog.InstanceLevel on.
	Turn int32 `cbor:"16,keyasint,omitempty"`
}

// Latency is one player's latency to one location.
type Latency struct {
	PlayerID     string  `cbor:"1,keyasint"`
	Location     string  `cbor:"2,keyasint"`
	Milliseconds float64 `cbor:"3,keyasint"`
}

// A Player is a desired player session.
type Player struct {
	PlayerID string `cbor:"1,keyasint"`
	Data     string `cbor:"2,keyasint,omitempty"`
}

// An Override replaces the queue's order of locations for one placement.
type Override struct {
	LocationOrder []string `cbor:"1,keyasint,omitempty"`
	ListOnly      bool     `cbor:"2,keyasint,omitempty"` // PlacementFallbackStrategy NONE
}

// A Placement is a request with its status and result.
type Placement struct {
	Request  `cbor:"1,keyasint"`
	Status   Status     `cbor:"2,keyasint" often:"FULFILLED|PENDING|TIMED_OUT|CANCELLED|FAILED"`
	Started  event.Time `cbor:"3,keyasint"`
	Deadline event.Time `cbor:"4,keyasint"` // the queue's timeout
	Ended    event.Time `cbor:"5,keyasint,omitempty"`
	// Attempt is the running one, while PENDING, or the last one.
	Attempt *Attempt `cbor:"6,keyasint,omitempty"`
	Session *Session `cbor:"7,keyasint,omitempty"` // of a FULFILLED placement
	Reason  string   `cbor:"8,keyasint,omitempty"` // why it FAILED
	Trail   Trail    `cbor:"9,keyasint"`
}

// HasEnded reports whether the placement is not PENDING any more.
func (p *Placement) HasEnded() bool { return p.Status != Pending }

// AttemptRunning reports whether an attempt is running.
func (p *Placement) AttemptRunning() bool {
	return !p.HasEnded() && p.Attempt != nil && p.Attempt.Running
}

// waits reports whether the placement is PENDING without a running attempt: its deadline is a timer.
func (p *Placement) waits() bool { return !p.HasEnded() && !p.AttemptRunning() }

func (p *Placement) nextAttempt() int {
	if p.Attempt == nil {
		return 1
	}
	return p.Attempt.Number + 1
}

// SessionID returns the id of the game session of an attempt, the last segment of its ARN: the placement's own for the
// first attempt, with the number appended for later ones. Source: game session ARNs in captured placement events.
func SessionID(id string, attempt int) string {
	if attempt <= 1 {
		return id
	}
	return id + "-" + strconv.Itoa(attempt)
}

// An Attempt is one attempt to start a game session in one fleet location.
type Attempt struct {
	Number  int          `cbor:"1,keyasint"` // from 1
	Room    fleet.RoomID `cbor:"2,keyasint"`
	Running bool         `cbor:"3,keyasint,omitempty"` // a game session may exist, or may be created
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

// A PlacedPlayer is a player with the reserved player session.
type PlacedPlayer struct {
	PlayerID      string                `cbor:"1,keyasint"`
	PlayerSession fleet.PlayerSessionID `cbor:"2,keyasint"`
}

// A Trail is the history of a placement. It is bounded: see MaxCandidates and MaxSteps.
type Trail struct {
	Candidates []Considered `cbor:"1,keyasint,omitempty"` // of the last selection, best first, then the dropped ones
	Steps      []Step       `cbor:"2,keyasint,omitempty"` // oldest first
	Omitted    int          `cbor:"3,keyasint,omitempty"` // further candidates
	Earlier    int          `cbor:"4,keyasint,omitempty"` // dropped steps before the first of Steps
}

// The bounds of a trail.
const (
	MaxCandidates = 64
	MaxSteps      = 32
)

// Considered is one fleet location that was considered.
type Considered struct {
	Room    fleet.RoomID `cbor:"1,keyasint"`
	Dropped string       `cbor:"2,keyasint,omitempty"` // why it was dropped: "not in AllowedLocations"
	Latency float64      `cbor:"3,keyasint,omitempty"` // average in milliseconds, if there is latency data
	Cost    float64      `cbor:"4,keyasint,omitempty"` // per hour
}

// A Step is an event in the trail of a placement.
type Step struct {
	At   event.Time `cbor:"1,keyasint"`
	Kind StepKind   `cbor:"2,keyasint" often:"ATTEMPT|FULFILLED|WAITING|REFUSED|ENDED"`
	// Room is that of the attempt.
	Room fleet.RoomID `cbor:"3,keyasint,omitempty"`
	Text string       `cbor:"4,keyasint,omitempty"` // details, if the kind is not sufficient
}

// A StepKind says what happened at a step of a trail.
type StepKind string

// The kinds of steps, as the trail shows them.
const (
	StepAttempt   StepKind = "ATTEMPT" // a game session was requested in Room
	StepRefused   StepKind = "REFUSED" // no server process was free there
	StepEnded     StepKind = "ENDED"   // the game session ended before it was ACTIVE
	StepWaiting   StepKind = "WAITING" // no capacity; the placement waits
	StepFulfilled StepKind = "FULFILLED"
	StepCancelled StepKind = "CANCELLED"
	StepTimedOut  StepKind = "TIMED_OUT"
	StepFailed    StepKind = "FAILED"
)
