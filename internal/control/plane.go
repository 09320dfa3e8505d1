package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/capacity"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/control/drivers"
	"github.com/muster-gg/muster/internal/control/history"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/logs"
	"github.com/muster-gg/muster/internal/machines"
	"github.com/muster-gg/muster/internal/objects"
	"github.com/muster-gg/muster/internal/objects/copies"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// Config is the configuration of a control plane. All fields are required unless they say otherwise.
type Config struct {
	Region   string            // for example us-west-2; part of ARNs
	Account  string            // 12 digits; part of ARNs
	Secret   []byte            // credentials.SecretSize bytes: everything secret is derived from it
	Journals []journal.Journal // one per shard
	History  journal.History   // of what has ended
	Feed     journal.Feed      // of events; nil: they are published nowhere
	Cluster  Cluster           // nil: this process owns all shards
	Settings region.Settings

	SDKEndpoint      string        // wss://…: where server processes connect
	AgentEndpoint    string        // wss://…: where agents connect
	ClockSkew        time.Duration // how far the clock of a signer may be off; 0: 5 minutes
	SessionRetention time.Duration // how long a game session stays in memory after its end
	HistoryKept      time.Duration // how long History keeps what has ended; 0: 30 days
	HistoryDir       string        // of its index; "": in memory
	Legacy           *Legacy       // game servers on server SDK 3 and 4; nil: none

	// Of signing in; see access.Config.
	Trail     *audit.Trail
	KeyUses   journal.Bucket
	Tokens    *idp.Verifier
	Lifetimes access.Lifetimes
	Argon2id  access.Argon2id // nil: argon2.IDKey

	MaxOverdue int // see history.Config; 0: by the process's memory limit

	Objects      *objects.Store // of the bytes of builds; nil: builds are refused
	Copies       int            // how many nodes of a cluster keep the bytes of an object
	MaxBuildSize int64          // of the files of a build, in bytes
	Logs         *logs.Store    // of processes that have ended; nil: they are not stored

	ActivationTimeout time.Duration // how long an EC2-type fleet may take until it is ACTIVE; 0: the default
	ReplaceAfter      time.Duration // how long a machine is lost before its instances are replaced; 0: the default
	InstanceTypes     capacity.Types

	InstanceDomain string // of the DNS names in certificates of instances
	// Certify returns a certificate with names for the key of a certificate request in DER form, and that of its CA,
	// in PEM form. nil: there is no CA.
	Certify func(request []byte, names []string) (certificate, root []byte, err error)

	SnapshotEvery shard.SnapshotEvery // zero: the default
	FinalSnapshot bool                // write snapshots at a graceful stop
	Clock         clockwork.Clock
	Log           *slog.Logger

	// Drivers run beside those of the plane, on the node that leads. They return when ctx is done, and can be started
	// again.
	Drivers []func(ctx context.Context) error

	// Observe, if set, is called with what has become durable in a shard, in order, on the shard's own goroutine: it
	// must be quick, and may use the commit until it returns.
	Observe func(*router.Commit)
	Metrics func(shard int) shard.Metrics // hooks of a shard; nil: none
}

// A Cluster is what a control plane needs of the nodes that it shares its shards with.
type Cluster interface {
	router.Cluster
	drivers.Cluster // its messages are for Plane.Receive

	// AskLead has the Plane.Answer of the node that leads answer a question.
	AskLead(ctx context.Context, question []byte) (answer []byte, err error)

	// Machines returns the Plane.SharedMachines of all nodes that answer in time, this one included.
	Machines(ctx context.Context) (answers [][]byte)

	copies.Peers // whose questions are for Plane.AnswerNode

	// Self returns the name of this node.
	Self() string
}

