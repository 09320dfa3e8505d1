package shard

import (
	"context"
	"time"

	"github.com/jonboulle/clockwork"
)

// A backoff is the wait between a failure and the next recovery.
type backoff struct {
	Backoff
	next time.Duration
}

// served notes how long the shard has served since the last wait. When that was
// long the next wait is a short one again.
func (b *backoff) served(d time.Duration) {
	if d >= 2*b.Max {
		b.next = 0
	}
}

// wait waits, longer than the last time. It reports false when ctx is done.
func (b *backoff) wait(ctx context.Context, clock clockwork.Clock) bool {
	b.next = min(max(b.Min, 2*b.next), b.Max)
	timer := clock.NewTimer(b.next)
	defer timer.Stop()
	select {
	case <-timer.Chan():
		return true
	case <-ctx.Done():
		return false
	}
}
