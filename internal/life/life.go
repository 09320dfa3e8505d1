// Package life is the state machine of a session. A named session of a game client uses all of it. The game that a
// client is in goes from None to Starting, InProgress, Destroying and Destroyed, and so does the game session that a
// game server hosts. Package session and gameserver.Host do the work of a state, and have their own names for it.
//
// The package is pure: it has no lock, no clock and no log.
//
// Source of the states: Unreal, EOnlineSessionState, which has no Creating and Destroying.
package life

// A State of a session. The zero value is None.
type State string

// The states.
const (
	None       State = ""           // nothing has happened yet, or the first request has failed
	Creating   State = "Creating"   // Create is in progress
	Pending    State = "Pending"    // created, and not started
	Starting   State = "Starting"   // Start is in progress
	InProgress State = "InProgress" // started
	Ending     State = "Ending"     // End is in progress
	Ended      State = "Ended"      // it may be started again
	Destroying State = "Destroying" // everything of it is being released
	Destroyed  State = "Destroyed"  // for good
)

// A Command changes the state, or needs one.
type Command string

// The commands. Destroy interrupts a request: its Done or Fail is not possible any more.
const (
	Create   Command = "Create"
	Start    Command = "Start"
	End      Command = "End"
	Done     Command = "Done" // the request in progress has succeeded
	Fail     Command = "Fail" // it has failed
	Update   Command = "Update"
	Register Command = "Register" // or unregister a player
	Destroy  Command = "Destroy"
	Release  Command = "Release" // everything is released
)

// before is the state before the request in progress.
const before State = "before"

// table has the state that follows each command that is possible in a state.
var table = map[State]map[Command]State{
	None:       {Create: Creating, Start: Starting, Destroy: Destroying},
	Creating:   {Done: Pending, Fail: before, Register: Creating, Destroy: Destroying},
	Pending:    {Start: Starting, Update: Pending, Register: Pending, Destroy: Destroying},
	Starting:   {Done: InProgress, Fail: before, Register: Starting, Destroy: Destroying},
	InProgress: {End: Ending, Update: InProgress, Register: InProgress, Destroy: Destroying},
	Ending:     {Done: Ended, Fail: before, Register: Ending, Destroy: Destroying},
	Ended:      {Start: Starting, Register: Ended, Destroy: Destroying},
	Destroying: {Release: Destroyed},
	Destroyed:  {},
}

// A Life is the state of one session. Its zero value is ready to use.
type Life struct {
	state State
	back  State // to which Fail leads
}

// State returns the present state.
func (l *Life) State() State { return l.state }

// Allows reports whether a command is possible in the present state.
func (l *Life) Allows(c Command) bool {
	_, ok := table[l.state][c]
	return ok
}

// Do makes a command. It returns false, and changes nothing, if the command is not possible.
func (l *Life) Do(c Command) bool {
	next, ok := table[l.state][c]
	switch {
	case !ok:
		return false
	case next == before:
		l.state = l.back
	case next != l.state:
		l.back, l.state = l.state, next
	}
	return true
}
