package session

import (
	"context"
	"sync"
)

// A life knows what is running in a Client, and ends it.
type life struct {
	base context.Context // done with errClosed when the client is closed
	end  context.CancelCauseFunc

	mu      sync.Mutex
	running int
	closed  bool
	drained chan struct{} // closed when the life is closed and nothing is running
}

func newLife() *life {
	l := &life{drained: make(chan struct{})}
	l.base, l.end = context.WithCancelCause(context.Background())
	return l
}

// enter begins something that Close interrupts and waits for: until leave.
func (l *life) enter(ctx context.Context, op string) (_ context.Context, leave func(), _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, &Error{Op: op, Kind: ErrClosed, Message: errClosed.Message}
	}
	l.running++
	ctx, release := until(ctx, l.base)
	return ctx, func() {
		release()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.running--; l.closed && l.running == 0 {
			close(l.drained)
		}
	}, nil
}

// close ends everything and waits until nothing is running or ctx is done.
func (l *life) close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closed {
		if l.closed = true; l.running == 0 {
			close(l.drained)
		}
	}
	l.mu.Unlock()
	l.end(errClosed)
	select {
	case <-l.drained:
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
