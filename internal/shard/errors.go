package shard

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/muster-gg/muster/internal/fault"
)

// ErrOutcomeUnknown is in the chain of the error of a request that may or may
// not have happened: the shard failed, or the caller went away, after it was
// handled and before it was known to be durable.
var ErrOutcomeUnknown = errors.New("the outcome is unknown")

// ErrNotDone is in the chain of the error of a request that has not happened and
// will not.
var ErrNotDone = errors.New("the request was not carried out")

func unknown(cause error) error {
	return fault.Internal(fmt.Errorf("%w: %w", ErrOutcomeUnknown, cause))
}

func notDone(cause error) error { return fault.Internal(fmt.Errorf("%w: %w", ErrNotDone, cause)) }

// interrupted is the error of requests that have not happened because the shard failed before they
// were stored. It recovers, or another owner begins.
func interrupted(cause error) error {
	return &fault.Error{
		Kind: fault.ServiceUnavailable, Message: "The service is recovering. Try again.", Err: fmt.Errorf("%w: %w", ErrNotDone, cause),
	}
}

// ErrPartitioned is in the chain, besides ErrNotDone, of the error of a request at a node that does not
// reach the others: another node may carry it out.
var ErrPartitioned = errors.New("this node does not reach the others")

// Passes reports whether err says that a request has not happened for a reason that passes soon: the shard
// has failed, or has no owner at this moment. The same request may be made again, whatever it is.
func IsTemporary(err error) bool {
	return errors.Is(err, ErrNotDone) && fault.Is(err, fault.ServiceUnavailable) && !errors.Is(err, ErrStopped) && !errors.Is(err, ErrPartitioned)
}

// errTooLarge is why the machine is thrown away after a command whose facts fit
// in no record.
var errTooLarge = errors.New("the facts of one command are larger than a journal record")

// ErrUnreadable is in the chain of the error of bytes that no further attempt
// will read: another release wrote them, or they are damaged.
var ErrUnreadable = errors.New("the stored state cannot be read")

// errRaced says that somebody appended between our replay and our opening
// record: the previous owner, or an append of our own that came late.
var errRaced = errors.New("another record came before the opening record")

// errNoLease says that the lease ended before the opening record.
var errNoLease = errors.New("the lease does not hold")

// Full is the error of a request that found the queue full.
func Full() error {
	return &fault.Error{Kind: fault.Throttling, Message: "Too many requests are waiting. Try again later.", Err: ErrNotDone}
}

// ErrStopped is in the chain, besides ErrNotDone, of the error of a request to a
// shard that has stopped.
var ErrStopped = errors.New("the shard has stopped")

// Stopped is the error of a request to a shard that has stopped.
func Stopped() error {
	return &fault.Error{Kind: fault.ServiceUnavailable, Message: "The service is stopping. Try again.", Err: fmt.Errorf("%w: %w", ErrNotDone, ErrStopped)}
}

// refusal is what the command is told that broke the machine: it has not
// happened. Everything else was handled before it.
func rejection(broken error) error {
	if errors.Is(broken, errTooLarge) {
		return &fault.Error{
			Kind: fault.InvalidRequest, Message: "The request changes more at once than the service can store.",
			Err: fmt.Errorf("%w: %w", ErrNotDone, broken),
		}
	}
	return notDone(broken)
}

// A panicError is a panic that was caught, with the stack of where it was.
type panicError struct {
	where string
	value any
	stack []byte
}

// Catch turns a panic into an error. It is to be deferred.
func Catch(where string, err *error) {
	if p := recover(); p != nil {
		*err = &panicError{where: where, value: p, stack: debug.Stack()}
	}
}

func (p *panicError) Error() string { return fmt.Sprintf("panic in the %s: %v", p.where, p.value) }
