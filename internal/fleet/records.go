package fleet

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/event"
)

// A Compute is a host that was registered to run server processes.
type Compute struct {
	Name            string     `cbor:"1,keyasint"`
	IPAddress       string     `cbor:"2,keyasint,omitempty"`
	DNSName         string     `cbor:"3,keyasint,omitempty"`
	CertificatePath string     `cbor:"4,keyasint,omitempty"` // kept as given, never opened
	Created         event.Time `cbor:"5,keyasint"`
	Tokens          []Token    `cbor:"6,keyasint,omitempty"` // oldest first
	Backoffs        []Backoff  `cbor:"7,keyasint,omitempty"` // as its agent has reported them
	// Builds are the builds besides the fleet's own that its agent has, as it has reported them.
	Builds []string `cbor:"13,keyasint,omitempty"`
	// ClosedUntil is until when its processes get no game session; see CloseCompute. 0: it is not closed.
	ClosedUntil event.Time `cbor:"12,keyasint,omitempty"`
}

// MaxBackoffs is the maximum number of back-offs of a compute.
const MaxBackoffs = 10

// A Backoff is a program of a runtime configuration whose processes crash, so that its agent waits before it starts the
// next one.
type Backoff struct {
	LaunchPath string     `cbor:"1,keyasint"`
	Parameters string     `cbor:"2,keyasint,omitempty"`
	Process    string     `cbor:"3,keyasint"`           // id of the one that has crashed last
	ExitCode   int64      `cbor:"4,keyasint,omitempty"` // of that; -N: ended by signal N
	Crashes    int32      `cbor:"5,keyasint"`           // in a row
	Next       event.Time `cbor:"6,keyasint"`           // no process is started before
	Output     string     `cbor:"7,keyasint,omitempty"` // last lines
}

// isSame reports whether b is about the same crash as o: the times of two reports differ.
func (b *Backoff) isSame(o *Backoff) bool {
	return b.LaunchPath == o.LaunchPath && b.Parameters == o.Parameters && b.Process == o.Process &&
		b.Crashes == o.Crashes
}

// A Token is an auth token of a compute. Its text is derived from the serial and the region's secret, so a copy of the
// journal does not reveal it.
type Token struct {
	Serial  uint64     `cbor:"1,keyasint"`
	Expires event.Time `cbor:"2,keyasint"`
}

// ProcessStatus is the status of a server process.
type ProcessStatus uint8

// A process is connected, then ready, then hosts its only game session, then has ended. An ended one is kept for a
// while, so that its id is not reused.
const (
	ProcessInitializing ProcessStatus = iota + 1
	ProcessIdle
	ProcessHosting
	ProcessEnded
)

// An EndReason says why a process ended.
type EndReason uint8

// The reasons, with the fleet event of each.
const (
	EndedItself      EndReason = iota + 1 // ProcessEnding: no event
	EndedCrashed                          // did not reconnect: SERVER_PROCESS_CRASHED
	EndedUnhealthy                        // SERVER_PROCESS_TERMINATED_UNHEALTHY
	EndedNeverReady                       // SERVER_PROCESS_PROCESS_READY_TIMEOUT
	EndedByForce                          // by request, or because it did not: SERVER_PROCESS_FORCE_TERMINATED
	EndedWithCompute                      // the compute was deregistered: no event
	EndedByMove                           // it is in another room now: no event
)

// ProcessKey identifies a server process in its location.
type ProcessKey struct {
	Compute string `cbor:"1,keyasint"`
	ID      string `cbor:"2,keyasint"` // pID, chosen by the launcher
}

func (k ProcessKey) before(o ProcessKey) bool {
	if c := strings.Compare(k.Compute, o.Compute); c != 0 {
		return c < 0
	}
	return k.ID < o.ID
}

// A Process is a server process.
type Process struct {
	ProcessKey
	Status      ProcessStatus `cbor:"3,keyasint"`
	Connected   bool          `cbor:"4,keyasint,omitempty"` // has a socket
	Token       uint64        `cbor:"5,keyasint,omitempty"` // serial of the token it connected with; 0: by signature
	Idempotency string        `cbor:"6,keyasint,omitempty"` // IdempotencyToken of its newest socket
	SDKVersion  string        `cbor:"7,keyasint,omitempty"`
	SDKLanguage string        `cbor:"8,keyasint,omitempty"`
	Port        int32         `cbor:"9,keyasint,omitempty"`  // from ProcessReady
	LogPaths    []string      `cbor:"10,keyasint,omitempty"` // from ProcessReady
	Created     event.Time    `cbor:"11,keyasint"`
	Ready       event.Time    `cbor:"12,keyasint,omitempty"`
	Ended       event.Time    `cbor:"13,keyasint,omitempty"`
	End         EndReason     `cbor:"14,keyasint,omitempty"`
	Session     uint64        `cbor:"15,keyasint,omitempty"` // ordinal of its game session
	Unhealthy   int           `cbor:"16,keyasint,omitempty"` // bad health reports in a row
	ReadyBy     event.Time    `cbor:"17,keyasint,omitempty"` // must have called ProcessReady
	ReconnectBy event.Time    `cbor:"18,keyasint,omitempty"` // must have reconnected
	HealthBy    event.Time    `cbor:"19,keyasint,omitempty"` // must have reported its health
	TerminateBy event.Time    `cbor:"20,keyasint,omitempty"` // was asked to end, and must have ended
	ForgetAt    event.Time    `cbor:"21,keyasint,omitempty"` // an ended process is removed
	Exited      bool          `cbor:"22,keyasint,omitempty"` // its agent has reported its end
	Supervised  bool          `cbor:"23,keyasint,omitempty"` // an agent has reported that it runs it
	Build       string        `cbor:"24,keyasint,omitempty"` // see requests.go; "": the fleet's own
	Requested   bool          `cbor:"25,keyasint,omitempty"` // with Build: it has not connected yet
	Yields      string        `cbor:"26,keyasint,omitempty"` // with Build: id of the process whose slot it gets

	record uint64 // the generation of its creation, 0 after it was returned to a caller; see ownership
}

