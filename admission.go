package muster

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
type admission struct {
	limit int64 // 0: none
	clock clockwork.Clock

	inFlight atomic.Int64
	since    atomic.Int64 // when the present rush began, in Unix nanoseconds
	last     atomic.Int64 // when the limit was last found to be reached
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
)

const (
	callsPerProcessor = 256
	mostCalls         = 2048
)

// newAdmission makes an admission for so many calls; 0 derives the number from
// the processors: so many calls keep them busy, and each is done in time.
func newAdmission(limit int, clock clockwork.Clock) *admission {
	if limit == 0 {
		limit = min(callsPerProcessor*runtime.GOMAXPROCS(0), mostCalls)
	}
	return &admission{limit: int64(limit), clock: clock}
}

// enter reports whether one more call may be worked on. leave must follow then.
func (a *admission) enter() bool {
	n := a.inFlight.Add(1)
	if n <= a.limit || a.rushing(n) {
		return true
	}
	a.inFlight.Add(-1)
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
