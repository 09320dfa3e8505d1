package matchmaking

import "github.com/muster-gg/muster/internal/event"

// Events lists the types of events in journals (401–449) and of records in snapshots (450–499). A number is never
// reused; see package event.
var Events = []event.Entry{
	{Number: 401, Type: (*TicketStarted)(nil)},
	{Number: 402, Type: (*TicketEnded)(nil)},
	{Number: 403, Type: (*MatchProposed)(nil)},
	{Number: 404, Type: (*MatchAnswered)(nil)},
	{Number: 405, Type: (*MatchAccepted)(nil)},
	{Number: 406, Type: (*MatchDropped)(nil)},
	{Number: 407, Type: (*MatchCompleted)(nil)},
	{Number: 408, Type: (*TicketsForgotten)(nil)},
	{Number: 409, Type: (*AnnouncementsTrimmed)(nil)},
	{Number: 410, Type: (*ConfigurationDiscarded)(nil)},
	{Number: 450, Type: (*Header)(nil)},
	{Number: 451, Type: (*Ticket)(nil)},
	{Number: 452, Type: (*Match)(nil)},
	{Number: 453, Type: (*Announcement)(nil)},
}

// Commands lists the types of commands (401–499). A number is never reused; it is unrelated to the numbers of events.
// See package event.
var Commands = []event.Entry{
	{Number: 401, Type: (*Accept)(nil)},
	{Number: 402, Type: (*Discard)(nil)},
	{Number: 403, Type: (*FillFailed)(nil)},
	{Number: 404, Type: (*Filled)(nil)},
	{Number: 405, Type: (*Forget)(nil)},
	{Number: 406, Type: (*Placed)(nil)},
	{Number: 407, Type: (*PlacementFailed)(nil)},
	{Number: 408, Type: (*PlacementTimedOut)(nil)},
	{Number: 409, Type: (*Propose)(nil)},
	{Number: 410, Type: (*GameSessionEnded)(nil)},
	{Number: 411, Type: (*Start)(nil)},
	{Number: 412, Type: (*Stop)(nil)},
	{Number: 413, Type: (*Trim)(nil)},
}

// TicketStarted starts a ticket: it enters its pool.
type TicketStarted struct {
	ID            string        `cbor:"1,keyasint"`
	Configuration Configuration `cbor:"2,keyasint"`
	Players       []Player      `cbor:"3,keyasint"`
	Backfill      bool          `cbor:"4,keyasint,omitempty"`
	Automatic     bool          `cbor:"5,keyasint,omitempty"`
	GameSession   string        `cbor:"6,keyasint,omitempty"`
	Call          string        `cbor:"7,keyasint,omitempty"`
	At            event.Time    `cbor:"8,keyasint"`
	Deadline      event.Time    `cbor:"9,keyasint"`
	Follows       string        `cbor:"10,keyasint,omitempty"` // see Ticket
	Number        int           `cbor:"11,keyasint,omitempty"`
}

// TicketEnded ends a ticket that was SEARCHING: CANCELLED, TIMED_OUT or FAILED. It leaves its pool.
type TicketEnded struct {
	ID      string     `cbor:"1,keyasint"`
	Status  Status     `cbor:"2,keyasint"`
	Reason  string     `cbor:"3,keyasint,omitempty"`
	Message string     `cbor:"4,keyasint,omitempty"`
	At      event.Time `cbor:"5,keyasint"`
}

// MatchProposed creates a match: its tickets leave their pool.
type MatchProposed struct {
	ID       string        `cbor:"1,keyasint"`
	Settings MatchSettings `cbor:"2,keyasint"`
	Tickets  []string      `cbor:"3,keyasint"`
	Teams    []Team        `cbor:"4,keyasint"`
	Metrics  []Metric      `cbor:"5,keyasint,omitempty"`
	Backfill string        `cbor:"6,keyasint,omitempty"`
	At       event.Time    `cbor:"7,keyasint"`
	AcceptBy event.Time    `cbor:"8,keyasint,omitempty"` // 0: MatchAccepted or MatchCompleted follows
}

// MatchAnswered adds answers of players.
type MatchAnswered struct {
	ID      string     `cbor:"1,keyasint"`
	Answers []Answer   `cbor:"2,keyasint"` // new ones
	Ticket  string     `cbor:"3,keyasint"`
	At      event.Time `cbor:"4,keyasint"`
}

// MatchAccepted moves a match to StagePlacing or StageFilling.
type MatchAccepted struct {
	ID    string     `cbor:"1,keyasint"`
	Stage Stage      `cbor:"2,keyasint"`
	At    event.Time `cbor:"3,keyasint"`
	Asked bool       `cbor:"4,keyasint,omitempty"` // the players were asked: AcceptMatchCompleted is announced
}

// MatchDropped ends a match without a game session. The tickets in Ended end, all others return to their pool. With
// Cancel the match stays in StageCancelling until a second MatchDropped.
type MatchDropped struct {
	ID         string     `cbor:"1,keyasint"`
	At         event.Time `cbor:"2,keyasint"`
	Acceptance string     `cbor:"3,keyasint,omitempty"` // Rejected or TimedOut: AcceptMatchCompleted is announced
	Reason     string     `cbor:"4,keyasint,omitempty"` // of tickets that search again
	Message    string     `cbor:"5,keyasint,omitempty"`
	Ended      []Ending   `cbor:"6,keyasint,omitempty"`
	Cancel     bool       `cbor:"7,keyasint,omitempty"` // its placement must be cancelled
}

// An Ending is the end of a ticket with its match.
type Ending struct {
	ID      string `cbor:"1,keyasint"`
	Status  Status `cbor:"2,keyasint"`
	Reason  string `cbor:"3,keyasint,omitempty"`
	Message string `cbor:"4,keyasint,omitempty"`
}

// MatchCompleted ends a match: its tickets are COMPLETED. Connection is nil for STANDALONE.
type MatchCompleted struct {
	ID         string      `cbor:"1,keyasint"`
	At         event.Time  `cbor:"2,keyasint"`
	Connection *Connection `cbor:"3,keyasint,omitempty"`
	Asked      bool        `cbor:"4,keyasint,omitempty"` // STANDALONE: AcceptMatchCompleted is announced
}

// TicketsForgotten removes tickets that are in the history.
type TicketsForgotten struct {
	IDs []string `cbor:"1,keyasint"`
}

// AnnouncementsTrimmed removes published announcements.
type AnnouncementsTrimmed struct {
	Through uint64 `cbor:"1,keyasint"`
}

// ConfigurationDiscarded removes the data of a deleted configuration.
type ConfigurationDiscarded struct {
	ID string `cbor:"1,keyasint"`
}

// Header is the first record of a snapshot.
type Header struct {
	Announced uint64  `cbor:"1,keyasint,omitempty"` // the number of the newest announcement
	Waits     []Waits `cbor:"2,keyasint,omitempty"`
}

// Waits is the moving average of a configuration's waits; see Estimate.
type Waits struct {
	Configuration string  `cbor:"1,keyasint"` // its id
	Seconds       float64 `cbor:"2,keyasint"`
}
