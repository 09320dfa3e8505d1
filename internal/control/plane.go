package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/arn"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/loglimit"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/replica"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/sigv4"
)

// Config says what a control plane is of. All fields are required unless they
// say otherwise.
type Config struct {
	Region   string            // for example us-west-2; stands in ARNs
	Account  string            // 12 digits; stands in ARNs
	Secret   []byte            // SecretSize bytes: everything secret is derived from it
	Journals []journal.Journal // one per shard
	History  journal.History   // of game sessions that are over
	Feed     journal.Feed      // of events; nil: they are published nowhere
	Cluster  Cluster           // nil: this process owns all shards
	Settings region.Settings

	SDKEndpoint   string        // wss://…: where server processes connect
	AgentEndpoint string        // wss://…: where agents connect
	ClockSkew     time.Duration // how far the clock of a signer may be off; 0: 5 minutes
	SessionMemory time.Duration // how long a game session stays in memory after its end

	SnapshotEvery shard.SnapshotEvery // zero: the default
	FinalSnapshot bool                // write snapshots at a graceful stop
	Clock         clockwork.Clock
	Log           *slog.Logger

	// Drivers are run beside those of the plane, on the one node that leads. They return
	// when ctx is done, and can begin again.
	Drivers []func(ctx context.Context) error

	// Observe, if set, is called with what has become durable in a shard, in
	// order, on the shard's own goroutine: it must be quick.
	Observe func(shard int, facts []event.Fact)
	Metrics shard.Metrics // hooks of all shards; may be zero
}

// regionShard is a shard that runs the machine of package region, on this node or
// another.
type regionShard = replica.Replica[region.Command, *region.Machine]

// A Plane is the control plane of one region.
type Plane struct {
	cfg     Config
	secrets *secrets
	shards  []*regionShard
	follow  []*follower // one per shard
	view    atomic.Pointer[catalog.State]

	settled   atomic.Uint64 // the history up to this entry has left memory
	unsettled bool          // an entry behind it may not have; tidy's own

	keys  sync.Map          // access keys that were opened: *catalog.AccessKey → sigv4.Credential
	lines *loglimit.Limiter // of the log, for callers that are not authenticated yet

	verifier   *sigv4.Verifier // of server processes that sign their request
	signatures usedSignatures

	leader    leader     // whether the drivers run on this node
	placing   *placing   // drives placements
	matching  *matching  // drives matchmaking
	publisher *publisher // of events

	work      tasks      // that answer server processes
	finishing sync.Mutex // held by whoever finishes a deletion
}

// New makes a control plane. It serves once Run has made it ready.
func New(cfg Config) (*Plane, error) {
	secrets, err := newSecrets(cfg.Secret)
	switch {
	case err != nil:
		return nil, err
	case !arn.ValidRegion(cfg.Region):
		return nil, fmt.Errorf("region %q is not of the form us-west-2, which server SDKs insist on", cfg.Region)
	case !arn.ValidAccount(cfg.Account):
		return nil, fmt.Errorf("account %q does not have 12 digits", cfg.Account)
	case len(cfg.Journals) == 0 || len(cfg.Journals) > region.MaxShards:
		return nil, fmt.Errorf("%d shards: a region has 1 to %d", len(cfg.Journals), region.MaxShards)
	}
	cfg.Settings.Fleet.Region, cfg.Settings.Fleet.TokenSerial = cfg.Region, secrets.tokenSerial
	cfg.Settings.Shards = len(cfg.Journals)
	if cfg.Cluster == nil {
		cfg.Settings.Level = region.MaxLevel // there is nobody who would have to read it, too
	}
	p := &Plane{cfg: cfg, secrets: secrets, lines: loglimit.New(cfg.Clock)}
	p.leader.begun = make(chan struct{})
	p.verifier = sigv4.New(sigv4.Config{Keys: p, Skew: cfg.ClockSkew})
	p.placing = newPlacing(p)
	p.matching = newMatching(p)
	p.publisher = newPublisher(p, len(cfg.Journals))
	p.view.Store(catalog.New(cfg.Settings.Catalog))
	for i, j := range cfg.Journals {
		p.follow = append(p.follow, newFollower(p, i))
		p.shards = append(p.shards, p.newShard(i, shard.Config[region.Command, *region.Machine]{
			Journal: j, Events: region.Events, NewMachine: func() *region.Machine { return region.New(i, &p.cfg.Settings) },
			Clock: cfg.Clock, Log: cfg.Log.With("shard", i),
			SnapshotEvery: cfg.SnapshotEvery, FinalSnapshot: cfg.FinalSnapshot,
			Observe: p.follow[i].observe, ViewWhen: viewWhen(i), Metrics: cfg.Metrics,
		}))
	}
	return p, nil
}

