package matchsim

import (
	"context"
	"time"
)

// A Clock is how time passes in a simulation.
type Clock int

// The clocks.
const (
	Virtual Clock = iota // no waiting
	Real                 // real time
)

// String returns the name used on the command line.
func (c Clock) String() string {
	if c == Real {
		return "real"
	}
	return "virtual"
}

// wait waits for a moment, counted from began, and returns the present moment.
func (c Clock) wait(ctx context.Context, began time.Time, moment time.Duration) (time.Duration, error) {
	if c == Virtual {
		return moment, ctx.Err()
	}
	timer := time.NewTimer(moment - time.Since(began))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-timer.C:
		return max(moment, time.Since(began)), nil
	}
}
