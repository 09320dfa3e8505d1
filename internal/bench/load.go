package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
)

// An operation does the work of a profile once and returns the number of units done. Each worker has its own.
type operation func(context.Context) (units int, err error)

// errExhausted ends a run early: the prepared resources are used up.
var errExhausted = errors.New("nothing is left to work on")

type load struct {
	clock      clockwork.Clock
	duration   time.Duration
	operations int64   // maximum number; 0: unlimited
	rate       float64 // offered operations per second; 0: as fast as possible
}

type outcome struct {
	elapsed   time.Duration // until the end of the last operation
	unsent    int64         // operations that were due, but found no free worker
	exhausted bool
}

type loader struct {
	load
	start   time.Time
	next    atomic.Int64 // number of the next operation
	drained atomic.Bool
}

// run makes operations until there are enough, the time is over, ctx is done or resources are exhausted, and waits for
// those in progress. There is one meter per worker.
func (l load) run(ctx context.Context, workers []operation, meters []*meter) outcome {
	r := &loader{load: l, start: l.clock.Now()}
	var working sync.WaitGroup
	for i, work := range workers {
		working.Go(func() { r.loop(ctx, work, meters[i]) })
	}
	working.Wait()
	o := outcome{elapsed: l.clock.Since(r.start), exhausted: r.drained.Load()}
	if l.rate > 0 && !o.exhausted && ctx.Err() == nil {
		// Each worker took one number after the end, or too late.
		o.unsent = max(0, r.scheduled()-r.sent(meters))
	}
	return o
}

// scheduled returns the number of operations that were due.
func (r *loader) scheduled() int64 {
	n := int64(r.duration.Seconds() * r.rate)
	for r.due(n).Before(r.start.Add(r.duration)) {
		n++
	}
	if r.operations > 0 {
		n = min(n, r.operations)
	}
	return n
}

func (r *loader) sent(meters []*meter) (n int64) {
	for _, m := range meters {
		n += m.operations.Load() + m.failures.Load()
	}
	return n
}

// due returns when an operation is to begin.
func (r *loader) due(number int64) time.Time {
	return r.start.Add(time.Duration(float64(number) / r.rate * float64(time.Second)))
}

// loop is one worker.
func (r *loader) loop(ctx context.Context, work operation, m *meter) {
	for {
		begun, ok := r.begin(ctx)
		if !ok {
			return
		}
		units, err := work(ctx)
		switch {
		case errors.Is(err, errExhausted):
			r.drained.Store(true)
			return
		case err != nil && ctx.Err() != nil:
			return // ended by the caller, no failure of the service
		}
		m.count(r.clock.Since(begun), units, err)
	}
}

// begin waits until the next operation is due and returns the time from which it is measured; false if there is no
// further one.
func (r *loader) begin(ctx context.Context) (time.Time, bool) {
	now := r.clock.Now()
	end := r.start.Add(r.duration)
	if r.drained.Load() || ctx.Err() != nil || !now.Before(end) {
		return time.Time{}, false
	}
	number := r.next.Add(1) - 1
	if r.operations > 0 && number >= r.operations {
		return time.Time{}, false
	}
	if r.rate == 0 {
		return now, true
	}
	due := r.due(number)
	if !due.Before(end) {
		return time.Time{}, false
	}
	if wait := due.Sub(now); wait > 0 {
		timer := r.clock.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.Chan():
		case <-ctx.Done():
			return time.Time{}, false
		}
	}
	return due, true
}
