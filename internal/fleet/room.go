package fleet

import (
	"time"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/search"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// Settings are durations and limits. They apply to new deadlines only.
type Settings struct {
	Region              string        // in the ARNs of game sessions
	TokenLifetime       time.Duration // of an auth token; it is replaced 15 minutes before
	Reservation         time.Duration // of a RESERVED player session
	ProcessGrace        time.Duration // for a process to reconnect
	ReadyTimeout        time.Duration // from connecting to ProcessReady
	HealthInterval      time.Duration // between two health reports
	HealthMisses        int           // unhealthy or missing reports in a row that end a process
	TerminationGrace    time.Duration // from OnProcessTerminate to ProcessEnding
	ProcessRetention    time.Duration // how long the id of an ended process is not reused
	FleetEventRetention time.Duration // how long fleet events are kept
	Processes           int           // per compute

	// TokenSerial finds the token of a compute with the given text. It must be pure, and the same on all nodes of a
	// region.
	TokenSerial func(room RoomID, compute *Compute, text string) (serial uint64, ok bool)
}

// DefaultSettings returns the settings of the managed service, as far as they are known. Sources: server SDK reference
// (reservation 60 s, health every 60 s and three misses, five minutes to ProcessReady and to ProcessEnding), GameLift
// quotas (50 processes), the retry schedules of the server SDKs (all end within 200 s).
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

// healthBy returns when a process that was active now becomes unhealthy without a further report; zero without a
// socket, because its grace period applies then.
func (s *Settings) healthBy(connected bool, now event.Time) event.Time {
	if !connected {
		return 0
	}
	return now.Add(s.healthWindow())
}

// healthWindow is the time without a report after which a process is unhealthy. The server SDKs delay reports by up to
// ten seconds.
func (s *Settings) healthWindow() time.Duration {
	return time.Duration(s.HealthMisses) * (s.HealthInterval + 10*time.Second)
}

// maxFleetEvents is the number of fleet events that a Room keeps.
const maxFleetEvents = 1000

// A Room is the state of one fleet location.
type Room struct {
	event.Gate // which events may be written; the shard raises it

	id       RoomID
	address  Address
	settings *Settings
	prefix   string // of the game sessions' ARNs

	header      Header
	after       uint64 // its first game session has number after+1
	computes    btree.Map[string, *Compute]
	processes   *btree.BTreeG[processEntry]
	sessions    btree.Map[uint64, *GameSession]
	byID        *textIndex                     // game sessions by their id
	byPlayer    *textIndex                     // game sessions by the ids of their players
	index       *search.Index                  // ACTIVE game sessions
	passing     btree.Set[uint64]              // ordinals of those that are ACTIVATING or TERMINATING
	fleetEvents btree.Map[uint64, *FleetEvent] // fleet events
	counts      Counts

	*live // nil in a frozen copy
}

// live is the state that only the writer needs; it is derived from the records.
type live struct {
	hosts      map[string]*host
	byKey      map[ProcessKey]*Process // the same as processes, for faster lookup
	available  *btree.BTreeG[rank]
	timers     timers
	ended      *btree.BTreeG[endedEntry] // TERMINATED game sessions by end
	withExcess btree.Set[uint64]         // game sessions with more PastPlayers than they keep; see archive.go
	generation uint64                    // from 1; increases with each frozen copy; see ownership
}

// Counts are the numbers of a fleet location for metrics and utilization.
type Counts struct {
	Computes       int
	Processes      int // ready or hosting
	Idle           int // ready, with or without a socket
	Activating     int // game sessions
	Active         int // game sessions, ACTIVE and TERMINATING
	Players        int // RESERVED and ACTIVE player sessions
	MaximumPlayers int // of all game sessions that have not ended
	BusyComputes   int // computes that host a game session
	Healthy        int // of Processes: connected, and the last health report was not bad
	Waiting        int // of Idle: connected and not asked to end, so they can host a game session
	Activatable    int // game sessions that can be created now; only set by Room.CountsFor
}

// Add adds the numbers of another room.
func (c *Counts) Add(o Counts) {
	c.Computes += o.Computes
	c.Processes += o.Processes
	c.Idle += o.Idle
	c.Activating += o.Activating
	c.Active += o.Active
	c.Players += o.Players
	c.MaximumPlayers += o.MaximumPlayers
	c.BusyComputes += o.BusyComputes
	c.Healthy += o.Healthy
	c.Waiting += o.Waiting
	c.Activatable += o.Activatable
}

// processEntry holds the key too, so that a lookup does not allocate.
type processEntry struct {
	key     ProcessKey
	process *Process
}

func (a processEntry) before(b processEntry) bool { return a.key.before(b.key) }

// NewRoom returns the empty Room of a fleet location. It keeps the settings, and does not copy them.
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

// NumberAfter makes an empty Room number its game sessions from after+1 instead of 1.
func (r *Room) NumberAfter(after uint64) { r.after, r.header.Sessions = after, after }

// FirstNumber returns the number of the Room's first game session, even before it exists.
func (r *Room) FirstNumber() uint64 { return r.after + 1 }

// LastNumber returns the number of the Room's last game session; FirstNumber()-1 if there was none.
func (r *Room) LastNumber() uint64 { return r.header.Sessions }

// ID is the fleet location of the room.
func (r *Room) ID() RoomID { return r.id }

// Address is the number of the room in its shard.
func (r *Room) Address() Address { return r.address }

// Freeze returns a copy that may be read concurrently with the writer, in constant time.
func (r *Room) Freeze() *Room {
	c := *r
	c.computes = *r.computes.Copy()
	c.processes = r.processes.Copy()
	c.sessions = *r.sessions.Copy()
	c.byID = r.byID.copy()
	c.byPlayer = r.byPlayer.copy()
	c.index = r.index.Copy()
	c.passing = *r.passing.Copy()
	c.fleetEvents = *r.fleetEvents.Copy()
	c.live = nil
	r.generation++
	return &c
}

// A Command is a request to a Room.
type Command interface {
	// decide returns the events, or rejects the command with a *fault.Error. It changes nothing.
	decide(r *Room, now event.Time) ([]any, error)
	// answer returns the answer, after the events were applied.
	answer(r *Room) any
}

// Handle decides a command, applies its events and returns the answer. After an error nothing has changed.
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

// A roomEvent changes a Room. All types of Events but the records of snapshots implement it.
type roomEvent interface{ apply(r *Room) }

// Apply changes the Room by one event. It panics on an unknown type, which is a programming error.
func (r *Room) Apply(e any) { e.(roomEvent).apply(r) }

// Empty reports whether the Room has no compute, process or game session.
func (r *Room) Empty() bool {
	return r.computes.Len() == 0 && r.processes.Len() == 0 && r.sessions.Len() == 0
}
