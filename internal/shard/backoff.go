package shard

import (
	"context"
	"time"

	"github.com/jonboulle/clockwork"
)

// A Retry waits between a failure and the next attempt.
type Retry struct {
	Backoff
	next time.Duration
}

// Served resets the wait if the shard has served for long.
func (b *Retry) Served(d time.Duration) {
	if d >= 2*b.Max {
		b.next = 0
	}
}

// Wait waits, longer than the last time. It returns false when ctx is done.
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
