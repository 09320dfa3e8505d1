package direct

import (
	"context"
	"math/rand/v2"
	"time"
)

// The waits of poll, which grow from the first to the maximum.
const (
	firstWait = 250 * time.Millisecond
	maxWait   = 2 * time.Second
)

// grace is how long a call may continue after its context has ended, to receive the answer to a request or to undo it.
const grace = 5 * time.Second

// poll calls step until it is done or fails, with growing waits before each call. When the service throttles it, poll
// waits longer instead of failing.
func (p *provider) poll(ctx context.Context, op string, step func() (done bool, err error)) error {
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

// jitter varies a wait by up to a fifth, so that callers that started together do not poll together.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

func (p *provider) sleep(ctx context.Context, d time.Duration) error {
	timer := p.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.Chan():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// outlast returns a context that ends a little after ctx: for requests that create something, whose answer is needed to
// undo them.
func (p *provider) outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if p.sleep(longer, grace) == nil {
			cancel()
		}
	})
	return longer, func() { stop(); cancel() }
}

// cleanup returns a context for undoing a call, whose own context may be done.
func (p *provider) cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	undoing, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	timer := p.clock.AfterFunc(grace, func() { cancel(context.DeadlineExceeded) })
	return undoing, func() {
		timer.Stop()
		cancel(nil)
	}
}
