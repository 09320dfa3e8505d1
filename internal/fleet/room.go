package fleet

import (
	"fmt"
	"time"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/arn"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/search"
)

// Settings are the times and limits that a Room goes by. They shape new
// deadlines only: those that stand in records stay as they are.
type Settings struct {
	Region              string        // stands in the ARNs of game sessions
	TokenLifetime       time.Duration // of an auth token; a new one is given when 15 minutes are left
	Reservation         time.Duration // how long a RESERVED player session waits for its player
	ProcessGrace        time.Duration // how long a process may stay without a socket
	ReadyTimeout        time.Duration // from connecting to ProcessReady
	HealthInterval      time.Duration // between two health reports
	HealthMisses        int           // reports in a row that may be bad or missing
	TerminationGrace    time.Duration // from OnProcessTerminate to ProcessEnding
	ProcessRetention    time.Duration // how long the id of an ended process stays taken
	FleetEventRetention time.Duration // how long fleet events are kept
	Processes           int           // per compute

	// TokenSerial finds the token of a compute that has the given text. It must be
	// pure, and the same on all nodes of a region.
	TokenSerial func(room RoomID, compute *Compute, text string) (serial uint64, ok bool)
}

// DefaultSettings are those of the managed service where they are known.
// Sources: server SDK reference (reservation 60 s, health every 60 s and three
// misses, five minutes to ProcessReady and to ProcessEnding), GameLift quotas
// (50 processes), the retry schedules of the server SDKs (200 s outlast all).
func DefaultSettings(region string) Settings {
	return Settings{
		Region:              region,
		TokenLifetime:       3 * time.Hour,
		Reservation:         60 * time.Second,
		ProcessGrace:        200 * time.Second,
		ReadyTimeout:        5 * time.Minute,
		HealthInterval:      60 * time.Second,
		HealthMisses:        3,
		TerminationGrace:    5 * time.Minute,
		ProcessRetention:    10 * time.Minute,
		FleetEventRetention: 30 * 24 * time.Hour,
		Processes:           50,
	}
}

// healthBy is when the silence of a process that was heard of at now becomes
// bad health; zero when it has no socket, for then its grace period counts.
// Each report may come up to ten seconds late: that is the jitter of the
// server SDKs.
func (s *Settings) healthBy(connected bool, now event.Time) event.Time {
	if !connected {
		return 0
	}
	return now.Add(time.Duration(s.HealthMisses) * (s.HealthInterval + 10*time.Second))
}

// maxNotes is the number of fleet events that a Room keeps.
const maxFleetEvents = 1000

// A Room is the state of one fleet location.
type Room struct {
	event.Gate // which events may be written; the shard raises it

	id       RoomID
	address  Address
	settings *Settings
	prefix   string // of the game sessions' ARNs

	header      Header
	after       uint64 // its first game session has the next number
	computes    btree.Map[string, *Compute]
	processes   *btree.BTreeG[processEntry]
	sessions    btree.Map[uint64, *GameSession]
	byID        *textIndex                     // game sessions by their id
	byPlayer    *textIndex                     // game sessions by the ids of their players
	index       *search.Index                  // ACTIVE game sessions
	fleetEvents btree.Map[uint64, *FleetEvent] // fleet events
	counts      Counts

	*live // nil in a frozen copy
}

// live is what only the writer needs; it follows from the records.
type live struct {
	hosts      map[string]*host
	byKey      map[ProcessKey]*Process // what processes holds, for a quicker look
	available  *btree.BTreeG[rank]
	timers     timers
	ended      *btree.BTreeG[endedEntry] // TERMINATED game sessions in the order of their end
	withExcess btree.Set[uint64]         // game sessions with more in Gone than they keep; see archive.go
	generation uint64                    // from 1; changes with each frozen copy; see ownership
}

// Counts are the numbers of a fleet location that metrics and utilization show.
type Counts struct {
	Computes       int
	Processes      int // ready or hosting
	Idle           int // ready, with or without a socket
	Activating     int // game sessions
	Active         int // game sessions, ACTIVE and TERMINATING
	Players        int // RESERVED and ACTIVE player sessions
	MaximumPlayers int // of all game sessions that are not over
	BusyComputes   int // computes that host a game session
}

// Add adds the numbers of another location.
func (c *Counts) Add(o Counts) {
	c.Computes += o.Computes
	c.Processes += o.Processes
	c.Idle += o.Idle
	c.Activating += o.Activating
	c.Active += o.Active
	c.Players += o.Players
	c.MaximumPlayers += o.MaximumPlayers
	c.BusyComputes += o.BusyComputes
}

// processEntry keeps the key beside the process, so that looking one up makes
// no garbage.
type processEntry struct {
	key     ProcessKey
	process *Process
}

func (a processEntry) before(b processEntry) bool { return a.key.before(b.key) }