// A Plane is the control plane of one region.
type Plane struct {
	sessionReader
	*access.Access
	cfg    Config
	shards []*router.Shard

	processes *processes.Connections
	agents    *processes.Agents
	machines  *machines.Machines
	legacy    *legacyServers             // nil: none
	watches   router.Watches[sessionKey] // of game sessions
	changes   router.Watches[struct{}]   // of anything
	latencies reportedLatencies
	turns     turns

	drivers  *drivers.Drivers
	ruleSets ruleSets
	builds   *buildRunner
	copies   *copies.Copies // of objects and logs on other nodes; nil: this process keeps all
	readers  outputReaders  // of other nodes

	instancesNews chan struct{} // with room for one: wakes the driver of instances

	finishing sync.Mutex // held while a deletion is finished
}

// New returns a control plane. It serves once Run has made it ready.
func New(cfg Config) (*Plane, error) {
	secrets, err := credentials.New(cfg.Secret)
	switch {
	case err != nil:
		return nil, err
	case !arn.ValidRegion(cfg.Region) && cfg.Region != arn.LocalRegion:
		return nil, fmt.Errorf("region %q is not of the form us-west-2, which server SDKs insist on", cfg.Region)
	case !arn.ValidAccount(cfg.Account):
		return nil, fmt.Errorf("account %q does not have 12 digits", cfg.Account)
	case len(cfg.Journals) == 0 || len(cfg.Journals) > region.MaxShards:
		return nil, fmt.Errorf("%d shards: a region has 1 to %d", len(cfg.Journals), region.MaxShards)
	}
	cfg.Settings.Fleet.Region, cfg.Settings.Fleet.TokenSerial = cfg.Region, secrets.TokenSerial
	cfg.Settings.Shards = len(cfg.Journals)
	if cfg.HistoryKept == 0 {
		cfg.HistoryKept = 30 * 24 * time.Hour
	}
	cfg.ActivationTimeout = cmp.Or(cfg.ActivationTimeout, DefaultActivationTimeout)
	cfg.ReplaceAfter = cmp.Or(cfg.ReplaceAfter, DefaultReplaceAfter)
	if cfg.Cluster == nil {
		cfg.Settings.Level = region.MaxLevel // no other node must be able to read it
	}
	p := &Plane{cfg: cfg, builds: newBuildRunner(), instancesNews: make(chan struct{}, 1)}
	p.secrets = secrets
	p.shapes = shapes{router.Names{Region: cfg.Region, Account: cfg.Account}, cfg.SDKEndpoint, cfg.AgentEndpoint,
		cfg.InstanceDomain}
	p.legacy = newLegacyServers(p, cfg.Legacy)
	p.Router = router.New(router.Config{
		Names: p.names, Journals: cfg.Journals, Cluster: cfg.Cluster, Settings: &p.cfg.Settings,
		SnapshotEvery: cfg.SnapshotEvery, FinalSnapshot: cfg.FinalSnapshot, Observe: p.observe, Metrics: cfg.Metrics,
		Clock: cfg.Clock, Log: cfg.Log,
	})
	p.shards = p.Shards()
	p.Access = access.New(access.Config{
		Region: cfg.Region, Account: cfg.Account, Secrets: secrets, Catalog: p.Router, Trail: cfg.Trail,
		Used: cfg.KeyUses, Tokens: cfg.Tokens, Lifetimes: cfg.Lifetimes,
		Argon2id: cfg.Argon2id, Clock: cfg.Clock, Log: cfg.Log,
	})
	p.processes = processes.New(processes.Config{
		Router: p.Router, Keys: p.Access, Allow: p.allowProcess, Skew: cfg.ClockSkew, Endpoint: cfg.SDKEndpoint,
		Token: secrets.AuthToken, Role: p.computeRole,
		Players: p.describePlayerSessions, StartBackfill: p.startProcessBackfill, StopBackfill: p.stopProcessBackfill,
		Clock: cfg.Clock, Log: cfg.Log,
	})
	p.agents = processes.NewAgents(processes.AgentsConfig{
		Router: p.Router, Runtime: p.agentRuntime, Role: p.computeRole, Clock: cfg.Clock, Log: cfg.Log,
	})
	p.machines = newMachines(p)
	p.history = newHistory(p)
	p.copies = newCopies(p)
	p.drivers = drivers.New(drivers.Config{
		Region: cfg.Region, Account: cfg.Account, Router: p.Router, Processes: p.processes, History: p.history,
		Cluster: cfg.Cluster, Feed: cfg.Feed, EventID: secrets.EventID, RuleSet: p.ruleSets.of,
		StartPlacement: p.startPlacement, FinishDeletions: p.finishDeletions,
		Others: append(slices.Clone(cfg.Drivers), p.runInstances, p.runScaling),
		Clock:  cfg.Clock, Log: cfg.Log,
	})
	return p, nil
}

