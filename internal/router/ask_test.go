package router

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A call ends in time, and reports whether the command may have been executed.
func TestPersist(t *testing.T) {
	synctest.Test(t, testPersist)
}

func testPersist(t *testing.T) {
	s := &Shard{router: &Router{cfg: Config{Clock: clockwork.NewRealClock()}}}
	ctx := t.Context()
	passes := &fault.Error{Kind: fault.ServiceUnavailable, Message: "later", Err: shard.ErrNotDone}
	alone := &fault.Error{Kind: fault.ServiceUnavailable, Err: errors.Join(shard.ErrNotDone, shard.ErrPartitioned)}
	unknown := fault.Internal(shard.ErrOutcomeUnknown)
	refused := fault.New(fault.Conflict, "no")
	persist := func(
		ctx context.Context, repeatable bool, outcomes ...error,
	) (attempts int, took time.Duration, err error) {
		began := time.Now()
		err = s.Persist(ctx, repeatable, func() error {
			attempts++
			return outcomes[min(attempts, len(outcomes))-1]
		})
		return attempts, time.Since(began), err
	}
	if n, took, err := persist(ctx, false, passes); err != passes || n < 3 || took < RepeatWithin {
		t.Errorf("%d attempts in %v: %v", n, took, err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for name, tt := range map[string]struct {
		ctx        context.Context
		repeatable bool
		outcomes   []error
		attempts   int
		want       error
	}{
		"done":                            {ctx, false, []error{nil}, 1, nil},
		"done later":                      {ctx, false, []error{passes, passes, nil}, 3, nil},
		"refused":                         {ctx, true, []error{refused}, 1, refused},
		"refused later":                   {ctx, true, []error{unknown, passes, refused}, 3, refused},
		"too many requests":               {ctx, true, []error{shard.Full()}, 1, nil},
		"the service stops":               {ctx, true, []error{shard.Stopped()}, 1, nil},
		"unknown":                         {ctx, false, []error{unknown}, 1, unknown},
		"unknown, and then not done":      {ctx, true, []error{unknown, shard.Stopped()}, 2, unknown},
		"unknown behind one not done":     {ctx, false, []error{passes, unknown}, 2, unknown},
		"unknown, and done the next":      {ctx, true, []error{unknown, nil}, 2, nil},
		"the caller has gone":             {gone, true, []error{unknown}, 1, unknown},
		"the caller has gone, not done":   {gone, true, []error{passes}, 1, passes},
		"a node that reaches no others":   {ctx, true, []error{alone}, 1, nil},
		"a command that breaks the shard": {ctx, true, []error{fault.Internal(shard.ErrNotDone)}, 1, nil},
	} {
		n, _, err := persist(tt.ctx, tt.repeatable, tt.outcomes...)
		want := tt.want
		if want == nil {
			want = tt.outcomes[len(tt.outcomes)-1]
		}
		if n != tt.attempts || err != want {
			t.Errorf("%s: %d attempts, %v", name, n, err)
		}
	}
}
