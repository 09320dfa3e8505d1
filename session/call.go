package session

import "context"

// A call is one call of the Client, which may be made to wait for it or not.
type call[T any] struct {
	op string
	// check refuses at once what cannot be, and takes what do needs: a state, a
	// seat. If it returns nil, do is called.
	check func() error
	do    func(ctx context.Context, id OpID) (T, error)
	// event is the completion of a call that nobody waits for.
	event func(Completion, T) Event
}

// none is the result of a call that has none.
type none = struct{}

// run makes the call and waits for it.
func (k call[T]) run(ctx context.Context, c *Client) (result T, err error) {
	ctx, leave, err := c.life.enter(ctx, k.op)
	if err != nil {
		return result, err
	}
	defer leave()
	if err := k.check(); err != nil {
		return result, failure(ctx, k.op, err)
	}
	result, err = k.do(ctx, c.newID())
	return result, failure(ctx, k.op, err)
}

// start makes the call and does not wait for it.
func (k call[T]) start(ctx context.Context, c *Client) *Op[T] {
	op := &Op[T]{id: c.newID(), done: make(chan struct{})}
	ctx, leave, err := c.life.enter(ctx, k.op)
	if err != nil {
		op.err = err
		close(op.done)
		return op
	}
	if op.err = failure(ctx, k.op, k.check()); op.err != nil {
		k.complete(c, op)
		leave()
		return op
	}
	go func() {
		defer leave()
		result, err := k.do(ctx, op.id)
		op.result, op.err = result, failure(ctx, k.op, err)
		k.complete(c, op)
	}()
	return op
}

// complete tells of the end of a call: whoever sees Done has the event in the
// queue, and whoever hears the event sees Done.
func (k call[T]) complete(c *Client, op *Op[T]) {
	c.events.complete(k.event(Completion{op.id, op.err}, op.result), func() { close(op.done) })
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