// newShard makes the replica of a shard.
func (p *Plane) newShard(i int, cfg shard.Config[region.Command, *region.Machine]) *regionShard {
	if p.cfg.Cluster == nil {
		return replica.New(replica.Config[region.Command, *region.Machine]{Shard: cfg})
	}
	return replica.New(replica.Config[region.Command, *region.Machine]{
		Shard: cfg, Terms: p.cfg.Cluster.Tenures(i), Peer: p.cfg.Cluster.Peer(i),
	})
}

// Shard is the replica of a shard, for those whom other nodes ask.
func (p *Plane) Shard(i int) *replica.Replica[region.Command, *region.Machine] { return p.shards[i] }

// viewWhen asks for a view whenever the catalog has changed.
func viewWhen(shard int) func([]event.Fact) bool {
	if shard != region.CatalogShard {
		return nil
	}
	return func(facts []event.Fact) bool {
		for _, f := range facts {
			if f.Room == 0 {
				return true
			}
		}
		return false
	}
}

// Run runs the shards and what keeps them tidy until ctx is done or a shard
// ends for good.
func (p *Plane) Run(ctx context.Context) error {
	defer p.work.stop()
	if err := p.settle(ctx); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, s := range p.shards {
		group.Go(func() error {
			if err := s.Run(ctx); err != nil {
				return fmt.Errorf("shard %d: %w", i, err)
			}
			return nil
		})
	}
	parts := []func(context.Context) error{p.lead}
	for _, f := range p.follow {
		parts = append(parts, f.resumeLinks)
	}
	for _, run := range parts {
		group.Go(func() error {
			if err := p.waitShards(ctx); err != nil {
				return nil // stopped before it began
			}
			return run(ctx)
		})
	}
	err := group.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// WaitReady returns when all shards serve and, where this node owns all of them, the
// drivers have begun; or with ctx's error.
func (p *Plane) WaitReady(ctx context.Context) error {
	if err := p.waitShards(ctx); err != nil || p.cfg.Cluster != nil {
		return err
	}
	select {
	case <-p.leader.begun:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waitShards returns when all shards serve, or with ctx's error.
func (p *Plane) waitShards(ctx context.Context) error {
	for _, s := range p.shards {
		select {
		case <-s.Ready():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Serving reports whether all shards serve at this moment.
func (p *Plane) Serving() bool {
	for _, s := range p.shards {
		if !s.Serving() {
			return false
		}
	}
	return true
}

// tasks are goroutines of which nobody keeps count but their owner, who waits
// for them when it stops.
type tasks struct {
	mu      sync.Mutex
	stopped bool
	running sync.WaitGroup
}

// start runs f beside the caller, or reports false after stop.
func (t *tasks) start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return false
	}
	t.running.Go(f)
	return true
}

// stop waits for the tasks; none starts any more.
func (t *tasks) stop() {
	t.mu.Lock()
	t.stopped = true
	t.mu.Unlock()
	t.running.Wait()
}

func (p *Plane) now() event.Time { return event.At(p.cfg.Clock.Now()) }

// The ARNs of this region's resources.

func (p *Plane) fleetArn(id string) string { return arn.Fleet(p.cfg.Region, p.cfg.Account, id) }

func (p *Plane) gameSessionArn(room fleet.RoomID, id string) string {
	return arn.GameSession(p.cfg.Region, string(room.Fleet), room.Location, id)
}
