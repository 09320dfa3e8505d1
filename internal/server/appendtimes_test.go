package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/journal"
)

// A slowJournal takes its length for each append; a negative one fails.
type slowJournal struct {
	journal.Journal
	clock *clockwork.FakeClock
	takes time.Duration
}

func (j *slowJournal) Append(_ context.Context, last uint64, _ []byte) (uint64, error) {
	if j.takes < 0 {
		return 0, errors.New("full")
	}
	j.clock.Advance(j.takes)
	return last + 1, nil
}

func TestAppendTimes(t *testing.T) {
	clock := clockwork.NewFakeClock()
	slow := &slowJournal{clock: clock}
	j := &timedJournal{Journal: slow, clock: clock}
	for _, c := range []struct {
		appends  int
		takes    time.Duration
		p50, p99 time.Duration
	}{
		{1, -1, 0, 0},
		{1, 5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond},
		{97, time.Millisecond, time.Millisecond, 5 * time.Millisecond},
		{2, 20 * time.Millisecond, time.Millisecond, 20 * time.Millisecond},
		{keptTimes, 2 * time.Millisecond, 2 * time.Millisecond, 2 * time.Millisecond},
	} {
		slow.takes = c.takes
		for range c.appends {
			if _, err := j.Append(t.Context(), 0, nil); (err != nil) != (c.takes < 0) {
				t.Fatal(err)
			}
		}
		if p50, p99, ok := j.quantiles(); p50 != c.p50 || p99 != c.p99 || ok != (c.p50 > 0) {
			t.Errorf("after %d of %s: %s, %s, %v", c.appends, c.takes, p50, p99, ok)
		}
	}
}
