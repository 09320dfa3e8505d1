package session

import (
	"context"
	"sync"
)

// A call is one call of a Client. Client.Async makes it without waiting.
type call[T any] struct {
	op   string
	name string // of the named session; "" for other calls
	// check rejects the call at once, or reserves what do needs: a state, the search.
	check func() error
	// do is called if check returns nil. id is that of the Op, or a new one.
	do func(ctx context.Context, id OpID) (T, error)
}

// none is the result of a call without one.
type none = struct{}

// run makes the call and waits for it.
func (k call[T]) run(ctx context.Context, c *Client) (result T, err error) {
	op := opOf(ctx)
	ctx, leave, err := c.calls.enter(ctx, k.op)
	if err != nil {
		return result, err
	}
	defer leave()
	if err = k.check(); err == nil {
		id := op.accept()
		if op == nil {
			id = c.newID()
		}
		result, err = k.do(ctx, id)
	}
	err = failure(ctx, k.op, err)
	op.record(k.op, k.name, result, err)
	return result, err
}

// runErr is run without the result.
func (k call[T]) runErr(ctx context.Context, c *Client) error {
	_, err := k.run(ctx, c)
	return err
}

// Async makes one call of the client or its named sessions without waiting for it:
//
//	op := client.Async(ctx, func(ctx context.Context) error {
//		return client.JoinSession(ctx, request)
//	})
//
// It returns when the call has passed the checks of its request and its state, so calls take effect in the order of
// Async, and a rejected call is complete when Async returns. One [Complete] is published when it is complete, unless
// the client is closed. call runs in its own goroutine; ctx is the context of the whole call, and canceling it
// interrupts the call.
func (c *Client) Async(ctx context.Context, call func(context.Context) error) *Op {
	op := &Op{id: c.newID(), accepted: make(chan struct{}), done: make(chan struct{})}
	_, leave, err := c.calls.enter(ctx, "Async")
	if err != nil {
		op.err = err
		close(op.done)
		return op
	}
	go func() {
		defer leave()
		op.err = call(context.WithValue(ctx, opKey{}, op))
		// The event is queued before Done is closed, and delivered afterwards.
		op.event.Op, op.event.Err = op.id, op.err
		c.events.complete(op.event, func() { close(op.done) })
	}()
	select {
	case <-op.accepted:
	case <-op.done:
	}
	return op
}

// firstError calls the checks until one fails.
func firstError(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// A callGroup counts the running calls of a Client, and ends them.
type callGroup struct {
	base context.Context // done with errClosed when the client is closed
	end  context.CancelCauseFunc

	mu      sync.Mutex
	running int
	closed  bool
	drained chan struct{} // closed when closed is set and nothing is running
}

func newCallGroup() *callGroup {
	g := &callGroup{drained: make(chan struct{})}
	g.base, g.end = context.WithCancelCause(context.Background())
	return g
}

// enter begins a call, which lasts until leave; Close interrupts it and waits for it.
func (g *callGroup) enter(ctx context.Context, op string) (_ context.Context, leave func(), _ error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil, &Error{Op: op, Kind: ErrClosed, Message: errClosed.Message}
	}
	g.running++
	ctx, release := until(ctx, g.base)
	return ctx, func() {
		release()
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.running--; g.closed && g.running == 0 {
			close(g.drained)
		}
	}, nil
}

// close ends everything and waits until nothing is running or ctx is done.
func (g *callGroup) close(ctx context.Context) error {
	g.mu.Lock()
	if !g.closed {
		if g.closed = true; g.running == 0 {
			close(g.drained)
		}
	}
	g.mu.Unlock()
	g.end(errClosed)
	select {
	case <-g.drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// until returns a context that is done when ctx or end is, with the cause of the first.
func until(ctx, end context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(end, func() { cancel(context.Cause(end)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
