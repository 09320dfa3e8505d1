package server

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/time/rate"
)

// An admission limits concurrent API calls. An overloaded service that accepts all calls answers all of them late,
// after their clients have given up; with a limit the accepted calls stay fast.
//
// Short bursts are no overload: for a moment more calls are accepted. After that the limit holds until it has not been
// reached for a while.
//
// A refusal is delayed, to slow down clients that retry at once, and to leave the processors to the accepted calls.
type admission struct {
	limit int64
	clock clockwork.Clock
	sleep func(time.Duration)

	inFlight atomic.Int64
	since    atomic.Int64 // start of the present burst, in Unix nanoseconds
	last     atomic.Int64 // when the limit was last reached
	refused  atomic.Int64 // calls being refused
}

const (
	// burstLimit is the factor by which a burst may exceed the limit. The calls then still fit into the queue of one
	// shard, with room for game servers.
	burstLimit = 3
	// burstTime is the maximum duration of a burst.
	burstTime = 100 * time.Millisecond
	// calmTime is the time below the limit before the next burst. Calls are answered in batches, so a moment is no
	// sign.
	calmTime = time.Second
	// refusalTime is the delay of a refusal. AWS SDKs wait about as long before a retry; connections of longer calls
	// are watched, which has a cost.
	refusalTime = 80 * time.Millisecond
	// mostRefused is the maximum of delayed refusals; further ones are immediate, to limit waiting goroutines.
	mostRefused = 4096
)

const (
	callsPerProcessor = 128
	mostCalls         = 2048
)

// newAdmission returns an admission of limit calls; 0 derives it from the processors, to keep them busy with calls that
// are done in time.
func newAdmission(limit int, clock clockwork.Clock) *admission {
	if limit == 0 {
		limit = min(callsPerProcessor*runtime.GOMAXPROCS(0), mostCalls)
	}
	return &admission{limit: int64(limit), clock: clock, sleep: time.Sleep}
}

// enter reports whether a call is accepted; then leave must follow. It delays a refusal.
func (a *admission) enter() bool {
	n := a.inFlight.Add(1)
	if n <= a.limit || a.inBurst(n) {
		return true
	}
	a.inFlight.Add(-1)
	if a.refused.Add(1) <= mostRefused {
		a.sleep(refusalTime)
	}
	a.refused.Add(-1)
	return false
}

// inBurst reports whether n calls are allowed by the present burst.
func (a *admission) inBurst(n int64) bool {
	now := a.clock.Now().UnixNano()
	if now-a.last.Swap(now) > int64(calmTime) {
		a.since.Store(now)
	}
	return n <= burstLimit*a.limit && now-a.since.Load() <= int64(burstTime)
}

func (a *admission) leave() { a.inFlight.Add(-1) }

// A throttle limits the calls of each access key.
type throttle struct {
	perSecond int // 0: no limit
	clock     clockwork.Clock
	keys      sync.Map // access key → *rate.Limiter, of which there are few
}

func newThrottle(perSecond int, clock clockwork.Clock) *throttle {
	return &throttle{perSecond: perSecond, clock: clock}
}

func (t *throttle) allow(_, principal string) bool {
	if t.perSecond == 0 {
		return true
	}
	limiter, ok := t.keys.Load(principal)
	if !ok {
		limiter, _ = t.keys.LoadOrStore(principal, rate.NewLimiter(rate.Limit(t.perSecond), t.perSecond))
	}
	return limiter.(*rate.Limiter).AllowN(t.clock.Now(), 1)
}
