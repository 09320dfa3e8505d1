package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// kinds are all kinds of failures.
var kinds = []error{
	ErrNotConfigured, ErrInvalid, ErrExists, ErrNotFound, ErrState, ErrSearchBusy, ErrFull, ErrDenied,
	ErrTimeout, ErrTransport, ErrUnavailable, ErrUnsupported, ErrCanceled, ErrClosed,
}

// The causes of the contexts that this package itself ends.
var (
	errDestroyed = &Error{Op: "Destroy", Kind: ErrCanceled, Message: "the session was destroyed meanwhile"}
	errLeft      = &Error{Op: "LeaveSession", Kind: ErrCanceled, Message: "the player has left meanwhile"}
	errStopped   = &Error{Op: "StopTracking", Kind: ErrCanceled, Message: "the ticket is not tracked any more"}
	errSearch    = &Error{Op: "CancelFind", Kind: ErrCanceled, Message: "the search was canceled"}
	errClosed    = &Error{Op: "Close", Kind: ErrClosed, Message: "the client is closed"}

	causes = []*Error{errDestroyed, errLeft, errStopped, errSearch, errClosed}
)

// failure makes an error of one of this package's kinds of what an operation has returned. When ctx is over and the
// error says no more than that, it tells why the context has ended.
func failure(ctx context.Context, op string, err error) error {
	if cause, ok := err.(*Error); ok && slices.Contains(causes, cause) {
		return &Error{Op: op, Kind: cause.Kind, Message: cause.Message}
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && consequence(err):
		return interruption(ctx, op)
	case slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) }):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Op: op, Kind: ErrTimeout, Message: err.Error(), Err: err}
	default:
		return &Error{Op: op, Kind: ErrTransport, Message: err.Error(), Err: err}
	}
}

// consequence reports whether an error can be that of a context that has ended.
func consequence(err error) bool {
	causes := []error{context.Canceled, context.DeadlineExceeded, ErrCanceled, ErrTimeout, ErrTransport}
	return slices.ContainsFunc(causes, func(e error) bool { return errors.Is(err, e) })
}

// interruption is the error of an operation whose context has ended.
func interruption(ctx context.Context, op string) error {
	cause := context.Cause(ctx)
	if ours, ok := errors.AsType[*Error](cause); ok {
		return &Error{Op: op, Kind: ours.Kind, Message: ours.Message, Err: ctx.Err()}
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return &Error{Op: op, Kind: ErrTimeout, Message: "its time was over", Err: cause}
	}
	if cause != ctx.Err() { // somebody else's: told with what it is the cause of
		cause = fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return &Error{Op: op, Kind: ErrCanceled, Message: "its context was canceled", Err: cause}
}
