package matchmaking

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A Status is the status of a ticket, as the API names it.
type Status string

// Source: API reference, MatchmakingTicket.Status. Only the answer of StartMatchmaking has QUEUED: a durable ticket is
// SEARCHING.
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

// The reasons and messages of tickets. Source: captured events, for tickets that timed out, were cancelled by request
// or failed; the others are our own.
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

// A Configuration identifies a matchmaking configuration.
type Configuration struct {
	Name string `cbor:"1,keyasint"`
	ID   string `cbor:"2,keyasint"` // distinguishes later ones of the same name
}

// A Player is a player of a ticket.
type Player struct {
	ID         string      `cbor:"1,keyasint"`
	Attributes []Attribute `cbor:"2,keyasint,omitempty"` // by name
	Latencies  []Latency   `cbor:"3,keyasint,omitempty"` // by location; nil: none given
	Team       string      `cbor:"4,keyasint,omitempty"` // of a backfill ticket as given; else as matched
}

// An Attribute is an attribute of a player.
type Attribute struct {
	Name  string        `cbor:"1,keyasint"`
	Value ruleset.Value `cbor:"2,keyasint"`
}

// Latency is a latency to one location in milliseconds.
type Latency struct {
	Location     string `cbor:"1,keyasint"`
	Milliseconds int32  `cbor:"2,keyasint"`
}

// A Ticket is a request for a match with its status and result.
type Ticket struct {
	ID            string        `cbor:"1,keyasint"`
	Configuration Configuration `cbor:"2,keyasint"`
	Players       []Player      `cbor:"3,keyasint"`
	Backfill      bool          `cbor:"4,keyasint,omitempty"`
	Automatic     bool          `cbor:"5,keyasint,omitempty"` // a backfill ticket of the service
	GameSession   string        `cbor:"6,keyasint,omitempty"` // ARN, of a backfill ticket
	// identifies the API call, so that its repetition is recognised
	Call       string      `cbor:"7,keyasint,omitempty"`
	Status     Status      `cbor:"8,keyasint" often:"SEARCHING|COMPLETED|CANCELLED|TIMED_OUT"`
	Reason     string      `cbor:"9,keyasint,omitempty" often:"TimedOut|Cancelled"`
	Message    string      `cbor:"10,keyasint,omitempty" often:"Removed from matchmaking due to timing out.|Cancelled by request."`
	Started    event.Time  `cbor:"11,keyasint"`
	Deadline   event.Time  `cbor:"12,keyasint"` // of the request
	Ended      event.Time  `cbor:"13,keyasint,omitempty"`
	Match      string      `cbor:"14,keyasint,omitempty"` // the current match, or the last one of an ended ticket
	Round      int         `cbor:"15,keyasint,omitempty"` // how often it has returned to the pool
	Connection *Connection `cbor:"16,keyasint,omitempty"` // of a COMPLETED ticket with a game session
	Metrics    []Metric    `cbor:"17,keyasint,omitempty"` // of its last match
	Follows    string      `cbor:"18,keyasint,omitempty"` // of an automatic ticket: the match before it
	// of an automatic ticket: the number of that match's tickets before it
	Number int `cbor:"19,keyasint,omitempty"`
}

// HasEnded reports whether the ticket is in a final status.
func (t *Ticket) HasEnded() bool {
	switch t.Status {
	case Completed, Failed, Cancelled, TimedOut:
		return true
	}
	return false
}

// A Connection locates the game session of a match.
type Connection struct {
	GameSession string          `cbor:"1,keyasint"` // ARN
	IPAddress   string          `cbor:"2,keyasint,omitempty"`
	DNSName     string          `cbor:"3,keyasint,omitempty"`
	Port        int32           `cbor:"4,keyasint,omitempty"`
	Players     []MatchedPlayer `cbor:"5,keyasint,omitempty"` // of a ticket: its own players
}

// A MatchedPlayer is a player with the reserved player session.
type MatchedPlayer struct {
	PlayerID      string                `cbor:"1,keyasint"`
	PlayerSession fleet.PlayerSessionID `cbor:"2,keyasint"`
}

// A Match is a group of tickets for one game session. It is kept until its end.
type Match struct {
	ID       string        `cbor:"1,keyasint"`
	Settings MatchSettings `cbor:"2,keyasint"`
	Tickets  []string      `cbor:"3,keyasint"` // a backfill ticket is first
	Teams    []Team        `cbor:"4,keyasint"`
	Metrics  []Metric      `cbor:"5,keyasint,omitempty"`
	Stage    Stage         `cbor:"6,keyasint"`

	AcceptBy event.Time `cbor:"7,keyasint,omitempty"` // in StageAcceptance
	Answers  []Answer   `cbor:"8,keyasint,omitempty"` // by player id
	// Backfill is the ARN of the game session to fill, of a match with a backfill ticket.
	Backfill string `cbor:"9,keyasint,omitempty"`
}

// Stage is what a match waits for.
type Stage uint8

// The stages of a match.
const (
	StageAcceptance Stage = iota + 1 // answers of its players
	StagePlacing                     // the placement with its id
	StageFilling                     // the game session to fill
	StageCancelling                  // the end of its placement; it has no tickets any more
)

// MatchSettings is what the configuration specifies for a match when it is proposed.
type MatchSettings struct {
	Configuration     Configuration `cbor:"1,keyasint"`
	Acceptance        int32         `cbor:"2,keyasint,omitempty"` // seconds; 0: not required
	Standalone        bool          `cbor:"3,keyasint,omitempty"`
	AutomaticBackfill bool          `cbor:"4,keyasint,omitempty"`
	RequestTimeout    int32         `cbor:"5,keyasint"` // seconds; of automatic backfill tickets
	Capacity          int32         `cbor:"6,keyasint"` // maximum players of all teams
}

// A Team is one team of a match. A match has all teams of the rule set.
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

// An Answer is a player's answer to a match.
type Answer struct {
	PlayerID string `cbor:"1,keyasint"`
	Accepted bool   `cbor:"2,keyasint,omitempty"`
}
