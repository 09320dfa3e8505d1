package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/journal"
)

// keptTimes is how many of a journal's append times are kept.
const keptTimes = 1000

// A timedJournal measures the appends of this node.
type timedJournal struct {
	journal.Journal
	clock clockwork.Clock

	mu    sync.Mutex
	times []time.Duration // of the newest appends, in any order
	next  int             // the one to replace
}

// Append implements journal.Journal.
func (j *timedJournal) Append(ctx context.Context, last uint64, data []byte) (uint64, error) {
	begin := j.clock.Now()
	seq, err := j.Journal.Append(ctx, last, data)
	if err == nil {
		j.add(j.clock.Since(begin))
	}
	return seq, err
}

func (j *timedJournal) add(took time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.times) < keptTimes {
		j.times = append(j.times, took)
		return
	}
	j.times[j.next] = took
	j.next = (j.next + 1) % keptTimes
}

// quantiles returns the median and the 99th percentile; ok is false without an append.
func (j *timedJournal) quantiles() (p50, p99 time.Duration, ok bool) {
	j.mu.Lock()
	sorted := slices.Clone(j.times)
	j.mu.Unlock()
	if len(sorted) == 0 {
		return 0, 0, false
	}
	slices.Sort(sorted)
	return sorted[len(sorted)/2], sorted[len(sorted)*99/100], true
}
