package session

import (
	"errors"
	"fmt"
)

// The kinds of failures. Every error of this package and its providers is one of them for errors.Is.
var (
	ErrNotConfigured = errors.New("not configured: call Configure first")
	ErrInvalid       = errors.New("invalid request")
	ErrExists        = errors.New("a session of this name exists")
	ErrNotFound      = errors.New("not found")
	ErrState         = errors.New("not in this state")
	ErrSearchBusy    = errors.New("a search is running")
	ErrFull          = errors.New("the session is full")
	ErrDenied        = errors.New("denied")
	ErrTimeout       = errors.New("no answer in time")
	ErrTransport     = errors.New("the service could not be reached")
	ErrUnavailable   = errors.New("no capacity at the moment") // no free game server, too many requests
	ErrUnsupported   = errors.New("not supported")             // by the provider; or a part of Config is missing
	ErrCanceled      = errors.New("canceled")                  // by the caller's context, or by a later call
	ErrClosed        = errors.New("closed")
)

// An Error is a failed operation.
type Error struct {
	// Op is the call that the program made: "CreateSession", or "Join" of NamedSessions. Errors of a Provider that is
	// called without a Client have the Provider's method: "Host".
	Op string
	// Kind is one of this package's kinds, which errors.Is finds.
	Kind error
	// Message describes the failure and, if possible, the remedy.
	Message string
	// Code is the service's name for the error, for example "GameSessionFullException"; "" if no service returned it.
	Code string
	// Err is the cause, such as an error of the network or a context; nil if there is none.
	Err error
}

// Error returns the operation with the code and the message.
func (e *Error) Error() string {
	if e.Code != "" {
		return fmt.Sprintf("%s: %s: %s", e.Op, e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.Op, e.Message)
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// Errorf makes an Error without code and cause. It is for providers.
func Errorf(op string, kind error, format string, args ...any) *Error {
	return &Error{Op: op, Kind: kind, Message: fmt.Sprintf(format, args...)}
}
