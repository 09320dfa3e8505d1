package matchmaking

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/ruleset"
)

// Status is a status as it stands on the wire.
type Status string

// Source: API reference, MatchmakingTicket.Status. The answer of StartMatchmaking
// alone says QUEUED: a ticket that is durable is SEARCHING.
const (
	Queued             Status = "QUEUED"
	Searching          Status = "SEARCHING"
	RequiresAcceptance Status = "REQUIRES_ACCEPTANCE"
	Placing            Status = "PLACING"
	Completed          Status = "COMPLETED"
	Failed             Status = "FAILED"
	Cancelled          Status = "CANCELLED"
	TimedOut           Status = "TIMED_OUT"
)

// The reasons and messages of tickets. Source: captured events, for tickets that
// timed out, were cancelled by request or failed; the others are our own.
const (
	ReasonTimedOut   = "TimedOut"
	ReasonCancelled  = "Cancelled"
	ReasonUnexpected = "UNEXPECTED_ERROR"
	// The reasons of a ticket that searches again.
	ReasonAcceptance = "AcceptanceFailed"
	ReasonPlacement  = "PlacementTimedOut"
	ReasonBackfill   = "BackfillFailed"

	MessageTimedOut         = "Removed from matchmaking due to timing out."
	MessageCancelled        = "Cancelled by request."
	MessageUnexpected       = "An unexpected error was encountered during match placing."
	MessageNotAccepted      = "Cancelled because not all players of the ticket accepted the match."
	MessageGameSessionEnded = "Cancelled because the game session has ended."
	MessageAcceptance       = "The proposed match was not accepted by all players."
	MessageBroken           = "Another ticket of the proposed match was cancelled."
	MessagePlacement        = "No game session could be placed for the match in time."
	MessageBackfill         = "The game session to be backfilled takes no players any more."
	MessageExpired          = "Another ticket of the match timed out."
)

// A Configuration is what a ticket and its match take from their matchmaking
// configuration when they begin.
type Configuration struct {
	Name string `cbor:"1,keyasint"`
	ID   string `cbor:"2,keyasint"` // tells it from a later one of the same name
}

// A Player is one player of a ticket.
type Player struct {
	ID         string      `cbor:"1,keyasint"`
	Attributes []Attribute `cbor:"2,keyasint,omitempty"` // by name
	Latencies  []Latency   `cbor:"3,keyasint,omitempty"` // by location; nil: none given
	Team       string      `cbor:"4,keyasint,omitempty"` // of a backfill ticket as given; else as matched
}

// An Attribute is a value that a player has.
type Attribute struct {
	Name  string        `cbor:"1,keyasint"`
	Value ruleset.Value `cbor:"2,keyasint"`
}

// Latency is a latency to one location in milliseconds.
type Latency struct {
	Location     string `cbor:"1,keyasint"`
	Milliseconds int32  `cbor:"2,keyasint"`
}

// A Ticket is one request for a match and what became of it.
type Ticket struct {
	ID            string        `cbor:"1,keyasint"`
	Configuration Configuration `cbor:"2,keyasint"`
	Players       []Player      `cbor:"3,keyasint"`
	Backfill      bool          `cbor:"4,keyasint,omitempty"`
	Automatic     bool          `cbor:"5,keyasint,omitempty"` // a backfill ticket of our own
	GameSession   string        `cbor:"6,keyasint,omitempty"` // ARN, of a backfill ticket
	Call          string        `cbor:"7,keyasint,omitempty"` // names the call that made it, so that its repetition finds it
	Status        Status        `cbor:"8,keyasint" often:"SEARCHING|COMPLETED|CANCELLED|TIMED_OUT"`
	Reason        string        `cbor:"9,keyasint,omitempty" often:"TimedOut|Cancelled"`
	Message       string        `cbor:"10,keyasint,omitempty" often:"Removed from matchmaking due to timing out.|Cancelled by request."`
	Started       event.Time    `cbor:"11,keyasint"`
	Deadline      event.Time    `cbor:"12,keyasint"` // of the request
	Ended         event.Time    `cbor:"13,keyasint,omitempty"`
	Match         string        `cbor:"14,keyasint,omitempty"` // the match that it is in, or was in when it ended
	Round         int           `cbor:"15,keyasint,omitempty"` // how often it has returned to the pool
	Connection    *Connection   `cbor:"16,keyasint,omitempty"` // of a COMPLETED ticket with a game session
	Metrics       []Metric      `cbor:"17,keyasint,omitempty"` // of its last match
	Follows       string        `cbor:"18,keyasint,omitempty"` // of an automatic ticket: the match after which it was opened
	Number        int           `cbor:"19,keyasint,omitempty"` // of an automatic ticket: how many of that match were before it
}

