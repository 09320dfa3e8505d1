package session

import (
	"fmt"

	"github.com/muster-gg/muster/internal/life"
)

// A State is the state of a named session, of the game that the player is in, of a search, or of the tracker of a
// ticket.
type State string

// The states of named sessions; the game of JoinSession and of matches is Starting, InProgress or Destroying. Source:
// Unreal, EOnlineSessionState, which has no Creating and Destroying.
const (
	NoSession  State = "NoSession"  // there is none of this name
	Creating   State = "Creating"   // it is being announced
	Pending    State = "Pending"    // created, and not started
	Starting   State = "Starting"   // the service is called, the player connects
	InProgress State = "InProgress" // the game is running
	Ending     State = "Ending"     // the game is about to end
	Ended      State = "Ended"      // the game has ended; it may be started again
	Destroying State = "Destroying" // everything of it is being released
)

// state returns the state of the session's life by its public name.
func (r *record) state() State {
	switch s := r.life.State(); s {
	case life.None, life.Destroyed:
		return NoSession
	default:
		return State(s)
	}
}

// permit rejects a call whose command is not possible.
func (r *record) permit(op string, c life.Command) error {
	switch {
	case r.life.Allows(c):
		return nil
	case r.state() == NoSession: // since the call has begun
		return &StateError{op, r.name, NoSession, ErrNotFound}
	default:
		return &StateError{Op: op, Name: r.name, State: r.state()}
	}
}

// A StateError reports a call that is not possible in the current state. The call has changed nothing. For errors.Is it
// is ErrState, and also ErrNotFound for a named session that does not exist, or ErrExists for one that should not.
type StateError struct {
	Op   string // the call
	Name string // of the named session; otherwise the id of the session or ticket, or ""
	// State is one of the constants, "Tracking" for a second StartTracking, or "NotSearching" for a CancelFind without
	// a search.
	State State
	kind  error // ErrNotFound, ErrExists or nil
}

// Error returns the call and the state.
func (e *StateError) Error() string {
	switch {
	case e.kind == ErrExists:
		return fmt.Sprintf("%s %q: a session of this name exists and is %s: choose another name, or destroy it first",
			e.Op, e.Name, e.State)
	case e.kind == ErrNotFound:
		return fmt.Sprintf("%s %q: there is no session of this name", e.Op, e.Name)
	case e.Name == "":
		return fmt.Sprintf("%s: not possible in state %s", e.Op, e.State)
	}
	return fmt.Sprintf("%s %q: not possible in state %s", e.Op, e.Name, e.State)
}

// Unwrap returns the kinds.
func (e *StateError) Unwrap() []error {
	if e.kind == nil {
		return []error{ErrState}
	}
	return []error{ErrState, e.kind}
}