// wake returns the earliest deadline of the process, or zero.
func (p *Process) wake() event.Time {
	if p.Status == ProcessEnded {
		return p.ForgetAt
	}
	return earliest(p.ReadyBy, p.ReconnectBy, p.HealthBy, p.TerminateBy)
}

// A GameSessionStatus is the status of a game session, as the API names it.
type GameSessionStatus string

// Source: API reference, GameSession.Status.
const (
	Activating  GameSessionStatus = "ACTIVATING"
	Active      GameSessionStatus = "ACTIVE"
	Terminating GameSessionStatus = "TERMINATING"
	Terminated  GameSessionStatus = "TERMINATED"
)

// Policy is a PlayerSessionCreationPolicy.
type Policy string

// Source: API reference, PlayerSessionCreationPolicy.
const (
	AcceptAll Policy = "ACCEPT_ALL"
	DenyAll   Policy = "DENY_ALL"
)

// The reasons of a game session that ended because it was terminated. Source: API reference, GameSession.StatusReason.
const (
	TriggeredOnProcessTerminate = "TRIGGERED_ON_PROCESS_TERMINATE"
	ForceTerminated             = "FORCE_TERMINATED"
)

// A Property is one custom game property.
type Property struct {
	Key   string `cbor:"1,keyasint"`
	Value string `cbor:"2,keyasint"`
}

// A GameSession is a game session that a server process hosts or has hosted.
type GameSession struct {
	Ordinal        uint64            `cbor:"1,keyasint"` // order of creation in the Room, from 1
	ID             string            `cbor:"2,keyasint"` // the last segment of the ARN
	Name           string            `cbor:"3,keyasint,omitempty"`
	CreatorID      string            `cbor:"4,keyasint,omitempty"`
	Data           string            `cbor:"5,keyasint,omitempty"`
	MatchmakerData string            `cbor:"6,keyasint,omitempty"`
	Properties     []Property        `cbor:"7,keyasint,omitempty"`
	Maximum        int32             `cbor:"8,keyasint"`
	Policy         Policy            `cbor:"9,keyasint" often:"ACCEPT_ALL|DENY_ALL"`
	Protection     string            `cbor:"10,keyasint,omitempty"`
	Status         GameSessionStatus `cbor:"11,keyasint" often:"ACTIVE|ACTIVATING|TERMINATING|TERMINATED"`
	StatusReason   string            `cbor:"12,keyasint,omitempty"`
	Created        event.Time        `cbor:"13,keyasint"`
	Ended          event.Time        `cbor:"14,keyasint,omitempty"`
	ActivateBy     event.Time        `cbor:"15,keyasint,omitempty"` // while ACTIVATING
	Host           ProcessKey        `cbor:"16,keyasint"`
	IPAddress      string            `cbor:"17,keyasint,omitempty"`
	DNSName        string            `cbor:"18,keyasint,omitempty"`
	Port           int32             `cbor:"19,keyasint"`
	Fingerprint    []byte            `cbor:"20,keyasint,omitempty"` // of the request that created it
	CurrentPlayers []*PlayerSession  `cbor:"21,keyasint,omitempty"` // RESERVED and ACTIVE, by index
	PastPlayers    []*PlayerSession  `cbor:"22,keyasint,omitempty"` // COMPLETED and TIMEDOUT, by end; see archive.go
	ConfirmBy      event.Time        `cbor:"23,keyasint,omitempty"` // see confirmation.go
	Placement      string            `cbor:"24,keyasint,omitempty"` // see placed.go
	Attempt        int32             `cbor:"25,keyasint,omitempty"` // of the placement
	Desired        []Slot            `cbor:"26,keyasint,omitempty"` // while ACTIVATING
	Activated      event.Time        `cbor:"27,keyasint,omitempty"` // 0: it never was ACTIVE
	Filled         string            `cbor:"28,keyasint,omitempty"` // id of the last match that was backfilled
	// how many ended player sessions are only in the history
	Archived uint32 `cbor:"29,keyasint,omitempty"`
	// when it was asked to end; 0: it was not, or in a release that did not store the time. FilledAt likewise
	TerminatingSince event.Time `cbor:"30,keyasint,omitempty"`
	FilledAt         event.Time `cbor:"31,keyasint,omitempty"` // when the last match was backfilled

	ownership
}

