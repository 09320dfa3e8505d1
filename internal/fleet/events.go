package fleet

import (
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// Events lists the types of events in journals (101–149) and of records in snapshots (150–199). A number is never
// reused; see package event.
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
	{Number: 128, Type: (*ProcessExited)(nil), Level: AgentLevel},
	{Number: 129, Type: (*ProcessSupervised)(nil), Level: ForceLevel},
	{Number: 130, Type: (*BackoffsChanged)(nil), Level: ForceLevel},
	{Number: 140, Type: (*ComputeClosed)(nil), Level: ClosingLevel},
	{Number: 141, Type: (*ProcessRequested)(nil), Level: RequestLevel},
	{Number: 142, Type: (*GameSessionHosted)(nil), Level: RequestLevel},
	{Number: 143, Type: (*BuildsChanged)(nil), Level: RequestLevel},
	{Number: 150, Type: (*Header)(nil)},
	{Number: 151, Type: (*Compute)(nil)},
	{Number: 152, Type: (*Process)(nil)},
	{Number: 153, Type: (*GameSession)(nil)},
	{Number: 154, Type: (*FleetEvent)(nil)},
	{Number: 155, Type: (*MorePlayers)(nil), Level: ArchiveLevel},
}

// Commands lists the types of commands (101–199). A number is never reused; it is unrelated to the numbers of events.
// See package event.
var Commands = []event.Entry{
	{Number: 101, Type: (*AcceptPlayer)(nil)},
	{Number: 102, Type: (*ActivateGameSession)(nil)},
	{Number: 103, Type: (*BackfillGameSession)(nil)},
	{Number: 104, Type: (*ClaimGameSession)(nil)},
	{Number: 105, Type: (*Clear)(nil)},
	{Number: 106, Type: (*ConnectProcess)(nil)},
	{Number: 107, Type: (*CreateGameSession)(nil)},
	{Number: 108, Type: (*DeregisterCompute)(nil)},
	{Number: 109, Type: (*EndProcess)(nil)},
	{Number: 110, Type: (*ForgetGameSessions)(nil)},
	{Number: 111, Type: (*ConfirmGameSession)(nil)},
	{Number: 112, Type: (*IssueToken)(nil)},
	{Number: 113, Type: (*LoseProcess)(nil)},
	{Number: 114, Type: (*Interrupt)(nil)},
	{Number: 115, Type: (*ReadyProcess)(nil)},
	{Number: 116, Type: (*RegisterCompute)(nil)},
	{Number: 117, Type: (*RemovePlayer)(nil)},
	{Number: 118, Type: (*ReportHealth)(nil)},
	{Number: 119, Type: (*ReservePlayers)(nil)},
	{Number: 120, Type: (*SetPolicy)(nil)},
	{Number: 121, Type: (*TerminateGameSession)(nil)},
	{Number: 122, Type: (*UpdateGameSession)(nil)},
	{Number: 123, Type: (*ForgetPlayers)(nil), Level: ArchiveLevel},
	{Number: 124, Type: (*ReleaseProcess)(nil), Level: LegacyLevel},
	{Number: 125, Type: (*MoveProcess)(nil), Level: LegacyLevel},
	{Number: 126, Type: (*ReleasePlayer)(nil), Level: ReleaseLevel},
	{Number: 127, Type: (*ExitProcess)(nil), Level: AgentLevel},
	{Number: 128, Type: (*StopCompute)(nil), Level: AgentLevel},
	{Number: 129, Type: (*SuperviseProcesses)(nil), Level: ForceLevel},
	{Number: 130, Type: (*ForceTerminateGameSession)(nil), Level: ForceLevel},
	{Number: 131, Type: (*ReportBackoffs)(nil), Level: ForceLevel},
	{Number: 140, Type: (*CloseCompute)(nil), Level: ClosingLevel},
	{Number: 141, Type: (*ReportBuilds)(nil), Level: RequestLevel},
}

// ComputeRegistered adds a compute.
type ComputeRegistered struct {
	Name            string     `cbor:"1,keyasint"`
	IPAddress       string     `cbor:"2,keyasint,omitempty"`
	DNSName         string     `cbor:"3,keyasint,omitempty"`
	CertificatePath string     `cbor:"4,keyasint,omitempty"`
	At              event.Time `cbor:"5,keyasint"`
}

// ComputeDeregistered removes a compute. Its processes have ended before.
type ComputeDeregistered struct {
	Name string `cbor:"1,keyasint"`
}

