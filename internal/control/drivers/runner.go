package drivers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/shard"
)

// A driver is a pure machine that decides which requests, of type R, are sent to the shards.
type driver[R any] interface {
	SetNow(now event.Time)
	Requests(list []R) []R
	Due() (at event.Time, ok bool)
	Review()
}

// A runner runs a driver on the node that leads: it passes facts and answers on, and carries out the requests. The
// observers of the shards call it on their commit goroutines.
type runner[M driver[R], R any] struct {
	cfg        *Config
	send       func(R) // carries out a request
	unanswered error   // the driver's mark for requests with an unknown outcome
	news       chan struct{}

	mu      sync.Mutex
	machine M
	spare   []R        // to collect requests in; nil while it is in use
	armed   event.Time // when review looks at the machine by itself
}

const never = event.Time(math.MaxInt64)

func newRunner[M driver[R], R any](cfg *Config, machine M, unanswered error) runner[M, R] {
	return runner[M, R]{cfg: cfg, machine: machine, unanswered: unanswered, news: make(chan struct{}, 1), armed: never}
}

// step calls f with the machine, and then sends its requests. A shard that has stopped answers immediately, and the
// answer is a step, too.
func (d *runner[M, R]) step(f func(m M)) {
	requests, wakes := d.locked(f)
	if wakes {
		router.Wake(d.news)
	}
	for _, r := range requests {
		d.send(r)
	}
	if n := cap(requests); n > 0 && n <= keptRequests {
		clear(requests)
		d.mu.Lock()
		d.spare = requests[:0]
		d.mu.Unlock()
	}
}

// keptRequests is the maximum capacity of a list of requests that is reused.
const keptRequests = 64

// locked is the part of step under the lock. wakes reports that review would be too late.
func (d *runner[M, R]) locked(f func(m M)) (requests []R, wakes bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.machine.SetNow(d.cfg.Router.Now())
	f(d.machine)
	at, due := d.machine.Due()
	if due && at < d.armed {
		d.armed, wakes = at, true
	}
	list := d.machine.Requests(d.spare)
	if len(list) == 0 {
		return nil, wakes
	}
	d.spare = nil
	return list, wakes
}

// ask sends a request to a shard: a command, or read, which is called with the shard's state. done may be nil.
func (d *runner[M, R]) ask(number int, c region.Command, read func(*region.Machine), done func(any, error)) {
	switch s := d.cfg.Router.Shards()[number]; {
	case read != nil:
		s.SubmitRead(read, func(err error) {
			if err == nil {
				d.answer(done, nil, nil)
				return
			}
			d.cfg.Router.Go(func() { d.answer(done, nil, err) }) // many may fail at once, one in the answer of another
		})
	case done != nil:
		s.SubmitUnbounded(c, func(answer any, err error) { d.answer(done, answer, err) })
	default:
		s.Post(c)
	}
}

// lookUpLimit is how long the history, or the start of a placement, may take.
const lookUpLimit = 15 * time.Second

// beside runs f, which may wait or take processor time, outside of the machine, and answers with its result.
func (d *runner[M, R]) beside(done func(any, error), f func(ctx context.Context) (any, error)) {
	d.cfg.Router.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), lookUpLimit)
		defer cancel()
		answer, err := f(ctx)
		d.answer(done, answer, err)
	})
}

func (d *runner[M, R]) answer(done func(any, error), answer any, err error) {
	if errors.Is(err, shard.ErrNotDone) || errors.Is(err, shard.ErrOutcomeUnknown) {
		err = fmt.Errorf("%w: %w", d.unanswered, err)
	}
	d.step(func(M) { done(answer, err) })
}

// review runs what is due in the machine, until ctx is done.
func (d *runner[M, R]) review(ctx context.Context) error {
	timer := d.cfg.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		d.step(M.Review)
		d.arm(timer)
		select {
		case <-ctx.Done():
			return nil
		case <-d.news:
		case <-timer.Chan():
		}
	}
}

// arm sets the timer to the time at which the machine has something to do.
func (d *runner[M, R]) arm(timer clockwork.Timer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = never
	if at, due := d.machine.Due(); due {
		d.armed = at
		timer.Reset(max(0, at.Time().Sub(d.cfg.Clock.Now())))
	}
}
