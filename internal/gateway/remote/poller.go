package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// maxFetches limits the concurrent calls of one poller.
	maxFetches = 16
	// fetchLimit is the timeout of one call.
	fetchLimit = 15 * time.Second
	// patience is the number of consecutive failures that are retried before waiters receive the error.
	patience = 5
)

// A result is the service's answer about one id.
type result[V any] struct {
	value V
	err   error
}

// A poller polls the service for ids on behalf of their waiters. Its goroutine, and those of its calls, run only while
// there are waiters.
type poller[V any] struct {
	noun  string // what the ids identify, for errors and the log
	pace  pace
	batch int // limit of ids per call
	// fetch describes at most batch ids. An error is for all of them; an id without a result does not exist.
	fetch func(ctx context.Context, ids []string) (map[string]result[V], error)
	clock clockwork.Clock
	log   *slog.Logger

	mu      sync.Mutex
	entries map[string]*entry[V]
	run     *run // nil without waiters
}

// A run is one goroutine of a poller, from the first waiter to the last.
type run struct {
	stop  context.CancelFunc
	ended chan struct{}
	wake  chan struct{} // buffered: check the entries again
}

// An entry is an id with waiters. Guarded by poller.mu.
type entry[V any] struct {
	id       string
	waiters  int
	pause    time.Duration // the latest one; 0 before the first
	due      time.Time
	busy     bool // in a call
	failures int  // in a row
	latest   result[V]
	seq      uint64        // of latest; 0 before the first
	changed  chan struct{} // closed at the next result
}

// follow calls see with each answer about id, beginning with the latest, until see returns done or an error, ctx is
// done, or the poll fails; then it returns the error. It may skip answers that were replaced.
func (p *poller[V]) follow(ctx context.Context, id string, see func(V) (done bool, err error)) error {
	e := p.join(id)
	defer p.leave(e)
	for seen := uint64(0); ; {
		latest, seq, changed := p.latest(e)
		if seq != seen {
			seen = seq
			if latest.err != nil {
				return latest.err
			}
			if done, err := see(latest.value); done || err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s %s: %w", p.noun, id, context.Cause(ctx))
		}
	}
}

func (p *poller[V]) latest(e *entry[V]) (result[V], uint64, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return e.latest, e.seq, e.changed
}

// peek returns the latest answer about an id with waiters.
func (p *poller[V]) peek(id string) (value V, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.entries[id]; e != nil && e.seq > 0 && e.latest.err == nil {
		return e.latest.value, true
	}
	return value, false
}

// nudge polls an id at once, because this process has just changed it. Ids without waiters, or after a failure, are
// left alone.
func (p *poller[V]) nudge(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.entries[id]; e != nil && e.failures == 0 {
		e.pause, e.due = 0, p.clock.Now()
		p.run.check()
	}
}

// join adds a waiter. The first one causes a call at once, another one shortens the pause to the first.
func (p *poller[V]) join(id string) *entry[V] {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	e := p.entries[id]
	if e == nil {
		e = &entry[V]{id: id, due: now, changed: make(chan struct{})}
		if p.entries == nil {
			p.entries = make(map[string]*entry[V])
		}
		p.entries[id] = e
	} else if soon := now.Add(p.pace.first); e.failures == 0 && soon.Before(e.due) {
		e.pause, e.due = p.pace.first, soon
	}
	e.waiters++
	if p.run == nil {
		p.start()
	}
	p.run.check()
	return e
}

// leave removes a waiter; the last one of all stops the goroutine and waits for it.
func (p *poller[V]) leave(e *entry[V]) {
	p.mu.Lock()
	if e.waiters--; e.waiters == 0 {
		delete(p.entries, e.id)
	}
	var last *run
	if len(p.entries) == 0 {
		last, p.run = p.run, nil
	}
	p.mu.Unlock()
	if last != nil {
		last.stop()
		<-last.ended
	}
}

