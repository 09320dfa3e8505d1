package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Limits of cleaning up: in general, and per server process.
const (
	tidyLimit      = time.Minute
	tidyPerProcess = 10 * time.Millisecond
)

// Run runs a profile. A result with an error means that cleaning up failed. The end of ctx ends the work early, with
// the result until then.
func Run(ctx context.Context, p Profile, cfg Config) (*Result, error) {
	b, err := Open(ctx, p, cfg)
	if err != nil {
		return nil, err
	}
	r := b.Round(ctx, 0)
	return r, b.Close(ctx)
}

// A Bench is a prepared profile, for one or several rounds. It is not safe for concurrent use.
type Bench struct {
	profile Profile
	cfg     Config
	site    *site
	workers []operation
}

// Open prepares a profile, and cleans up if it fails. The game servers use ctx until Close.
func Open(ctx context.Context, p Profile, cfg Config) (*Bench, error) {
	if err := errors.Join(cfg.check(), cfg.CheckSDK(p)); err != nil {
		return nil, err
	}
	cfg = cfg.fill(p)
	s, err := openSite(ctx, cfg)
	if s == nil {
		return nil, err
	}
	b := &Bench{profile: p, cfg: cfg, site: s}
	if err == nil {
		err = b.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close(ctx))
	}
	return b, nil
}

func (b *Bench) prepare(ctx context.Context) error {
	work, err := b.profile.prepare(ctx, b.site)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	b.workers, err = b.site.workers(ctx, work)
	return err
}

// Round works until so many operations are done (0: unlimited), or for the configured duration. All rounds share the
// prepared resources. The end of ctx ends a round early.
func (b *Bench) Round(ctx context.Context, operations int64) *Result {
	finish := func(context.Context, *Result) {}
	if b.site.observe != nil {
		finish = b.site.observe()
	}
	r := measure(ctx, b.profile, b.cfg, operations, b.workers)
	finish(ctx, r)
	return r
}

// Close deletes the created resources, even if ctx has ended.
func (b *Bench) Close(ctx context.Context) error {
	tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyLimit+time.Duration(b.cfg.Pool)*tidyPerProcess)
	defer cancel()
	if err := b.site.close(tidy); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}

func (c Config) check() error {
	const maxBatch = 25 // Source: API model, CreatePlayerSessions
	switch {
	case c.Connections < 1:
		return errors.New("there must be at least one connection")
	case c.InFlight < 1:
		return errors.New("there must be at least one request in flight")
	case c.Batch < 1 || c.Batch > maxBatch:
		return fmt.Errorf("the batch must be 1 to %d players", maxBatch)
	case c.Locations < 1:
		return errors.New("there must be at least one location")
	case c.Duration <= 0:
		return errors.New("the duration must be above zero")
	case c.Rate < 0 || c.Pool < 0 || c.Limit < 0 || c.Waiting < 0:
		return errors.New("rate, pool, limit and waiting must not be negative")
	}
	return nil
}

// workers makes the workers and opens their connections.
func (s *site) workers(ctx context.Context, work func(int) operation) ([]operation, error) {
	before := len(s.conns)
	workers := make([]operation, s.cfg.Connections*s.cfg.InFlight)
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

func measure(ctx context.Context, p Profile, cfg Config, operations int64, workers []operation) *Result {
	meters := make([]*meter, len(workers))
	for i := range meters {
		meters[i] = new(meter)
	}
	cfg.Note(fmt.Sprintf("working with %d connections for %s", cfg.Connections, cfg.Duration))
	stop := watch(cfg, meters)
	serverBefore, known := scrape(ctx, cfg.MetricsURL, cfg.TLS)
	began, before := time.Now(), ownUsage()
	o := load{clock: cfg.Clock, duration: cfg.Duration,
		operations: operations, rate: cfg.Rate}.run(ctx, workers, meters)
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

// watch reports the progress every second until it is stopped.
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
				Elapsed: now.Sub(start), Operations: float64(o-operations) / seconds,
				Units: float64(u-units) / seconds, Failures: f,
			})
			operations, units, last = o, u, now
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// totals adds up the counts of all workers.
func totals(meters []*meter) (operations, units, failures int64) {
	for _, m := range meters {
		operations += m.operations.Load()
		units += m.units.Load()
		failures += m.failures.Load()
	}
	return operations, units, failures
}
