package fleet

import (
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// Events lists the types that stand in journals (101–149) and the records that
// stand in snapshots (150–199). Numbers are for ever; see package event.
var Events = []event.Entry{
	{Number: 101, Type: (*ComputeRegistered)(nil)},
	{Number: 102, Type: (*ComputeDeregistered)(nil)},
	{Number: 103, Type: (*TokenIssued)(nil)},
	{Number: 104, Type: (*ProcessConnected)(nil)},
	{Number: 105, Type: (*ProcessResumed)(nil)},
	{Number: 106, Type: (*ProcessLost)(nil)},
	{Number: 107, Type: (*ProcessBecameReady)(nil)},
	{Number: 108, Type: (*HealthReported)(nil)},
	{Number: 109, Type: (*ProcessAskedToEnd)(nil)},
	{Number: 110, Type: (*ProcessHasEnded)(nil)},
	{Number: 111, Type: (*ProcessForgotten)(nil)},
	{Number: 112, Type: (*Interrupted)(nil)},
	{Number: 113, Type: (*GameSessionCreated)(nil)},
	{Number: 114, Type: (*GameSessionActivated)(nil)},
	{Number: 115, Type: (*GameSessionUpdated)(nil)},
	{Number: 116, Type: (*GameSessionTerminating)(nil)},
	{Number: 117, Type: (*GameSessionEnded)(nil)},
	{Number: 118, Type: (*GameSessionsForgotten)(nil)},
	{Number: 119, Type: (*PlayersReserved)(nil)},
	{Number: 120, Type: (*PlayerAccepted)(nil)},
	{Number: 121, Type: (*PlayerRemoved)(nil)},
	{Number: 122, Type: (*PlayersTimedOut)(nil)},
	{Number: 123, Type: (*FleetEventAdded)(nil)},
	{Number: 124, Type: (*FleetEventsDropped)(nil)},
	{Number: 125, Type: (*GameSessionConfirmed)(nil)},
	{Number: 126, Type: (*GameSessionBackfilled)(nil)},
	{Number: 127, Type: (*PlayersForgotten)(nil), Level: ArchiveLevel},
	{Number: 150, Type: (*Header)(nil)},
	{Number: 151, Type: (*Compute)(nil)},
	{Number: 152, Type: (*Process)(nil)},
	{Number: 153, Type: (*GameSession)(nil)},
	{Number: 154, Type: (*FleetEvent)(nil)},
	{Number: 155, Type: (*MorePlayers)(nil), Level: ArchiveLevel},
}

// ComputeRegistered adds a compute.
type ComputeRegistered struct {
	Name            string     `cbor:"1,keyasint"`
	IPAddress       string     `cbor:"2,keyasint,omitempty"`
	DNSName         string     `cbor:"3,keyasint,omitempty"`
	CertificatePath string     `cbor:"4,keyasint,omitempty"`
	At              event.Time `cbor:"5,keyasint"`
}

// ComputeDeregistered removes a compute; its processes have ended before.
type ComputeDeregistered struct {
	Name string `cbor:"1,keyasint"`
}

// TokenIssued adds an auth token to a compute.
type TokenIssued struct {
	Compute string     `cbor:"1,keyasint"`
	Serial  uint64     `cbor:"2,keyasint"`
	Expires event.Time `cbor:"3,keyasint"`
}

// ProcessConnected begins the life of a server process.
type ProcessConnected struct {
	ProcessKey
	Token       uint64     `cbor:"3,keyasint,omitempty"`
	Idempotency string     `cbor:"4,keyasint,omitempty"`
	SDKVersion  string     `cbor:"5,keyasint,omitempty"`
	SDKLanguage string     `cbor:"6,keyasint,omitempty"`
	At          event.Time `cbor:"7,keyasint"`
	ReadyBy     event.Time `cbor:"8,keyasint"`
}

// ProcessResumed gives a living process a new socket.
type ProcessResumed struct {
	ProcessKey
	Token       uint64     `cbor:"3,keyasint,omitempty"`
	Idempotency string     `cbor:"4,keyasint,omitempty"`
	HealthBy    event.Time `cbor:"5,keyasint,omitempty"`
}

// ProcessLost notes that the socket of a process is gone.
type ProcessLost struct {
	ProcessKey
	ReconnectBy event.Time `cbor:"3,keyasint"`
}

// ProcessBecameReady makes a process one that can host a game session.
type ProcessBecameReady struct {
	ProcessKey
	Port     int32      `cbor:"3,keyasint"`
	LogPaths []string   `cbor:"4,keyasint,omitempty"`
	At       event.Time `cbor:"5,keyasint"`
	HealthBy event.Time `cbor:"6,keyasint"`
}

// HealthReported notes a heartbeat.
type HealthReported struct {
	ProcessKey
	Healthy  bool       `cbor:"3,keyasint,omitempty"`
	HealthBy event.Time `cbor:"4,keyasint"`
}

// ProcessAskedToEnd says that the process has been, or has yet to be, told to end.
type ProcessAskedToEnd struct {
	ProcessKey
	By event.Time `cbor:"3,keyasint"`
}

// ProcessHasEnded ends a process; the end of its game session is an event of its own.
type ProcessHasEnded struct {
	ProcessKey
	Reason   EndReason  `cbor:"3,keyasint"`
	At       event.Time `cbor:"4,keyasint"`
	ForgetAt event.Time `cbor:"5,keyasint"`
}

// ProcessForgotten removes an ended process.
type ProcessForgotten struct {
	ProcessKey
}

// Interrupted notes that game servers could not reach the shard for a while, and gives them
// time to make up for it. Without a Pause the shard has a new owner, which has no sockets:
// no process has to be back earlier than BackBy. With one the owner stood still, or its
// clock was set, and the sockets remain: the deadlines move by Pause. Either way no deadline
// for a game server comes earlier than BackBy.
//
// A release that does not know Pause takes it for a new owner. It may do so: it only follows
// the shard, and when it becomes the owner it has no sockets.
type Interrupted struct {
	ReconnectBy event.Time    `cbor:"1,keyasint"`
	Pause       time.Duration `cbor:"2,keyasint,omitempty"` // negative: the clock was set back
}

// GameSessionCreated puts a game session on a process, in ACTIVATING.
type GameSessionCreated struct {
	Ordinal        uint64     `cbor:"1,keyasint"`
	ID             string     `cbor:"2,keyasint"`
	Name           string     `cbor:"3,keyasint,omitempty"`
	CreatorID      string     `cbor:"4,keyasint,omitempty"`
	Data           string     `cbor:"5,keyasint,omitempty"`
	MatchmakerData string     `cbor:"6,keyasint,omitempty"`
	Properties     []Property `cbor:"7,keyasint,omitempty"`
	Maximum        int32      `cbor:"8,keyasint"`
	Protection     string     `cbor:"9,keyasint,omitempty"`
	Host           ProcessKey `cbor:"10,keyasint"`
	IPAddress      string     `cbor:"11,keyasint,omitempty"`
	DNSName        string     `cbor:"12,keyasint,omitempty"`
	Port           int32      `cbor:"13,keyasint"`
	Fingerprint    []byte     `cbor:"14,keyasint,omitempty"`
	At             event.Time `cbor:"15,keyasint"`
	ActivateBy     event.Time `cbor:"16,keyasint"`
	ConfirmBy      event.Time `cbor:"17,keyasint,omitempty"`
	Placement      string     `cbor:"18,keyasint,omitempty"`
	Attempt        int32      `cbor:"19,keyasint,omitempty"`
	Desired        []Slot     `cbor:"20,keyasint,omitempty"`
}

// GameSessionActivated makes a game session ACTIVE.
type GameSessionActivated struct {
	Ordinal uint64     `cbor:"1,keyasint"`
	At      event.Time `cbor:"2,keyasint"`
	Expires event.Time `cbor:"3,keyasint,omitempty"` // with Seats
	Slots   []Slot     `cbor:"4,keyasint,omitempty"` // of the players it was created for: RESERVED
}

// GameSessionBackfilled lets the players of a match into a game session.
type GameSessionBackfilled struct {
	Ordinal        uint64     `cbor:"1,keyasint"`
	Match          string     `cbor:"2,keyasint"`
	MatchmakerData string     `cbor:"3,keyasint,omitempty"`
	Slots          []Slot     `cbor:"4,keyasint,omitempty"`
	At             event.Time `cbor:"5,keyasint"`
	Expires        event.Time `cbor:"6,keyasint"`
}

// GameSessionConfirmed says that somebody knows of the game session for whom it
// was created.
type GameSessionConfirmed struct {
	Ordinal uint64 `cbor:"1,keyasint"`
}

// ChangedGameSession is the ordinal of the game session that callers of the API
// see changed after an event; 0 if the event changes none.
func ChangedGameSession(event any) uint64 {
	switch e := event.(type) {
	case *GameSessionActivated:
		return e.Ordinal
	case *GameSessionBackfilled:
		return e.Ordinal
	case *GameSessionUpdated:
		return e.Ordinal
	case *GameSessionTerminating:
		return e.Ordinal
	case *GameSessionEnded:
		return e.Ordinal
	case *PlayersReserved:
		return e.Session
	case *PlayerAccepted:
		return e.Session
	case *PlayerRemoved:
		return e.Session
	case *PlayersTimedOut:
		return e.Session
	}
	return 0
}

// GameSessionUpdated changes what is present.
type GameSessionUpdated struct {
	Ordinal    uint64     `cbor:"1,keyasint"`
	Name       string     `cbor:"2,keyasint,omitempty"`
	Maximum    *int32     `cbor:"3,keyasint,omitempty"`
	Policy     Policy     `cbor:"4,keyasint,omitempty"`
	Protection string     `cbor:"5,keyasint,omitempty"`
	Properties []Property `cbor:"6,keyasint,omitempty"` // all of them, after the merge
}

// GameSessionTerminating says that the game session was asked to end.
type GameSessionTerminating struct {
	Ordinal uint64     `cbor:"1,keyasint"`
	At      event.Time `cbor:"2,keyasint"`
}

// GameSessionEnded makes a game session TERMINATED: its ACTIVE players are
// COMPLETED, its RESERVED ones TIMEDOUT.
type GameSessionEnded struct {
	Ordinal uint64     `cbor:"1,keyasint"`
	Reason  string     `cbor:"2,keyasint,omitempty"`
	At      event.Time `cbor:"3,keyasint"`
}

// GameSessionsForgotten removes game sessions that are in the history.
type GameSessionsForgotten struct {
	Ordinals []uint64 `cbor:"1,keyasint"`
}

// PlayersReserved adds player sessions, all RESERVED.
type PlayersReserved struct {
	Session uint64     `cbor:"1,keyasint"`
	Players []Slot     `cbor:"2,keyasint"`
	At      event.Time `cbor:"3,keyasint"`
	Expires event.Time `cbor:"4,keyasint"`
}

// A Seat is one player of PlayersReserved.
type Slot struct {
	ID       PlayerSessionID `cbor:"1,keyasint"`
	PlayerID string          `cbor:"2,keyasint"`
	Data     string          `cbor:"3,keyasint,omitempty"`
}

// PlayerAccepted makes a player session ACTIVE.
type PlayerAccepted struct {
	Session uint64 `cbor:"1,keyasint"`
	Index   uint32 `cbor:"2,keyasint"`
}

// PlayerRemoved makes a player session COMPLETED.
type PlayerRemoved struct {
	Session uint64     `cbor:"1,keyasint"`
	Index   uint32     `cbor:"2,keyasint"`
	At      event.Time `cbor:"3,keyasint"`
}

// PlayersTimedOut makes player sessions TIMEDOUT.
type PlayersTimedOut struct {
	Session uint64     `cbor:"1,keyasint"`
	Indexes []uint32   `cbor:"2,keyasint"`
	At      event.Time `cbor:"3,keyasint"`
}

// PlayersForgotten removes player sessions that have ended and are in the history: the
// first ones of the game session that ended, so many in all since its beginning.
type PlayersForgotten struct {
	Session uint64 `cbor:"1,keyasint"`
	Through uint32 `cbor:"2,keyasint"`
}

// FleetEventAdded adds a fleet event, which DescribeFleetEvents shows.
type FleetEventAdded struct {
	Code    string     `cbor:"1,keyasint"`
	Message string     `cbor:"2,keyasint"`
	At      event.Time `cbor:"3,keyasint"`
}

// FleetEventsDropped removes the fleet events that are past their time.
type FleetEventsDropped struct {
	Through uint64 `cbor:"1,keyasint"`
}

// A Note is a fleet event as it is kept.
type FleetEvent struct {
	Number  uint64     `cbor:"1,keyasint"` // order within the Room, from 1
	ID      string     `cbor:"2,keyasint"`
	Code    string     `cbor:"3,keyasint"`
	Message string     `cbor:"4,keyasint"`
	At      event.Time `cbor:"5,keyasint"`
}

// A Header is the first record of a Room in a snapshot: the counters that
// never go back.
type Header struct {
	Sessions    uint64 `cbor:"1,keyasint,omitempty"`
	Tokens      uint64 `cbor:"2,keyasint,omitempty"`
	FleetEvents uint64 `cbor:"3,keyasint,omitempty"`
}
