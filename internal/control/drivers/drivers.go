// Package drivers runs what exists once in a region, on the node that leads it: the drivers of placements and
// matchmaking, the publisher of events, and tidying. They start with the state of all shards, and everything that they
// do may be done twice, so nothing is lost or doubled when the lead moves, nor while two nodes believe that they lead.
//
// Reading order: drivers.go has the Drivers, leader.go decides when they run. runner.go runs a pure machine; placing.go
// and matching.go are the two machines that it runs, of packages placer and matchdriver.
package drivers

import (
	"context"
	"log/slog"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/history"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/publish"
	"github.com/muster-gg/muster/internal/router"
)

// Config configures the drivers. All fields are required unless they say otherwise.
type Config struct {
	Region, Account string // in ARNs
	Router          *router.Router
	Processes       *processes.Connections // receive the updates of backfill tickets
	History         *history.History
	Cluster         Cluster      // nil: this process owns all shards
	Feed            journal.Feed // of events; nil: they are not published

	// EventID returns the id of an announcement; see publish.Config.
	EventID func(shard int, outbox string, number uint64, at event.Time) string

	// RuleSet returns the rule set of a matchmaking configuration.
	RuleSet func(*catalog.State, *catalog.MatchmakingConfiguration) (*ruleset.Set, error)

	// StartPlacement begins the placement of a match in a queue. It may be repeated.
	StartPlacement func(ctx context.Context, q *catalog.Queue, r placement.Request) (*placement.Placement, error)

	// FinishDeletions finishes deletions that stopped half way. It is called at intervals.
	FinishDeletions func(ctx context.Context)

	// Others run beside the drivers. They return when ctx is done, and can be started again.
	Others []func(ctx context.Context) error

	Clock clockwork.Clock
	Log   *slog.Logger
}

// A Cluster is what drivers need of the nodes that share the shards.
type Cluster interface {
	// Tell sends a message to all other nodes, to their Receive, at most once.
	Tell(message []byte)

	// Level raises the feature level in force as far as all members of the region read it, and returns it. The node
	// that leads calls it.
	Level(ctx context.Context) (int, error)
}

// Drivers are the drivers of a region, on one of its nodes. The node that owns the shard of the catalog leads: there
// they run.
type Drivers struct {
	cfg       Config
	leader    leader
	placing   *placing
	matching  *matching
	publisher *publish.Publisher
}

// New returns the drivers of a region. They run with Run, and must observe all shards from their start.
func New(cfg Config) *Drivers {
	d := &Drivers{cfg: cfg}
	d.leader.begun, d.leader.shards = make(chan struct{}), make([]ledShard, len(cfg.Router.Shards()))
	d.placing = newPlacing(&d.cfg)
	d.matching = newMatching(d)
	d.publisher = d.newPublisher()
	return d
}

// Begun is closed when the drivers have started with all shards for the first time.
func (d *Drivers) Begun() <-chan struct{} { return d.leader.begun }

// Lead reports whether this node leads.
func (d *Drivers) Lead() bool { return d.leader.ended() != nil }

// Observe processes what has become durable in a shard, on the shard's commit goroutine, before callers are answered.
func (d *Drivers) Observe(c *router.Commit) {
	drives := d.leader.drives(c)
	d.placing.observe(c, drives)
	d.matching.observe(c, drives)
	if drives {
		d.publisher.Observe(c.Commit)
		d.leader.hasBegun(c.Shard)
	}
}

// newPublisher returns the publisher of the events of all shards.
func (d *Drivers) newPublisher() *publish.Publisher {
	c := publish.Config{
		Feed: d.cfg.Feed, Origin: publish.Origin{Region: d.cfg.Region, Account: d.cfg.Account},
		Catalog: d.cfg.Router.Catalog, EventID: d.cfg.EventID, RuleNames: d.ruleNames,
		Clock: d.cfg.Clock, Log: d.cfg.Log,
	}
	for _, s := range d.cfg.Router.Shards() {
		c.Shards = append(c.Shards, s)
	}
	return publish.New(c)
}

// ruleNames lists the rules of a matchmaking configuration that are evaluated; none if it was deleted.
func (d *Drivers) ruleNames(of matchmaking.Configuration) []string {
	c, ok := d.cfg.Router.Catalog().MatchmakingConfiguration(of.Name)
	if !ok || c.ID != of.ID {
		return nil
	}
	set, err := d.cfg.RuleSet(d.cfg.Router.Catalog(), c)
	if err != nil {
		return nil
	}
	var names []string
	for _, r := range set.Rules {
		if r.Type != ruleset.AbsoluteSort && r.Type != ruleset.DistanceSort {
			names = append(names, r.Name)
		}
	}
	return names
}
