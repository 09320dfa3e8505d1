package placement

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// Events lists the types of events in journals (301–349) and of records in snapshots (350–399). A number is never
// reused; see package event.
var Events = []event.Entry{
	{Number: 301, Type: (*PlacementStarted)(nil)},
	{Number: 302, Type: (*AttemptBegun)(nil)},
	{Number: 303, Type: (*AttemptEnded)(nil)},
	{Number: 304, Type: (*PlacementFulfilled)(nil)},
	{Number: 305, Type: (*PlacementEnded)(nil)},
	{Number: 306, Type: (*PlacementsForgotten)(nil)},
	{Number: 307, Type: (*AnnouncementsTrimmed)(nil)},
	{Number: 350, Type: (*Header)(nil)},
	{Number: 351, Type: (*Placement)(nil)},
	{Number: 352, Type: (*Announcement)(nil)},
}

// Commands lists the types of commands (301–399). A number is never reused; it is unrelated to the numbers of events.
// See package event.
var Commands = []event.Entry{
	{Number: 301, Type: (*Begin)(nil)},
	{Number: 302, Type: (*Ended)(nil)},
	{Number: 303, Type: (*Fail)(nil)},
	{Number: 304, Type: (*Forget)(nil)},
	{Number: 305, Type: (*Fulfil)(nil)},
	{Number: 306, Type: (*Refused)(nil)},
	{Number: 307, Type: (*Start)(nil)},
	{Number: 308, Type: (*Stop)(nil)},
	{Number: 309, Type: (*Trim)(nil)},
	{Number: 310, Type: (*Cancel)(nil), Level: 2},
}

// PlacementStarted begins a placement; with Room, its first attempt is running.
type PlacementStarted struct { //nolint:revive // as PlacementFulfilled and PlacementEnded
	Request    `cbor:"1,keyasint"`
	At         event.Time    `cbor:"2,keyasint"`
	Deadline   event.Time    `cbor:"3,keyasint"`
	Room       *fleet.RoomID `cbor:"4,keyasint,omitempty"`
	Candidates []Considered  `cbor:"5,keyasint,omitempty"`
	Omitted    int           `cbor:"6,keyasint,omitempty"`
}

// AttemptBegun begins the next attempt of a placement.
type AttemptBegun struct {
	ID         string       `cbor:"1,keyasint"`
	Number     int          `cbor:"2,keyasint"`
	Room       fleet.RoomID `cbor:"3,keyasint"`
	At         event.Time   `cbor:"4,keyasint"`
	Candidates []Considered `cbor:"5,keyasint,omitempty"`
	Omitted    int          `cbor:"6,keyasint,omitempty"`
}

// AttemptEnded ends an attempt without success: the placement continues, unless PlacementEnded follows.
type AttemptEnded struct {
	ID   string     `cbor:"1,keyasint"`
	At   event.Time `cbor:"2,keyasint"`
	Kind StepKind   `cbor:"3,keyasint" often:"REFUSED|ENDED"` // StepRefused or StepEnded
	Text string     `cbor:"4,keyasint,omitempty"`
}

// PlacementFulfilled ends a placement with a game session.
type PlacementFulfilled struct { //nolint:revive // Fulfilled is a status
	ID      string     `cbor:"1,keyasint"`
	At      event.Time `cbor:"2,keyasint"`
	Session Session    `cbor:"3,keyasint"`
}

// PlacementEnded ends a placement without a game session.
type PlacementEnded struct { //nolint:revive // Ended is a command
	ID     string     `cbor:"1,keyasint"`
	At     event.Time `cbor:"2,keyasint"`
	Status Status     `cbor:"3,keyasint"` // Cancelled, TimedOut or Failed
	Reason string     `cbor:"4,keyasint,omitempty"`
}

// PlacementsForgotten removes placements that are in the history.
type PlacementsForgotten struct {
	IDs []string `cbor:"1,keyasint"`
}

// AnnouncementsTrimmed removes published announcements.
type AnnouncementsTrimmed struct {
	Through uint64 `cbor:"1,keyasint"`
}

// Header is the first record of a snapshot.
type Header struct {
	Announced uint64 `cbor:"1,keyasint,omitempty"` // the number of the newest announcement
}

// An Announcement is an ended placement, until it is published in the event feed.
type Announcement struct {
	Seq       uint64     `cbor:"1,keyasint"`
	Placement *Placement `cbor:"2,keyasint"`
}
