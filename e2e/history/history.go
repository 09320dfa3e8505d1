// Package history records what many callers do to game sessions at the same time, and checks that a service could have
// done it one after the other: that each call took effect at one moment between its beginning and its answer, whichever
// node it was made at. That is linearizability, and porcupine decides it, for each game session by itself.
//
// A call without an answer may have taken effect at any moment since it began, or never.
//
// The recorder does not know how calls are made, nor the service.
package history

import (
	"math"
	"sync"
	"time"
)

// An Action is what an operation does.
type Action string

// The actions. Those of game servers are named as their requests are.
const (
	Create    Action = "CreateGameSession"    // Maximum says for how many
	Terminate Action = "TerminateGameSession" // asks its process to end it
	Reserve   Action = "CreatePlayerSessions" // of Players, all or none
	Describe  Action = "DescribeGameSessions" // gives Seen
	List      Action = "DescribePlayerSessions"
	Activate  Action = "ActivateGameSession"
	Accept    Action = "AcceptPlayerSession"
	Remove    Action = "RemovePlayerSession"
	End       Action = "ProcessEnding"
)

// An Operation is one call. Times are since the recorder began.
type Operation struct {
	Session string   // id of the game session
	Action  Action   //
	Players []string // of Reserve, Accept and Remove; no player comes twice to a game session
	Maximum int32    // of Create

	Node   string // where it was made, for people
	Call   time.Duration
	Return time.Duration // Pending: there was no answer

	Fault   string            // the refusal; "" for success
	Seen    Seen              // of Describe
	Present map[string]Status // of List: each player's status
}

// Pending is the time of return of a call without an answer.
const Pending time.Duration = math.MaxInt64

// A Status is that of a game session or a player session, by its name in the API; "" is one that does not exist.
type Status string

// The statuses.
const (
	Activating  Status = "ACTIVATING"
	Terminating Status = "TERMINATING"
	Terminated  Status = "TERMINATED"
	Reserved    Status = "RESERVED"
	Active      Status = "ACTIVE" // of both
	Completed   Status = "COMPLETED"
	TimedOut    Status = "TIMEDOUT"
)

// Seen is what a description of a game session says.
type Seen struct {
	Status           Status
	Current, Maximum int32
}

// A Recorder takes down operations. Any goroutine may use it. The zero Recorder is not ready for use.
type Recorder struct {
	begin time.Time

	mu  sync.Mutex
	all []*Operation
}

// New gives an empty recorder, whose time begins now.
func New() *Recorder { return &Recorder{begin: time.Now()} }

// Begin notes that an operation is called. It counts as pending until End.
func (r *Recorder) Begin(o Operation) *Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Call, o.Return = r.Now(), Pending
	r.all = append(r.all, &o)
	return &o
}

// End notes the answer; fill sets what it says. Without an answer nobody calls End.
func (r *Recorder) End(o *Operation, fill func(*Operation)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Return = r.Now()
	fill(o)
}

// Now is the time.
func (r *Recorder) Now() time.Duration { return time.Since(r.begin) }

// Add notes an operation afterwards: it began at o.Call, or at any time if that is 0, and is answered now.
func (r *Recorder) Add(o Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Return = r.Now()
	r.all = append(r.all, &o)
}

// Operations are those so far, in the order in which they were noted.
func (r *Recorder) Operations() []Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Operation, len(r.all))
	for i, o := range r.all {
		all[i] = *o
	}
	return all
}

// BySession groups operations by game session, and keeps their order.
func BySession(all []Operation) map[string][]Operation {
	sessions := map[string][]Operation{}
	for _, o := range all {
		sessions[o.Session] = append(sessions[o.Session], o)
	}
	return sessions
}
