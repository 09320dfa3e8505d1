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

// failure returns the error of an operation as one of this package's kinds, with the operation in place of the
// provider's own. If the error is only a consequence of ctx being done, failure returns the cause of that instead.
func failure(ctx context.Context, op string, err error) error {
	e, ok := err.(*Error)
	switch {
	case err == nil:
		return nil
	case ok && slices.Contains(causes, e):
		return &Error{Op: op, Kind: e.Kind, Message: e.Message}
	case ctx.Err() != nil && consequence(err):
		return interruption(ctx, op)
	case ok && e.Op != op:
		renamed := *e
		renamed.Op = op
		return &renamed
	case slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) }):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Op: op, Kind: ErrTimeout, Message: err.Error(), Err: err}
	default:
		return &Error{Op: op, Kind: ErrTransport, Message: err.Error(), Err: err}
	}
}

// consequence reports whether the end of a context can have caused an error.
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
	if cause != ctx.Err() { // of another package: wrapped with what it caused
		cause = fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return &Error{Op: op, Kind: ErrCanceled, Message: "its context was canceled", Err: cause}
}
