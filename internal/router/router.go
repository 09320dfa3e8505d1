// Package router maps resources to shards, and sends commands and questions to them.
//
// A Router has the replicas of all shards of a region. RoomShard, PlacementShard, TicketShard and Shards choose one;
// Ask sends it a command, Look reads its state, Submit is Ask without waiting. These three repeat attempts that a
// change of the shard's owner interrupts; the methods of a Shard, which are those of its replica, make one attempt.
// AskRoom, InRoom and Change are shorter forms for fleet locations and for the catalog.
//
// The shards have one observer. It is called on the commit goroutine of each, in the order of its journal, before
// callers are answered. Catalog includes the change by then.
package router

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/shard/replica"
)

// Config configures a router. All fields are required unless they say otherwise.
type Config struct {
	Names
	Journals []journal.Journal // one per shard
	Cluster  Cluster           // nil: this process owns all shards
	Settings *region.Settings
	Observe  func(*Commit)

	SnapshotEvery shard.SnapshotEvery // zero: the default
	FinalSnapshot bool                // write snapshots at a graceful stop
	Clock         clockwork.Clock
	Log           *slog.Logger
	Metrics       func(shard int) shard.Metrics // hooks of a shard; nil: none
}

// A Cluster is the nodes that share the shards.
type Cluster interface {
	// Tenures returns the channel of the terms in which this node owns a shard.
	Tenures(shard int) <-chan replica.Term

	// Peer returns the connection to the owner of a shard.
	Peer(shard int) replica.Peer[region.Command]

	// Spread waits until every other node has applied a record of a shard, or is known to have failed.
	Spread(ctx context.Context, shard int, seq uint64)
}

// A Router has the shards of a region. Its methods are safe for concurrent use; Run is called once.
type Router struct {
	Names
	cfg    Config
	shards []*Shard
	view   atomic.Pointer[catalog.State]

	historySeq, historySettled atomic.Uint64 // see HistoryReached

	mu      sync.Mutex
	stopped bool
	running sync.WaitGroup
}

// A Shard is a shard that runs the machine of package region, on this node or another. Its methods make one attempt.
type Shard struct {
	*replica.Replica[region.Command, *region.Machine]
	router *Router
	seen   seen
}

// New returns a router. Requests before Run wait.
func New(cfg Config) *Router {
	r := &Router{Names: cfg.Names, cfg: cfg}
	r.view.Store(catalog.New(cfg.Settings.Catalog))
	for i, j := range cfg.Journals {
		s := &Shard{router: r, seen: seen{rooms: map[uint32]fleet.RoomID{}}}
		s.seen.commit.Shard = i
		var hooks shard.Metrics
		if cfg.Metrics != nil {
			hooks = cfg.Metrics(i)
		}
		c := replica.Config[region.Command, *region.Machine]{Shard: shard.Config[region.Command, *region.Machine]{
			Journal: j, Events: region.Events,
			NewMachine: func() *region.Machine { return region.New(i, cfg.Settings) },
			Clock:      cfg.Clock, Log: cfg.Log.With("shard", i),
			SnapshotEvery: cfg.SnapshotEvery, FinalSnapshot: cfg.FinalSnapshot,
			Observe: s.observe, ViewWhen: viewWhen(i), Metrics: hooks,
		}}
		if cfg.Cluster != nil {
			c.Terms, c.Peer = cfg.Cluster.Tenures(i), cfg.Cluster.Peer(i)
		}
		s.Replica = replica.New(c)
		r.shards = append(r.shards, s)
	}
	return r
}

// Run runs the shards until ctx is done or one ends for good.
func (r *Router) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, s := range r.shards {
		group.Go(func() error {
			if err := s.Run(ctx); err != nil {
				return fmt.Errorf("shard %d: %w", i, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// WaitServing returns when all shards serve, or with ctx's error.
func (r *Router) WaitServing(ctx context.Context) error {
	for _, s := range r.shards {
		select {
		case <-s.Ready():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Serving reports whether all shards serve at this moment.
func (r *Router) Serving() bool {
	for _, s := range r.shards {
		if !s.Serving() {
			return false
		}
	}
	return true
}

// Go runs f in a goroutine for which Stop waits, or reports false after Stop.
func (r *Router) Go(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopped {
		r.running.Go(f)
	}
	return !r.stopped
}

// Stop waits for the goroutines of Go, and prevents new ones.
func (r *Router) Stop() {
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.running.Wait()
}

// Now returns the present time.
func (r *Router) Now() event.Time { return event.At(r.cfg.Clock.Now()) }

// Pause waits, and returns false if ctx ends first.
func (r *Router) Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-r.cfg.Clock.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// WarnUnless logs a warning unless fine.
func (r *Router) WarnUnless(fine bool, message string, args ...any) {
	if !fine {
		r.cfg.Log.Warn(message, args...)
	}
}

// Shards returns all shards.
func (r *Router) Shards() []*Shard { return r.shards }

// RoomShard returns the shard of a fleet location.
func (r *Router) RoomShard(id fleet.RoomID) *Shard {
	return r.shards[region.ShardOf(id, len(r.shards))]
}

// PlacementShard returns the shard of a placement.
func (r *Router) PlacementShard(id string) *Shard {
	return r.shards[region.PlacementShardOf(id, len(r.shards))]
}

// TicketShard returns the shard that has all tickets.
func (r *Router) TicketShard() *Shard { return r.shards[region.MatchmakingShard(len(r.shards))] }
