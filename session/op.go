package session

import "context"

// An OpID names one call. The events that the call causes carry it.
type OpID uint64

// An Op is a call that goes on by itself: what the Async functions return. Its
// methods may be called from any goroutine.
type Op[T any] struct {
	id     OpID
	done   chan struct{}
	result T     // set before done is closed
	err    error // likewise
}

// ID is the number of the call in its Client, never 0.
func (o *Op[T]) ID() OpID { return o.id }

// Done is closed when the call has completed, at which time its event has been
// queued.
func (o *Op[T]) Done() <-chan struct{} { return o.done }

// Wait waits for the call and returns what it has returned. When ctx is done
// before, it returns ErrCanceled or ErrTimeout with the error of ctx, and the call
// goes on.
func (o *Op[T]) Wait(ctx context.Context) (T, error) {
	select {
	case <-o.done:
		return o.result, o.err
	case <-ctx.Done():
		var none T
		return none, interruption(ctx, "Wait")
	}
}

// Result is what the call has returned, the zero value before Done is closed.
func (o *Op[T]) Result() (result T) {
	select {
	case <-o.done:
		return o.result
	default:
		return result
	}
}

// Err is why the call has failed; nil before Done is closed.
func (o *Op[T]) Err() error {
	select {
	case <-o.done:
		return o.err
	default:
		return nil
	}
}
