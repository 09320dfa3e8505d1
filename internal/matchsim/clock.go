package matchsim

import (
	"context"
	"time"
)

// A Clock says how the time of a simulation passes.
type Clock int

// The clocks.
const (
	Virtual Clock = iota // moments follow one another at once
	Real                 // a second takes a second
)

// String is the clock's name on a command line.
func (c Clock) String() string {
	if c == Real {
		return "real"
	}
	return "virtual"
}

// wait returns when a moment has come, counted from the start of the simulation, with
// the moment that it then is: the same one on the virtual clock.
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
