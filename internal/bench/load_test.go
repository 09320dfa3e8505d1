package bench

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
)

// inBubble runs a load where time passes only while all wait.
func inBubble(t *testing.T, l load, workers int, work operation, check func(outcome, []*meter)) {
	synctest.Test(t, func(t *testing.T) {
		l.clock = clockwork.NewRealClock() // the bubble's
		operations, meters := make([]operation, workers), make([]*meter, workers)
		for i := range operations {
			operations[i], meters[i] = work, new(meter)
		}
		check(l.run(t.Context(), operations, meters), meters)
	})
}

// An operation that was late because the one before was slow has waited, and
// that counts.
func TestOpenLoopCountsFromTheIntendedStart(t *testing.T) {
	first := true
	work := func(context.Context) (int, error) {
		if first {
			time.Sleep(50 * time.Millisecond)
		}
		first = false
		return 3, nil
	}
	inBubble(t, load{duration: time.Second, rate: 100}, 1, work, func(o outcome, meters []*meter) {
		m := meters[0]
		if m.operations.Load() != 100 || m.units.Load() != 300 || o.unsent != 0 || o.exhausted {
			t.Errorf("%d operations, %d units, outcome %+v", m.operations.Load(), m.units.Load(), o)
		}
		if o.elapsed != 990*time.Millisecond {
			t.Errorf("took %v", o.elapsed)
		}
		for _, late := range []time.Duration{50, 40, 30, 20, 10} {
			if n := m.times.counts[bucketOf(late*time.Millisecond)]; n != 1 {
				t.Errorf("%d operations took %d ms, instead of 1", n, late)
			}
		}
		if m.times.counts[0] != 95 {
			t.Errorf("%d operations took no time", m.times.counts[0])
		}
	})
}

func TestOpenLoopSharesTheSchedule(t *testing.T) {
	slow := func(context.Context) (int, error) {
		time.Sleep(35 * time.Millisecond)
		return 1, nil
	}
	inBubble(t, load{duration: time.Second, rate: 100}, 4, slow, func(o outcome, meters []*meter) {
		operations, _, _ := totals(meters)
		if operations != 100 || o.unsent != 0 {
			t.Errorf("%d operations, %d not sent", operations, o.unsent)
		}
		for _, m := range meters {
			if m.times.max != 35*time.Millisecond {
				t.Errorf("the longest took %v", m.times.max)
			}
		}
	})
}

// What finds no free worker is told, and the run still ends in time.
func TestOverload(t *testing.T) {
	slow := func(context.Context) (int, error) {
		time.Sleep(20 * time.Millisecond)
		return 1, nil
	}
	inBubble(t, load{duration: time.Second, rate: 100}, 1, slow, func(o outcome, meters []*meter) {
		if got := meters[0].operations.Load(); got != 50 || o.unsent != 50 || o.elapsed != time.Second {
			t.Errorf("%d operations, outcome %+v", got, o)
		}
		if got := meters[0].times.max; got != 510*time.Millisecond {
			t.Errorf("the last one took %v from when it was due", got)
		}
	})
}

func TestClosedLoop(t *testing.T) {
	work := func(context.Context) (int, error) {
		time.Sleep(10 * time.Millisecond)
		return 2, nil
	}
	inBubble(t, load{duration: time.Second}, 3, work, func(o outcome, meters []*meter) {
		operations, units, failures := totals(meters)
		if operations != 300 || units != 600 || failures != 0 || o.elapsed != time.Second {
			t.Errorf("%d operations, %d units, %d failures in %v", operations, units, failures, o.elapsed)
		}
	})
}

// A number of operations is made exactly, in a closed loop and in an open one.
func TestNumberOfOperations(t *testing.T) {
	work := func(context.Context) (int, error) {
		time.Sleep(10 * time.Millisecond)
		return 1, nil
	}
	for rate, want := range map[float64]time.Duration{0: 40 * time.Millisecond, 100: 110 * time.Millisecond} {
		inBubble(t, load{duration: time.Hour, operations: 11, rate: rate}, 3, work, func(o outcome, meters []*meter) {
			if operations, _, _ := totals(meters); operations != 11 || o.unsent != 0 || o.exhausted ||
				o.elapsed != want {
				t.Errorf("at %v/s: %d operations, outcome %+v, want %v", rate, operations, o, want)
			}
		})
	}
}

func TestExhaustionEndsTheRun(t *testing.T) {
	left := 5
	work := func(context.Context) (int, error) {
		if left == 0 {
			return 0, errExhausted
		}
		left--
		time.Sleep(time.Millisecond)
		return 1, nil
	}
	inBubble(t, load{duration: time.Hour, rate: 1000}, 1, work, func(o outcome, meters []*meter) {
		if !o.exhausted || o.unsent != 0 || o.elapsed != 5*time.Millisecond || meters[0].operations.Load() != 5 {
			t.Errorf("%d operations, outcome %+v", meters[0].operations.Load(), o)
		}
	})
}

func TestFailuresAreCountedByName(t *testing.T) {
	errs := []error{&CallError{Exception: "ThrottlingException"}, nil, &CallError{Exception: "ThrottlingException"},
		errors.New("broken pipe")}
	work := func(context.Context) (int, error) {
		if len(errs) == 0 {
			return 0, errExhausted
		}
		err := errs[0]
		errs = errs[1:]
		return 1, err
	}
	inBubble(t, load{duration: time.Second}, 1, work, func(_ outcome, meters []*meter) {
		m := meters[0]
		if m.operations.Load() != 1 || m.units.Load() != 1 || m.times.total != 1 || m.failures.Load() != 3 ||
			m.errors["ThrottlingException"] != 2 || m.errors["connection lost"] != 1 {
			t.Errorf("got %v", m.errors)
		}
	})
}

func TestTheEndOfTheContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		m := new(meter)
		work := func(context.Context) (int, error) { return 1, nil }
		o := load{clock: clockwork.NewRealClock(), duration: time.Hour, rate: 1}.run(ctx, []operation{work},
			[]*meter{m})
		if o.elapsed != 1500*time.Millisecond || m.operations.Load() != 2 || o.unsent != 0 {
			t.Errorf("%d operations, outcome %+v", m.operations.Load(), o)
		}
	})
}
