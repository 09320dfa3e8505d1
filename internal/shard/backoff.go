package shard

import (
	"context"
	"time"

	"github.com/jonboulle/clockwork"
)

// A Retry is the wait between a failure and the next attempt.
type Retry struct {
	Backoff
	next time.Duration
}

// Served notes how long the shard has served since the last wait. When that was
// long the next wait is a short one again.
func (b *Retry) Served(d time.Duration) {
	if d >= 2*b.Max {
		b.next = 0
	}
}

// Wait waits, longer than the last time. It reports false when ctx is done.
func (b *Retry) Wait(ctx context.Context, clock clockwork.Clock) bool {
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