// HasEnded reports whether the game session is TERMINATED.
func (g *GameSession) HasEnded() bool { return g.Status == Terminated }

// Players returns the number of RESERVED and ACTIVE player sessions.
func (g *GameSession) Players() int32 { return int32(len(g.CurrentPlayers)) }

// Free returns the number of free slots; zero if the maximum was lowered below the number of players.
func (g *GameSession) Free() int32 { return max(0, g.Maximum-g.Players()) }

// PlayerSessions lists the player sessions by creation, without those that are only in the history.
func (g *GameSession) PlayerSessions() []*PlayerSession {
	all := slices.Concat(g.CurrentPlayers, g.PastPlayers)
	slices.SortFunc(all, func(a, b *PlayerSession) int { return int(a.Index) - int(b.Index) })
	return all
}

// PlayerSession finds a player session by its id, unless it is only in the history.
func (g *GameSession) PlayerSession(id PlayerSessionID) (*PlayerSession, bool) {
	for _, list := range [][]*PlayerSession{g.CurrentPlayers, g.PastPlayers} {
		for _, p := range list {
			if p.ID == id {
				return p, true
			}
		}
	}
	return nil, false
}

// wake returns the earliest deadline of the game session and its players, or zero.
func (g *GameSession) wake() event.Time {
	return earliestExpiry(earliest(g.ActivateBy, g.confirmDeadline()), g.CurrentPlayers)
}

// newDeadline returns the earliest deadline that was added since old (nil: all are new), or zero. New players add
// deadlines, and when the last one leaves the deadline of the confirmation applies again.
func (g *GameSession) newDeadline(old *GameSession) event.Time {
	if old == nil {
		return g.wake()
	}
	return earliestExpiry(g.confirmDeadline(), g.CurrentPlayers[min(len(old.CurrentPlayers), len(g.CurrentPlayers)):])
}

// earliestExpiry returns the earliest of at and the ends of reservations, as far as they are set.
func earliestExpiry(at event.Time, players []*PlayerSession) event.Time {
	for _, p := range players {
		at = earliest(at, p.Expires)
	}
	return at
}

// slotOf finds a player by the index of the player session, which is the position until a player leaves.
func (g *GameSession) slotOf(index uint32) (int, bool) {
	if i := int(index); i < len(g.CurrentPlayers) && g.CurrentPlayers[i].Index == index {
		return i, true
	}
	return slices.BinarySearchFunc(g.CurrentPlayers, index,
		func(p *PlayerSession, index uint32) int { return cmp.Compare(p.Index, index) })
}

// A PlayerSessionStatus is the status of a player session, as the API names it.
type PlayerSessionStatus string

// Source: API reference, PlayerSession.Status.
const (
	Reserved  PlayerSessionStatus = "RESERVED"
	InGame    PlayerSessionStatus = "ACTIVE"
	Completed PlayerSessionStatus = "COMPLETED"
	TimedOut  PlayerSessionStatus = "TIMEDOUT"
)

// A PlayerSession is a slot in a game session that a player holds or has held.
type PlayerSession struct {
	ID       PlayerSessionID     `cbor:"1,keyasint"`
	Index    uint32              `cbor:"2,keyasint"`           // order of creation in the game session, from 0
	Joined   uint32              `cbor:"9,keyasint,omitempty"` // see Accepted; beside Index it takes no memory
	PlayerID string              `cbor:"3,keyasint"`
	Data     string              `cbor:"4,keyasint,omitempty"`
	Status   PlayerSessionStatus `cbor:"5,keyasint" often:"ACTIVE|RESERVED|COMPLETED|TIMEDOUT"`
	Created  event.Time          `cbor:"6,keyasint"`
	Expires  event.Time          `cbor:"7,keyasint,omitempty"` // while RESERVED
	Ended    event.Time          `cbor:"8,keyasint,omitempty"`
}

// Accepted returns when the player session became ACTIVE. It is zero if the player never connected, or did so in a
// release that did not store the time.
func (p *PlayerSession) Accepted() event.Time {
	if p.Joined == 0 {
		return 0
	}
	return p.Created + event.Time(p.Joined-1)
}

// accept records when the player connected: Joined is 1 more than the milliseconds since Created. A clock that was set
// back makes it 1.
func (p *PlayerSession) accept(at event.Time) {
	if at != 0 { // an event of an earlier release has no time
		p.Joined = uint32(min(max(at-p.Created, 0)+1, math.MaxUint32))
	}
}

// earliest returns the earliest time that is set, or zero.
func earliest(times ...event.Time) event.Time {
	var first event.Time
	for _, t := range times {
		if t != 0 && (first == 0 || t < first) {
			first = t
		}
	}
	return first
}
