package session

import "context"

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
	ctx, leave, err := c.life.enter(ctx, k.op)
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
	_, leave, err := c.life.enter(ctx, "Async")
	if err != nil {
		op.err = err
		close(op.done)
		return op
	}
	go func() {
		defer leave()
		op.err = call(context.WithValue(ctx, opKey{}, op))
		// Who sees Done has the event in the queue, and who receives the event sees Done.
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
