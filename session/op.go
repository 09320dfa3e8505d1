package session

import (
	"context"
	"sync"
)

// An OpID identifies one call. The events that the call causes have it.
type OpID uint64

// An Op is a call that [Client.Async] has started. Its methods are safe for concurrent use.
type Op struct {
	id       OpID
	once     sync.Once
	accepted chan struct{} // closed when the call has passed its checks
	done     chan struct{}
	event    Complete // set before done is closed
	err      error    // likewise
}

// ID is the number of the call in its Client, never 0.
func (o *Op) ID() OpID { return o.id }

// Done is closed when the call has completed and its event is in the queue.
func (o *Op) Done() <-chan struct{} { return o.done }

// Wait waits for the call and returns its error. If ctx is done before, it returns ErrCanceled or ErrTimeout with the
// error of ctx, and the call continues.
func (o *Op) Wait(ctx context.Context) error {
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		return interruption(ctx, "Wait")
	}
}

// Err returns why the call has failed; nil before Done is closed.
func (o *Op) Err() error {
	select {
	case <-o.done:
		return o.err
	default:
		return nil
	}
}

type opKey struct{}

// opOf returns the Op of a call of Async; nil for other calls.
func opOf(ctx context.Context) *Op {
	op, _ := ctx.Value(opKey{}).(*Op)
	return op
}

// accept lets Async return, and returns the id of the call. o may be nil.
func (o *Op) accept() OpID {
	if o == nil {
		return 0
	}
	o.once.Do(func() { close(o.accepted) })
	return o.id
}

// record keeps the outcome of a call for its event. o may be nil.
func (o *Op) record(op, name string, result any, err error) {
	if o == nil {
		return
	}
	o.event.Call, o.event.Name, o.event.Result = op, name, nil
	if _, empty := result.(none); !empty && err == nil {
		o.event.Result = result
	}
}