// TokenIssued gives a compute an auth token.
type TokenIssued struct {
	Compute string     `cbor:"1,keyasint"`
	Serial  uint64     `cbor:"2,keyasint"`
	Expires event.Time `cbor:"3,keyasint"`
}

// ProcessConnected adds a server process.
type ProcessConnected struct {
	ProcessKey
	Token       uint64     `cbor:"3,keyasint,omitempty"`
	Idempotency string     `cbor:"4,keyasint,omitempty"`
	SDKVersion  string     `cbor:"5,keyasint,omitempty"`
	SDKLanguage string     `cbor:"6,keyasint,omitempty"`
	At          event.Time `cbor:"7,keyasint"`
	ReadyBy     event.Time `cbor:"8,keyasint"`
}

// ProcessResumed gives a running process a new socket.
type ProcessResumed struct {
	ProcessKey
	Token       uint64     `cbor:"3,keyasint,omitempty"`
	Idempotency string     `cbor:"4,keyasint,omitempty"`
	HealthBy    event.Time `cbor:"5,keyasint,omitempty"`
	// Of the first socket of a process that was requested.
	SDKVersion  string `cbor:"6,keyasint,omitempty"`
	SDKLanguage string `cbor:"7,keyasint,omitempty"`
}

// ProcessLost records that the socket of a process closed.
type ProcessLost struct {
	ProcessKey
	ReconnectBy event.Time `cbor:"3,keyasint"`
}

// ProcessBecameReady makes a process able to host a game session.
type ProcessBecameReady struct {
	ProcessKey
	Port     int32      `cbor:"3,keyasint"`
	LogPaths []string   `cbor:"4,keyasint,omitempty"`
	At       event.Time `cbor:"5,keyasint"`
	HealthBy event.Time `cbor:"6,keyasint"`
}

// HealthReported is a health report of a process.
type HealthReported struct {
	ProcessKey
	Healthy  bool       `cbor:"3,keyasint,omitempty"`
	HealthBy event.Time `cbor:"4,keyasint"`
}

// ProcessAskedToEnd sets the deadline of a process that was, or will be, asked to end.
type ProcessAskedToEnd struct {
	ProcessKey
	By event.Time `cbor:"3,keyasint"`
}

// ProcessRequested adds a server process of another build than the fleet's own, which its agent has to start.
type ProcessRequested struct {
	ProcessKey
	Build   string     `cbor:"3,keyasint"`
	Yields  string     `cbor:"4,keyasint"` // id of the process on the compute whose slot it gets
	At      event.Time `cbor:"5,keyasint"`
	ReadyBy event.Time `cbor:"6,keyasint"`
}

// GameSessionHosted records that the requested process of a game session is ready, with the port that it has reported.
type GameSessionHosted struct {
	Ordinal uint64     `cbor:"1,keyasint"`
	Host    ProcessKey `cbor:"2,keyasint"`
	Port    int32      `cbor:"3,keyasint"`
}

// BuildsChanged follows ReportBuilds.
type BuildsChanged struct {
	Compute string   `cbor:"1,keyasint"`
	Builds  []string `cbor:"2,keyasint,omitempty"`
}

// ComputeClosed follows CloseCompute.
type ComputeClosed struct {
	Name  string     `cbor:"1,keyasint"`
	Until event.Time `cbor:"2,keyasint"`
}

// ProcessHasEnded ends a process; the end of its game session is a separate event.
type ProcessHasEnded struct {
	ProcessKey
	Reason   EndReason  `cbor:"3,keyasint"`
	At       event.Time `cbor:"4,keyasint"`
	ForgetAt event.Time `cbor:"5,keyasint"`
}

// ProcessExited records that the agent of an ended process has reported its end. A process that never connected is
// added, as ended.
type ProcessExited struct {
	ProcessKey
	Reason   EndReason  `cbor:"3,keyasint"`
	At       event.Time `cbor:"4,keyasint"`
	ForgetAt event.Time `cbor:"5,keyasint"`
}

// ProcessSupervised records that an agent runs a process.
type ProcessSupervised struct {
	ProcessKey
}

// BackoffsChanged replaces the back-offs of a compute.
type BackoffsChanged struct {
	Compute  string    `cbor:"1,keyasint"`
	Backoffs []Backoff `cbor:"2,keyasint,omitempty"`
}

// ProcessForgotten removes an ended process.
type ProcessForgotten struct {
	ProcessKey
}