// Over reports whether the ticket is in its last status.
func (t *Ticket) HasEnded() bool {
	switch t.Status {
	case Completed, Failed, Cancelled, TimedOut:
		return true
	}
	return false
}

// A Connection says where a match is played.
type Connection struct {
	GameSession string          `cbor:"1,keyasint"` // ARN
	IPAddress   string          `cbor:"2,keyasint,omitempty"`
	DNSName     string          `cbor:"3,keyasint,omitempty"`
	Port        int32           `cbor:"4,keyasint,omitempty"`
	Players     []MatchedPlayer `cbor:"5,keyasint,omitempty"` // of a ticket: its own players
}

// A MatchedPlayer is a player with the player session that was reserved.
type MatchedPlayer struct {
	PlayerID      string                `cbor:"1,keyasint"`
	PlayerSession fleet.PlayerSessionID `cbor:"2,keyasint"`
}

// A Match is tickets that were proposed to be played together. It is kept for as
// long as something is to be done about it.
type Match struct {
	ID       string        `cbor:"1,keyasint"`
	Settings MatchSettings `cbor:"2,keyasint"`
	Tickets  []string      `cbor:"3,keyasint"` // a backfill ticket stands first
	Teams    []Team        `cbor:"4,keyasint"`
	Metrics  []Metric      `cbor:"5,keyasint,omitempty"`
	Stage    Stage         `cbor:"6,keyasint"`

	AcceptBy event.Time `cbor:"7,keyasint,omitempty"` // in StageAcceptance
	Answers  []Answer   `cbor:"8,keyasint,omitempty"` // by player id
	// Backfill is the game session that is filled (its ARN), of a match with a backfill ticket.
	Backfill string `cbor:"9,keyasint,omitempty"`
}

// Stage says what a match waits for.
type Stage uint8

// The stages of a match.
const (
	StageAcceptance Stage = iota + 1 // its players' answers
	StagePlacing                     // a placement with its id
	StageFilling                     // the game session that it is added to
	StageCancelling                  // the end of its placement; its tickets have left it
)

// Terms are what the configuration says about a match when it is proposed.
type MatchSettings struct {
	Configuration     Configuration `cbor:"1,keyasint"`
	Acceptance        int32         `cbor:"2,keyasint,omitempty"` // seconds; 0: none is required
	Standalone        bool          `cbor:"3,keyasint,omitempty"`
	AutomaticBackfill bool          `cbor:"4,keyasint,omitempty"`
	RequestTimeout    int32         `cbor:"5,keyasint"` // seconds; of automatic backfill tickets
	Capacity          int32         `cbor:"6,keyasint"` // players that all teams can have
}

// A Team is one team of a match. All teams of the rule set are there.
type Team struct {
	Name    string   `cbor:"1,keyasint"`
	Max     int32    `cbor:"2,keyasint,omitempty"`
	Players []string `cbor:"3,keyasint,omitempty"` // ids
}

// A Metric counts the evaluations of one rule.
type Metric struct {
	Rule   string `cbor:"1,keyasint"`
	Passed int    `cbor:"2,keyasint,omitempty"`
	Failed int    `cbor:"3,keyasint,omitempty"`
}

// An Answer is what a player said to a match.
type Answer struct {
	PlayerID string `cbor:"1,keyasint"`
	Accepted bool   `cbor:"2,keyasint,omitempty"`
}
