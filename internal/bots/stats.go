package bots

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/session"
)

// Stats count what bots do. The zero value is ready; its methods may be called from any goroutine.
type Stats struct {
	mu       sync.Mutex
	now      Snapshot
	slots    bench.Histogram
	failures map[string]Failure
}

// A Snapshot is the state of all bots.
type Snapshot struct {
	Joined  int `json:"joined"`     // now
	Most    int `json:"mostJoined"` // at the same time
	Waiting int `json:"waiting"`    // now, for a slot
	Joins   int `json:"joins"`      // successful ones, in total
	Leaves  int `json:"leaves"`     // of bots that have stayed as long as they should
	// Slot is the time from the arrival of a bot until the game server has accepted it, failed attempts included.
	Slot     Times     `json:"secondsToSlot"`
	Failures []Failure `json:"failures"` // the most frequent first
}

// Times are quantiles in seconds; 0 before the first join.
type Times struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// A Failure is the failures of one reason: an attempt to join, or a connection that was lost.
type Failure struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
	Last   error  `json:"-"` // the newest error
}

// Snapshot returns the present state.
func (s *Stats) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now
	now.Slot = Times{s.slots.Quantile(0.5).Seconds(), s.slots.Quantile(0.99).Seconds(), s.slots.Max().Seconds()}
	now.Failures = slices.SortedFunc(maps.Values(s.failures), func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return now
}

func (s *Stats) update(change func(*Snapshot)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.now)
}

// joined counts a bot that has a slot after this time.
// joined counts a bot that has joined, and returns how many are in game sessions now.
func (s *Stats) joined(after time.Duration) (joined int) {
	s.update(func(now *Snapshot) {
		s.slots.Record(after)
		now.Waiting--
		now.Joins++
		now.Joined++
		now.Most = max(now.Most, now.Joined)
		joined = now.Joined
	})
	return joined
}

func (s *Stats) failed(err error) {
	s.update(func(*Snapshot) {
		if s.failures == nil {
			s.failures = map[string]Failure{}
		}
		reason := Reason(err)
		s.failures[reason] = Failure{reason, s.failures[reason].Count + 1, err}
	})
}

// Reason returns a short name for an error: the code of the service or the game server, or the kind.
func Reason(err error) string {
	prefix := ""
	if _, connecting := errors.AsType[*ConnectError](err); connecting {
		if is(err, session.ErrTransport) {
			return "connection failed"
		}
		prefix = "refused by the game server: "
	}
	e, ok := errors.AsType[*session.Error](err)
	switch {
	case ok && e.Code != "":
		return prefix + e.Code
	case ok:
		return prefix + e.Kind.Error()
	}
	return prefix + err.Error()
}
