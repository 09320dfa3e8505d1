package gameserver

import (
	"errors"
	"fmt"
)

// The causes of failures that do not come from the service; see Error.Err.
var (
	ErrNotConnected  = errors.New("not connected to the service: call Server.Connect or Host.Init first")
	ErrConnected     = errors.New("connected to the service before: make a new Server or Host")
	ErrClosed        = errors.New("the connection to the service was closed")
	ErrReady         = errors.New("the process was reported as ready before")
	ErrNoGameSession = errors.New("the process hosts no game session")
	ErrTimeout       = errors.New("no reply in time")
	ErrConnectionEnd = errors.New("the connection is lost for good")
	ErrInvalid       = errors.New("invalid parameter")
	ErrNoFleetRole   = errors.New("the fleet has no role that it gives credentials of")
	ErrNoContainer   = errors.New("the compute is no container: GAMELIFT_COMPUTE_TYPE is not CONTAINER")
)

// ErrMatchmakerData is for a game session without matchmaker data that can be used: it was not made by a matchmaker, or
// the data is damaged.
var ErrMatchmakerData = errors.New("no valid matchmaker data")

// Why a Host does not let a player join, or does not do what it is asked.
var (
	ErrEnding          = errors.New("the game server is ending")
	ErrNoTicket        = errors.New("the player session id is empty")
	ErrConnectionInUse = errors.New("the connection id is registered already")
	ErrTicketInUse     = errors.New("the player session is in use by another connection")
	ErrPlayerLeft      = errors.New("the player has left before the service answered")
)

// An Error is a failed call. All errors of a Server and a Host are of this type.
type Error struct {
	// Code is the status of the service's answer: 400 for a bad request, 401 or 403 for a bad credential, 404 for what
	// does not exist, 409 for a conflict with the state of things, 429 for too many requests, 5xx for a failure of the
	// service. It is 0 when the service did not answer; Err says why.
	Code int
	// Action is the method that was called, such as "ProcessReady" of a Server or "NotifyProcessReady" of a Host. In
	// Host.Err it is the step that failed, such as "OnCreateSessionBegin", "ActivateGameSession" or "ProcessEnding".
	Action string
	// Message is the service's text, "<exception>: <reason>", or describes Err.
	Message string
	// Err is the cause on this side: one of this package's errors, that of a context, or of the network. It is nil if
	// the service answered.
	Err error

	sent bool // the request was sent, and the service did not answer
}

// Error is the action with the code and the message.
func (e *Error) Error() string {
	if e.Code != 0 {
		return fmt.Sprintf("%s: %d %s", e.Action, e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.Action, e.Message)
}

// Unwrap returns the cause on this side, if there is one.
func (e *Error) Unwrap() error { return e.Err }

// failed makes the error of a call that the service did not answer.
func failed(action string, cause error) *Error {
	return &Error{Action: action, Message: cause.Error(), Err: cause}
}

// as makes an error of a method that another one has called an error of that one.
func as(action string, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	own := *e
	own.Action = action
	return &own
}

// invalid makes the error of a call with a parameter that cannot be right.
func invalid(action, format string, args ...any) *Error {
	return &Error{Action: action, Message: fmt.Sprintf(format, args...), Err: ErrInvalid}
}