// start starts the goroutine. It does not end with the request of the first waiter.
func (p *poller[V]) start() {
	ctx, stop := context.WithCancel(context.Background())
	r := &run{stop: stop, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	p.run = r
	go func() {
		defer close(r.ended)
		p.loop(ctx, r)
	}()
}

// check makes the goroutine check the entries again.
func (r *run) check() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// loop makes the calls that are due until ctx is done, and waits for those in progress.
func (p *poller[V]) loop(ctx context.Context, r *run) {
	var calls sync.WaitGroup
	defer calls.Wait()
	slots := make(chan struct{}, maxFetches)
	for {
		batch, pause := p.due(r)
		if len(batch) == 0 {
			if !p.rest(ctx, r, pause) {
				return
			}
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		calls.Go(func() {
			p.ask(ctx, batch)
			<-slots
			r.check()
		})
	}
}

// rest waits for the pause, unless it is 0, or until check is called. It returns false when ctx is done.
func (p *poller[V]) rest(ctx context.Context, r *run, pause time.Duration) bool {
	var due <-chan time.Time
	if pause > 0 {
		timer := p.clock.NewTimer(pause)
		defer timer.Stop()
		due = timer.Chan()
	}
	select {
	case <-due:
	case <-r.wake:
	case <-ctx.Done():
		return false
	}
	return true
}

// due returns the entries for the next call and marks them busy, or the pause before it; 0 if all entries are busy. A
// stopped run gets none: the entries belong to the next one.
func (p *poller[V]) due(r *run) (batch []*entry[V], pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run != r {
		return nil, 0
	}
	now := p.clock.Now()
	for _, e := range p.entries {
		wait := e.due.Sub(now)
		switch {
		case e.busy:
		case wait <= 0:
			e.busy = true
			if batch = append(batch, e); len(batch) == p.batch {
				return batch, 0
			}
		case pause == 0 || wait < pause:
			pause = wait
		}
	}
	return batch, pause
}

// ask makes one call and distributes its results.
func (p *poller[V]) ask(ctx context.Context, batch []*entry[V]) {
	ids := make([]string, len(batch))
	for i, e := range batch {
		ids[i] = e.id
	}
	limited, cancel := gateway.WithTimeout(ctx, p.clock, fetchLimit)
	defer cancel()
	results, err := p.fetch(limited, ids)
	if ctx.Err() != nil {
		return // no waiters
	}
	if len(batch) > 1 && fault.Is(err, fault.InvalidRequest) { // one of the ids is invalid: describe each alone
		for i := range batch {
			p.ask(ctx, batch[i:i+1])
		}
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range batch {
		r, ok := results[e.id]
		switch {
		case err != nil:
			r.err = err
		case !ok:
			r.err = fault.New(fault.NotFound, "%s %s does not exist", p.noun, e.id)
		}
		p.settle(e, r)
	}
}

// settle records a result and wakes the waiters, unless the call will be retried.
func (p *poller[V]) settle(e *entry[V], r result[V]) {
	e.busy = false
	throttled := fault.Is(r.err, fault.Throttling)
	switch {
	case r.err == nil:
		e.failures, e.pause = 0, p.pace.next(e.pause)
	case throttled:
		e.failures, e.pause = max(e.failures, 1), p.pace.slower(e.pause)
	default:
		e.failures++
		e.pause = p.pace.slower(e.pause)
	}
	e.due = p.clock.Now().Add(jitter(e.pause))
	if throttled || r.err != nil && transient(r.err) && e.failures <= patience {
		p.log.Warn("poll failed, will retry", "what", p.noun, "id", e.id, "pause", e.pause, "error", r.err)
		return
	}
	e.latest, e.seq = r, e.seq+1
	close(e.changed)
	e.changed = make(chan struct{})
}

// errNoAnswer is for an answer without its main structure.
var errNoAnswer = errors.New("the service returned an empty answer")

// A pace is the schedule of a poller.
type pace struct {
	first, limit time.Duration // of the pause after successful calls
	slow         time.Duration // limit of the pause after failed and throttled calls
}

var (
	// sessionPace is for game sessions and placements, which are ready within seconds.
	sessionPace = pace{first: 250 * time.Millisecond, limit: 2 * time.Second, slow: 15 * time.Second}
	// ticketPace is for matchmaking tickets. Source: API reference, DescribeMatchmaking: at most once every 10 seconds.
	ticketPace = pace{first: 10 * time.Second, limit: 10 * time.Second, slow: time.Minute}
)

// next returns the pause after pause, which is 0 at first.
func (p pace) next(pause time.Duration) time.Duration {
	if pause == 0 {
		return p.first
	}
	return min(max(pause+pause/2, p.first), max(p.limit, p.first))
}

// slower returns the pause after a failed or throttled call.
func (p pace) slower(pause time.Duration) time.Duration {
	return min(2*max(pause, p.first), p.slow)
}

// jitter lengthens a pause by up to 20 %, so that gateways do not poll in step.
func jitter(pause time.Duration) time.Duration {
	return pause + rand.N(pause/5+1)
}
