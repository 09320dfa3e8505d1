package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/gateway"
)

const (
	// maxFetches is how many calls one poller has under way at a time.
	maxFetches = 16
	// fetchLimit is how long one call may take.
	fetchLimit = 15 * time.Second
	// patience is how many failures in a row of the service are sat out before
	// those who wait are told.
	patience = 5
)

// A result is what the service said about one id.
type result[V any] struct {
	value V
	err   error
}

// A poller asks the service about ids for all who wait for them. It runs one
// goroutine and those of the calls under way, and only while anybody waits.
type poller[V any] struct {
	noun  string // of what the ids name, for errors and the log
	pace  pace
	batch int // how many ids one call may name
	// fetch asks about at most batch ids. An error is that of all of them; an id
	// without a result does not exist.
	fetch func(ctx context.Context, ids []string) (map[string]result[V], error)
	clock clockwork.Clock
	log   *slog.Logger

	mu      sync.Mutex
	entries map[string]*entry[V]
	run     *run // nil while nobody waits
}

// A run is the life of a poller's goroutine.
type run struct {
	stop  context.CancelFunc
	ended chan struct{}
	wake  chan struct{} // has room for one: look at the entries again
}

// An entry is an id that somebody waits for. Guarded by poller.mu.
type entry[V any] struct {
	id       string
	waiters  int
	pause    time.Duration // the last one; 0 before the first
	due      time.Time
	busy     bool // in a call
	failures int  // in a row
	latest   result[V]
	seq      uint64        // of latest; 0 before the first
	changed  chan struct{} // closed at the next result
}

// follow calls see with each answer about id, the first at once if one is there,
// until see says that it is done, ctx is done, or the id cannot be asked about;
// then it returns the error. see may miss answers that were soon replaced.
func (p *poller[V]) follow(ctx context.Context, id string, see func(V) (done bool, err error)) error {
	e := p.join(id)
	defer p.leave(e)
	for seen := uint64(0); ; {
		latest, seq, changed := p.look(e)
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

func (p *poller[V]) look(e *entry[V]) (result[V], uint64, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return e.latest, e.seq, e.changed
}

// peek is the latest answer about an id that is being waited for.
func (p *poller[V]) peek(id string) (value V, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.entries[id]; e != nil && e.seq > 0 && e.latest.err == nil {
		return e.latest.value, true
	}
	return value, false
}

// nudge has an id asked about at once, if anybody waits for it and all is well,
// because this process has just changed it.
func (p *poller[V]) nudge(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.entries[id]; e != nil && e.failures == 0 {
		e.pause, e.due = 0, p.clock.Now()
		p.run.look()
	}
}

// join adds a waiter. The first one is the reason for a call at once; another one
// shortens the pause to the first.
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
	p.run.look()
	return e
}

// leave takes a waiter away; the last one of all stops the goroutine and waits for it.
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

// start starts the goroutine. Its life is that of its waiters, not that of the
// request of one of them.
func (p *poller[V]) start() {
	ctx, stop := context.WithCancel(context.Background())
	r := &run{stop: stop, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	p.run = r
	go func() {
		defer close(r.ended)
		p.loop(ctx, r)
	}()
}

func (r *run) look() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// loop makes the calls that are due until ctx is done, and waits for those under way.
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
			r.look()
		})
	}
}

// rest waits until something may be due: for the pause, if there is one, or until
// it is woken. It is false when ctx is done.
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

// due takes the entries for the next call, or says how long there is none; 0 if
// that is for a result to say. A run that is about to be stopped takes none: they are
// those of the next one.
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

// ask makes one call and hands out what it brought.
func (p *poller[V]) ask(ctx context.Context, batch []*entry[V]) {
	ids := make([]string, len(batch))
	for i, e := range batch {
		ids[i] = e.id
	}
	limited, cancel := gateway.WithTimeout(ctx, p.clock, fetchLimit)
	defer cancel()
	results, err := p.fetch(limited, ids)
	if ctx.Err() != nil {
		return // nobody waits any more
	}
	if len(batch) > 1 && fault.Is(err, fault.InvalidRequest) { // because of one of them: which?
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

// settle notes an answer: it is handed out, unless it only says to try again later.
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
	if throttled || r.err != nil && passes(r.err) && e.failures <= patience {
		p.log.Warn("the service is asked again later", "what", p.noun, "id", e.id, "pause", e.pause, "error", r.err)
		return
	}
	e.latest, e.seq = r, e.seq+1
	close(e.changed)
	e.changed = make(chan struct{})
}

// errNoAnswer is for an answer without the structure that it is about.
var errNoAnswer = errors.New("the service answered with nothing")
