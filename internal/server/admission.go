package server

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
)

// An admission limits how many API calls are worked on at the same time. A
// service that takes on more than it can do answers all of them late, and spends
// its time on calls that their clients have given up; one that refuses the rest
// at once answers those that it takes as fast as ever.
//
// Calls that come all at once and are soon done are no overload: for a moment
// more are let in. When that moment has passed and there are still too many, the
// limit holds until it has not been reached for a while.
//
// A refusal costs something, too, so it takes its time: clients that would ask
// again at once are slowed down, and the processors are left to the calls that
// were let in.
type admission struct {
	limit int64
	clock clockwork.Clock
	sleep func(time.Duration)

	inFlight atomic.Int64
	since    atomic.Int64 // when the present rush began, in Unix nanoseconds
	last     atomic.Int64 // when the limit was last found to be reached
	refused  atomic.Int64 // calls that are about to be
}

const (
	// rushLimit is by what factor the limit may be exceeded in a rush. Even then
	// the calls fit into the queue of one shard, with room for game servers.
	rushLimit = 3
	// rushTime is how long a rush may last.
	rushTime = 100 * time.Millisecond
	// calmTime is how long the limit must not have been reached before the next
	// rush. Calls are answered in batches: being below it for a moment is no sign.
	calmTime = time.Second
	// refusalTime is how long a refusal takes. Retries of AWS SDKs wait about as
	// long, or longer; connections of calls that take longer are watched, which
	// costs something.
	refusalTime = 80 * time.Millisecond
	// mostRefused is how many refusals take their time at once; further ones come
	// at once, so that no more goroutines wait.
	mostRefused = 4096
)

const (
	callsPerProcessor = 128
	mostCalls         = 2048
)

// newAdmission makes an admission for so many calls; 0 derives the number from
// the processors: so many calls keep them busy, and each is done in time.
func newAdmission(limit int, clock clockwork.Clock) *admission {
	if limit == 0 {
		limit = min(callsPerProcessor*runtime.GOMAXPROCS(0), mostCalls)
	}
	return &admission{limit: int64(limit), clock: clock, sleep: time.Sleep}
}

// enter reports whether one more call may be worked on. leave must follow then.
// It waits before it says no.
func (a *admission) enter() bool {
	n := a.inFlight.Add(1)
	if n <= a.limit || a.rushing(n) {
		return true
	}
	a.inFlight.Add(-1)
	if a.refused.Add(1) <= mostRefused {
		a.sleep(refusalTime)
	}
	a.refused.Add(-1)
	return false
}

// rushing reports whether n calls are too many for long, but not for now.
func (a *admission) rushing(n int64) bool {
	now := a.clock.Now().UnixNano()
	if now-a.last.Swap(now) > int64(calmTime) {
		a.since.Store(now)
	}
	return n <= rushLimit*a.limit && now-a.since.Load() <= int64(rushTime)
}

// leave says that a call is answered.
func (a *admission) leave() { a.inFlight.Add(-1) }
