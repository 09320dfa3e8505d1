package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Tidying up may take this long, and so much longer for each server process.
const (
	tidyLimit      = time.Minute
	tidyPerProcess = 10 * time.Millisecond
)

// Run runs a profile. When the work could be done, the result is good even if
// there is an error: that is then about tidying up. The end of ctx ends the work
// early, and what was measured until then is the result.
func Run(ctx context.Context, p Profile, cfg Config) (r *Result, err error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.fill(p)
	s, err := openSite(ctx, cfg)
	if s == nil {
		return nil, err
	}
	defer func() {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyLimit+time.Duration(cfg.Pool)*tidyPerProcess)
		defer cancel()
		if failed := s.close(tidy); failed != nil {
			err = errors.Join(err, fmt.Errorf("tidying up: %w", failed))
		}
	}()
	if err != nil {
		return nil, err
	}
	work, err := p.prepare(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("preparing: %w", err)
	}
	workers, err := s.workers(ctx, work)
	if err != nil {
		return nil, err
	}
	return measure(ctx, p, cfg, workers), nil
}

// check says what cannot be run.
func (c Config) check() error {
	const maxBatch = 25 // Source: API model, CreatePlayerSessions
	switch {
	case c.Connections < 1:
		return errors.New("there must be at least one connection")
	case c.Batch < 1 || c.Batch > maxBatch:
		return fmt.Errorf("the batch must be 1 to %d players", maxBatch)
	case c.Locations < 1:
		return errors.New("there must be at least one location")
	case c.Duration <= 0:
		return errors.New("the duration must be above zero")
	case c.Rate < 0 || c.Pool < 0 || c.Limit < 0:
		return errors.New("rate, pool and limit must not be negative")
	}
	return nil
}

// workers makes the workers. Their connections are open before the work begins.
func (s *site) workers(ctx context.Context, work func(int) operation) ([]operation, error) {
	before := len(s.conns)
	workers := make([]operation, s.cfg.Connections)
	for i := range workers {
		workers[i] = work(i)
	}
	for _, c := range s.conns[before:] {
		if err := c.connect(ctx); err != nil {
			return nil, err
		}
	}
	return workers, nil
}

// measure does the work.
func measure(ctx context.Context, p Profile, cfg Config, workers []operation) *Result {
	meters := make([]*meter, len(workers))
	for i := range meters {
		meters[i] = new(meter)
	}
	cfg.Note(fmt.Sprintf("working with %d connections for %s", len(workers), cfg.Duration))
	stop := watch(cfg, meters)
	serverBefore, known := scrape(ctx, cfg.MetricsURL, cfg.TLS)
	began, before := time.Now(), ownUsage()
	o := load{clock: cfg.Clock, duration: cfg.Duration, rate: cfg.Rate}.run(ctx, workers, meters)
	after := ownUsage()
	stop()
	r := newResult(p, cfg, began, o, meters)
	r.Client = cost(before, after, r.Operations)
	if serverAfter, still := scrape(context.WithoutCancel(ctx), cfg.MetricsURL, cfg.TLS); known && still {
		c := cost(serverBefore.usage, serverAfter.usage, r.Operations)
		c.ResidentBytes = serverAfter.resident
		r.Server = &c
	}
	return r
}

// watch tells the progress once a second until it is stopped.
func watch(cfg Config, meters []*meter) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	ticker := cfg.Clock.NewTicker(time.Second)
	start := cfg.Clock.Now()
	go func() {
		defer close(ended)
		defer ticker.Stop()
		var operations, units int64
		last := start
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.Chan():
			}
			o, u, f := totals(meters)
			now := cfg.Clock.Now()
			seconds := now.Sub(last).Seconds()
			cfg.Progress(Progress{
				Elapsed: now.Sub(start), Operations: float64(o-operations) / seconds, Units: float64(u-units) / seconds, Failures: f,
			})
			operations, units, last = o, u, now
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// totals adds up what all workers have done so far.
func totals(meters []*meter) (operations, units, failures int64) {
	for _, m := range meters {
		operations += m.operations.Load()
		units += m.units.Load()
		failures += m.failures.Load()
	}
	return operations, units, failures
}
