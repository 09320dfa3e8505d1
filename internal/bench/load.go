package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
)

// An operation does the work of a profile once and says how many units it has
// done. Each worker has one of its own.
type operation func(context.Context) (units int, err error)

// errExhausted ends a run before its time: what the profile has prepared is used up.
var errExhausted = errors.New("nothing is left to work on")

// A load says how operations are to be made.
type load struct {
	clock      clockwork.Clock
	duration   time.Duration
	operations int64   // that are to be made, if the time suffices; 0: any number
	rate       float64 // operations a second that are offered; 0: as fast as they are answered
}

// An outcome says how a run went.
type outcome struct {
	elapsed   time.Duration // to the end of the last operation
	unsent    int64         // operations that were due and found no free worker before the end
	exhausted bool
}

// A loader is one run.
type loader struct {
	load
	start   time.Time
	next    atomic.Int64 // number of the next operation
	drained atomic.Bool
}

// run makes operations until there are enough of them, the time is over, ctx is
// done or nothing is left, and waits for those under way. There is one meter for each worker.
func (l load) run(ctx context.Context, workers []operation, meters []*meter) outcome {
	r := &loader{load: l, start: l.clock.Now()}
	var working sync.WaitGroup
	for i, work := range workers {
		working.Go(func() { r.loop(ctx, work, meters[i]) })
	}
	working.Wait()
	o := outcome{elapsed: l.clock.Since(r.start), exhausted: r.drained.Load()}
	if l.rate > 0 && !o.exhausted && ctx.Err() == nil {
		// Each worker has drawn one number that came after the end, or too late.
		o.unsent = max(0, r.scheduled()-r.sent(meters))
	}
	return o
}

// scheduled is the number of operations that were due in the whole time.
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

// due is when an operation is to begin.
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
			return // cut short by the caller, no failure of the service
		}
		m.count(r.clock.Since(begun), units, err)
	}
}

// begin waits until the next operation is due and says since when its time
// counts; false when there is none any more.
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