// NewRoom makes the empty Room of a fleet location. The settings are shared,
// not copied.
func NewRoom(id RoomID, at Address, settings *Settings) *Room {
	r := &Room{
		id: id, address: at, settings: settings,
		prefix:    arn.GameSessionPrefix(settings.Region, string(id.Fleet), id.Location),
		processes: btree.NewBTreeGOptions(processEntry.before, btree.Options{NoLocks: true}),
		byID:      newTextIndex(),
		byPlayer:  newTextIndex(),
		index:     search.NewIndex(),
		live: &live{
			hosts:      map[string]*host{},
			byKey:      map[ProcessKey]*Process{},
			available:  btree.NewBTreeGOptions(rank.before, btree.Options{NoLocks: true}),
			ended:      btree.NewBTreeGOptions(endedEntry.before, btree.Options{NoLocks: true}),
			timers:     newTimers(),
			generation: 1,
		},
	}
	return r
}

// NumberAfter makes an empty Room number its game sessions from after+1. Without it they begin with 1.
func (r *Room) NumberAfter(after uint64) { r.after, r.header.Sessions = after, after }

// FirstNumber returns the number of the first game session that the Room has or will have.
func (r *Room) FirstNumber() uint64 { return r.after + 1 }

// LastNumber returns the number of the last game session that the Room has had; FirstNumber()-1 when it
// has had none.
func (r *Room) LastNumber() uint64 { return r.header.Sessions }

// ID is the fleet and location that the Room is of.
func (r *Room) ID() RoomID { return r.id }

// Address is where the Room lives.
func (r *Room) Address() Address { return r.address }

// Freeze returns a copy for reading beside the writer. It takes the time of a
// few small allocations, whatever the size of the Room.
func (r *Room) Freeze() *Room {
	c := *r
	c.computes = *r.computes.Copy()
	c.processes = r.processes.Copy()
	c.sessions = *r.sessions.Copy()
	c.byID = r.byID.copy()
	c.byPlayer = r.byPlayer.copy()
	c.index = r.index.Copy()
	c.fleetEvents = *r.fleetEvents.Copy()
	c.live = nil
	r.generation++
	return &c
}

// A Command asks a Room for something.
type Command interface {
	// decide looks and gives events, or refuses with a *fault.Error. It changes nothing.
	decide(r *Room, now event.Time) ([]any, error)
	// answer is what the caller is told, once the events are applied.
	answer(r *Room) any
}

// Handle decides a command at the given time, applies the events and answers.
// After an error nothing has changed.
func (r *Room) Handle(now event.Time, c Command) (events []any, answer any, err error) {
	events, err = c.decide(r, now)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range events {
		r.Apply(e)
	}
	return events, c.answer(r), nil
}

// Apply changes the Room by one event. An event of an unknown type is a
// mistake in the program and panics.
func (r *Room) Apply(e any) {
	switch e := e.(type) {
	case *ComputeRegistered:
		r.applyComputeRegistered(e)
	case *ComputeDeregistered:
		r.applyComputeDeregistered(e)
	case *TokenIssued:
		r.applyTokenIssued(e)
	case *ProcessConnected:
		r.applyProcessConnected(e)
	case *ProcessResumed:
		r.applyProcessResumed(e)
	case *ProcessLost:
		r.applyProcessLost(e)
	case *ProcessBecameReady:
		r.applyProcessBecameReady(e)
	case *HealthReported:
		r.applyHealthReported(e)
	case *ProcessAskedToEnd:
		r.applyProcessAskedToEnd(e)
	case *ProcessHasEnded:
		r.applyProcessHasEnded(e)
	case *ProcessForgotten:
		r.applyProcessForgotten(e)
	case *Interrupted:
		r.applyInterrupted(e)
	case *GameSessionCreated:
		r.applyGameSessionCreated(e)
	case *GameSessionActivated:
		r.applyGameSessionActivated(e)
	case *GameSessionBackfilled:
		r.applyGameSessionBackfilled(e)
	case *GameSessionConfirmed:
		r.applyGameSessionConfirmed(e)
	case *GameSessionUpdated:
		r.applyGameSessionUpdated(e)
	case *GameSessionTerminating:
		r.applyGameSessionTerminating(e)
	case *GameSessionEnded:
		r.applyGameSessionEnded(e)
	case *GameSessionsForgotten:
		r.applyGameSessionsForgotten(e)
	case *PlayersReserved:
		r.applyPlayersReserved(e)
	case *PlayerAccepted:
		r.applyPlayerAccepted(e)
	case *PlayerRemoved:
		r.applyPlayerRemoved(e)
	case *PlayersTimedOut:
		r.applyPlayersTimedOut(e)
	case *PlayersForgotten:
		r.applyPlayersForgotten(e)
	case *FleetEventAdded:
		r.applyFleetEventAdded(e)
	case *FleetEventsDropped:
		r.applyFleetEventsDropped(e)
	default:
		panic(fmt.Sprintf("fleet: unknown event %T", e))
	}
}

// Empty reports whether nothing is left in the Room: no compute, no process, no
// game session.
func (r *Room) Empty() bool {
	return r.computes.Len() == 0 && r.processes.Len() == 0 && r.sessions.Len() == 0
}