// newHistory returns the history of what has ended in all shards.
func newHistory(p *Plane) *history.History {
	c := history.Config{
		Entries: p.cfg.History, Dir: p.cfg.HistoryDir, Reached: p.HistoryReached, Shared: p.cfg.Cluster != nil,
		Retention: p.cfg.SessionRetention,
		Kept:      p.cfg.HistoryKept, MaxOverdue: p.cfg.MaxOverdue, Clock: p.cfg.Clock, Log: p.cfg.Log,
	}
	for _, s := range p.shards {
		c.Shards = append(c.Shards, s)
	}
	return history.New(c)
}

// Servers returns the connector for the endpoint of game servers.
func (p *Plane) Servers() processes.Connector { return p.processes }

// Agents returns the connector for the endpoint of agents.
func (p *Plane) Agents() processes.AgentConnector { return p.agents }

// Shard returns the replica of a shard, for requests of other nodes.
func (p *Plane) Shard(i int) *router.Shard { return p.shards[i] }

// Level returns the feature level of a shard, as far as this node has read its journal; at least 1.
func (p *Plane) Level(shard int) int { return p.shards[shard].Level() }

// HistoryState describes the history, as this node sees it.
func (p *Plane) HistoryState(ctx context.Context) (history.State, error) { return p.history.State(ctx) }

// Receive receives a message of another node.
func (p *Plane) Receive(data []byte) { p.drivers.Receive(data) }

// observe passes what has become durable in a shard to its subscribers, on the shard's commit goroutine, before the
// callers are answered: it must be quick.
func (p *Plane) observe(c *router.Commit) {
	p.processes.Observe(c)
	p.agents.Observe(c)
	p.machines.Observe(c)
	p.observeInstances(c)
	p.notifyWatches(c)
	p.changes.NotifyAll()
	p.drivers.Observe(c)
	p.latencies.observe(c)
	p.observeObjects(c)
	if c.HasView && c.Shard == region.CatalogShard {
		p.ruleSets.tidy(c.View.Catalog())
	}
	if p.cfg.Observe != nil {
		p.cfg.Observe(c)
	}
}

// Run runs the shards and the drivers until ctx is done or a shard fails for good.
func (p *Plane) Run(ctx context.Context) error {
	defer p.Stop()
	if err := p.history.Begin(ctx); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.Router.Run(ctx) })
	group.Go(func() error { return p.history.Run(ctx) })
	group.Go(func() error { return p.Access.Run(ctx) })
	for _, run := range []func(context.Context) error{
		p.drivers.Run, p.processes.Run, p.machines.Run, p.runBuilds, p.runCopies, p.runLogs,
	} {
		group.Go(func() error {
			if err := p.WaitServing(ctx); err != nil {
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

// WaitReady returns when all shards serve and, without a cluster, the drivers have started; or with ctx's error.
func (p *Plane) WaitReady(ctx context.Context) error {
	if err := p.WaitServing(ctx); err != nil || p.cfg.Cluster != nil {
		return err
	}
	select {
	case <-p.drivers.Begun():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