// Interrupted extends the deadlines of game servers that could not reach the shard for a while. Without a Pause the
// shard has a new owner, which has no sockets. With one the owner was paused, or its clock was set: the sockets remain
// and deadlines move by Pause. Either way no deadline for a game server is earlier than ReconnectBy.
//
// A release that does not know Pause treats it as a new owner. That is harmless: it only follows the shard, and has no
// sockets when it becomes the owner.
type Interrupted struct {
	ReconnectBy event.Time    `cbor:"1,keyasint"`
	Pause       time.Duration `cbor:"2,keyasint,omitempty"` // negative: the clock was set back
}

// GameSessionCreated assigns a game session to a process, in ACTIVATING.
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
	Expires event.Time `cbor:"3,keyasint,omitempty"` // with Slots
	Slots   []Slot     `cbor:"4,keyasint,omitempty"` // of the players that it was created for: RESERVED
}

// GameSessionBackfilled adds the players of a match to a game session.
type GameSessionBackfilled struct {
	Ordinal        uint64     `cbor:"1,keyasint"`
	Match          string     `cbor:"2,keyasint"`
	MatchmakerData string     `cbor:"3,keyasint,omitempty"`
	Slots          []Slot     `cbor:"4,keyasint,omitempty"`
	At             event.Time `cbor:"5,keyasint"`
	Expires        event.Time `cbor:"6,keyasint"`
}

// GameSessionConfirmed records that the answer to the creation was sent.
type GameSessionConfirmed struct {
	Ordinal uint64 `cbor:"1,keyasint"`
}

// ChangedGameSession returns the ordinal of the game session whose description an event changes, or 0.
func ChangedGameSession(event any) uint64 {
	switch e := event.(type) {
	case *GameSessionHosted:
		return e.Ordinal
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

// GameSessionUpdated changes the fields that are set.
type GameSessionUpdated struct {
	Ordinal    uint64     `cbor:"1,keyasint"`
	Name       string     `cbor:"2,keyasint,omitempty"`
	Maximum    *int32     `cbor:"3,keyasint,omitempty"`
	Policy     Policy     `cbor:"4,keyasint,omitempty"`
	Protection string     `cbor:"5,keyasint,omitempty"`
	Properties []Property `cbor:"6,keyasint,omitempty"` // all of them, after the merge
}

// GameSessionTerminating records that the game session was asked to end.
type GameSessionTerminating struct {
	Ordinal uint64     `cbor:"1,keyasint"`
	At      event.Time `cbor:"2,keyasint"`
}

// GameSessionEnded makes a game session TERMINATED, its ACTIVE players COMPLETED and its RESERVED ones TIMEDOUT.
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

// A Slot is the slot of a new player session.
type Slot struct {
	ID       PlayerSessionID `cbor:"1,keyasint"`
	PlayerID string          `cbor:"2,keyasint"`
	Data     string          `cbor:"3,keyasint,omitempty"`
}

// PlayerAccepted makes a player session ACTIVE.
type PlayerAccepted struct {
	Session uint64     `cbor:"1,keyasint"`
	Index   uint32     `cbor:"2,keyasint"`
	At      event.Time `cbor:"3,keyasint,omitempty"` // 0: an earlier release did not store it
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

// PlayersForgotten removes the ended player sessions with numbers below Through, which are in the history.
type PlayersForgotten struct {
	Session uint64 `cbor:"1,keyasint"`
	Through uint32 `cbor:"2,keyasint"`
}

// FleetEventAdded adds a fleet event for DescribeFleetEvents.
type FleetEventAdded struct { //nolint:revive // "fleet event" is the API's term
	Code    string     `cbor:"1,keyasint"`
	Message string     `cbor:"2,keyasint"`
	At      event.Time `cbor:"3,keyasint"`
}

// FleetEventsDropped removes expired fleet events.
type FleetEventsDropped struct { //nolint:revive // "fleet event" is the API's term
	Through uint64 `cbor:"1,keyasint"`
}

// A FleetEvent is an entry of DescribeFleetEvents.
type FleetEvent struct { //nolint:revive // "fleet event" is the API's term
	Number  uint64     `cbor:"1,keyasint"` // order within the Room, from 1
	ID      string     `cbor:"2,keyasint"`
	Code    string     `cbor:"3,keyasint"`
	Message string     `cbor:"4,keyasint"`
	At      event.Time `cbor:"5,keyasint"`
}

// A Header is the first record of a Room in a snapshot: the counters, which only increase.
type Header struct {
	Sessions    uint64 `cbor:"1,keyasint,omitempty"`
	Tokens      uint64 `cbor:"2,keyasint,omitempty"`
	FleetEvents uint64 `cbor:"3,keyasint,omitempty"`
}
