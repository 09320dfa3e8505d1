package main

import (
	"context"
	"time"

	"github.com/jonboulle/clockwork"
)

// time returns the clock: the real one, except in tests.
func (a *app) time() clockwork.Clock {
	if a.clock == nil {
		return clockwork.NewRealClock()
	}
	return a.clock
}

func (a *app) now() time.Time { return a.time().Now() }

// pause waits, until ctx ends.
func (a *app) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-a.time().After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
