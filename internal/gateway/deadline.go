package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/jonboulle/clockwork"
)

// WithTimeout is context.WithTimeout with a clock. The one of package clockwork blocks in Err with a fake clock, which
// libraries do not expect.
func WithTimeout(ctx context.Context, clock clockwork.Clock, d time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	timer := clock.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	limited := &limitedContext{Context: inner, deadline: clock.Now().Add(d)}
	if outer, ok := ctx.Deadline(); ok && outer.Before(limited.deadline) {
		limited.deadline = outer
	}
	return limited, func() {
		timer.Stop()
		cancel(nil)
	}
}

// A limitedContext ends at a clock's time.
type limitedContext struct {
	context.Context
	deadline time.Time
}

// Deadline implements context.Context.
func (c *limitedContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Err implements context.Context.
func (c *limitedContext) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}
