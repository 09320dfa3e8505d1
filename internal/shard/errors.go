package shard

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// ErrOutcomeUnknown is in the chain of the error of a request that may or may not have been carried out: the shard
// failed, or the caller stopped waiting, after it was handled and before it was known to be durable.
var ErrOutcomeUnknown = errors.New("the outcome is unknown")

// ErrNotDone is in the chain of the error of a request that was not and will not be carried out.
var ErrNotDone = errors.New("the request was not carried out")

func unknown(cause error) error {
	return fault.Internal(fmt.Errorf("%w: %w", ErrOutcomeUnknown, cause))
}

func notDone(cause error) error { return fault.Internal(fmt.Errorf("%w: %w", ErrNotDone, cause)) }

// interrupted is the error of requests that were not stored because the shard failed. It recovers, or another node
// takes over.
func interrupted(cause error) error {
	return &fault.Error{
		Kind: fault.ServiceUnavailable, Message: "The service is recovering. Try again.",
		Err: fmt.Errorf("%w: %w", ErrNotDone, cause),
	}
}

// ErrPartitioned is in the chain, besides ErrNotDone, of the error of a request at a node that cannot reach the others:
// another node may carry it out.
var ErrPartitioned = errors.New("this node cannot reach the others")

// IsTemporary reports whether the request was not carried out for a reason that ends soon: the shard failed, or has no
// owner. Any request may be sent again then.
func IsTemporary(err error) bool {
	return errors.Is(err, ErrNotDone) && fault.Is(err, fault.ServiceUnavailable) && !errors.Is(err, ErrStopped) &&
		!errors.Is(err, ErrPartitioned)
}

// errTooLarge ends a machine after a command whose facts do not fit in a record.
var errTooLarge = errors.New("the facts of one command are larger than a journal record")

// ErrUnreadable is in the chain of the error of stored bytes that cannot be decoded: they are of another release, or
// damaged.
var ErrUnreadable = errors.New("the stored state cannot be read")

// errRaced reports a record between our replay and our opening record: of the previous owner, or a late one of our own.
var errRaced = errors.New("another record was appended before the opening record")

// errNoLease reports that the lease ended before the opening record.
var errNoLease = errors.New("the lease does not hold")

// Full returns the error of a request that found the queue full.
func Full() error {
	return &fault.Error{Kind: fault.Throttling, Message: "Too many requests are waiting. Try again later.",
		Err: ErrNotDone}
}

// ErrStopped is in the chain, besides ErrNotDone, of the error of a request to a stopped shard.
var ErrStopped = errors.New("the shard has stopped")

// Stopped is the error of requests to a shard that has stopped.
func Stopped() error {
	return &fault.Error{Kind: fault.ServiceUnavailable, Message: "The service is stopping. Try again.",
		Err: fmt.Errorf("%w: %w", ErrNotDone, ErrStopped)}
}

// rejection is the error of the command that broke the machine: it was not carried out.
func rejection(broken error) error {
	if errors.Is(broken, errTooLarge) {
		return &fault.Error{
			Kind: fault.InvalidRequest, Message: "The request changes more at once than the service can store.",
			Err: fmt.Errorf("%w: %w", ErrNotDone, broken),
		}
	}
	return notDone(broken)
}

// A panicError is a recovered panic with its stack.
type panicError struct {
	where string
	value any
	stack []byte
}

// Catch turns a panic into an error. It must be deferred.
func Catch(where string, err *error) {
	if p := recover(); p != nil {
		*err = &panicError{where: where, value: p, stack: debug.Stack()}
	}
}

func (p *panicError) Error() string { return fmt.Sprintf("panic in the %s: %v", p.where, p.value) }
