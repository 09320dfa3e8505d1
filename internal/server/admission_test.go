package server

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

// newTestAdmission makes an admission whose refusals take no time, and counts
// those that would.
func newTestAdmission(limit int, clock clockwork.Clock) (a *admission, waited *atomic.Int64) {
	a, waited = newAdmission(limit, clock), new(atomic.Int64)
	a.sleep = func(time.Duration) { waited.Add(1) }
	return a, waited
}

// enterAll lets n calls in and returns how many were.
func enterAll(a *admission, n int) (in int) {
	for range n {
		if a.enter() {
			in++
		}
	}
	return in
}

func TestAdmission(t *testing.T) {
	clock := clockwork.NewFakeClock()
	a, waited := newTestAdmission(10, clock)
	expect := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d calls were let in, want %d", what, got, want)
		}
	}
	leaveAll := func(n int) {
		for range n {
			a.leave()
		}
	}
	expect("a rush", enterAll(a, 100), 30)
	leaveAll(20)
	expect("one more in the same rush", enterAll(a, 100), 20)
	leaveAll(20)
	clock.Advance(burstTime + time.Millisecond)
	expect("the rush has lasted too long", enterAll(a, 5), 0)
	leaveAll(4)
	expect("below the limit", enterAll(a, 5), 4)

	// Batches end together: that the calls are gone for a moment is no calm.
	leaveAll(10)
	expect("behind a batch", enterAll(a, 100), 10)
	for range 5 {
		clock.Advance(calmTime)
		expect("overload goes on", enterAll(a, 5), 0)
	}
	clock.Advance(calmTime + time.Millisecond)
	leaveAll(10)
	expect("the next rush after a calm", enterAll(a, 100), 30)
	leaveAll(30)
	if waited.Load() != 341 {
		t.Errorf("%d refusals took their time, want all 341", waited.Load())
	}
	a.refused.Store(mostRefused)
	before := waited.Load()
	if enterAll(a, 31); waited.Load() != before {
		t.Error("a refusal took its time though too many did already")
	}
	leaveAll(30)
	if n := a.inFlight.Load(); n != 0 {
		t.Errorf("%d calls are in flight after all have left", n)
	}
}

func TestAdmissionByProcessors(t *testing.T) {
	if a := newAdmission(0, clockwork.NewRealClock()); a.limit < callsPerProcessor || a.limit > mostCalls {
		t.Errorf("the limit is %d", a.limit)
	}
}

// However many come at the same time, no more are in than may be.
func TestAdmissionAtOnce(t *testing.T) {
	const limit = 4
	clock := clockwork.NewFakeClock()
	a, _ := newTestAdmission(limit, clock)
	enterAll(a, limit+1) // begins a rush
	a.inFlight.Store(0)
	clock.Advance(burstTime + 1)
	var inside, most atomic.Int64
	var callers sync.WaitGroup
	for range 32 {
		callers.Go(func() {
			for range 2000 {
				if !a.enter() {
					continue
				}
				n := inside.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				inside.Add(-1)
				a.leave()
			}
		})
	}
	callers.Wait()
	if most.Load() > limit {
		t.Errorf("%d calls were in at the same time, want at most %d", most.Load(), limit)
	}
}
