package direct

import (
	"context"
	"math/rand/v2"
	"time"
)

// How a state that the service is to reach is looked at: soon at first, then ever less often.
const (
	firstWait = 250 * time.Millisecond
	maxWait   = 2 * time.Second
)

// grace is how long after its context has ended a call may go on, to learn what has become of a request under way or to
// undo what it has done.
const grace = 5 * time.Second

// poll calls step until it is done or fails, with growing waits before each call. A service that is asked too often is
// asked less, not given up.
func (p *Provider) poll(ctx context.Context, op string, step func() (done bool, err error)) error {
	for wait := firstWait; ; {
		if err := p.sleep(ctx, jitter(wait)); err != nil {
			return failure(ctx, op, err)
		}
		done, err := step()
		switch {
		case throttled(err):
			wait = maxWait
		case err != nil || done:
			return err
		default:
			wait = min(wait*3/2, maxWait)
		}
	}
}

// jitter varies a wait by up to a fifth, so that those who started together do not ask together.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

func (p *Provider) sleep(ctx context.Context, d time.Duration) error {
	timer := p.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.Chan():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// outlast returns a context that ends a little after ctx: for requests that make something, whose answer says what
// there is to undo.
func (p *Provider) outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if p.sleep(longer, grace) == nil {
			cancel()
		}
	})
	return longer, func() { stop(); cancel() }
}

// cleanup returns a context for undoing what a call has done, whatever has become of its own.
func (p *Provider) cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	undoing, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	timer := p.clock.AfterFunc(grace, func() { cancel(context.DeadlineExceeded) })
	return undoing, func() {
		timer.Stop()
		cancel(nil)
	}
}
