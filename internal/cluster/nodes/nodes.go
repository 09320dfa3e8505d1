package nodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/cluster"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/shard/replica"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Config configures a node. All fields are required.
type Config struct {
	Node     string // its name; see cluster.Config
	Shards   int
	Conn     *nats.Conn
	Replicas int           // of the bucket of leases
	Lease    time.Duration // see cluster.Config

	// Lead makes this node the leader of a shard's journal, or fails at limit after there is a leader. See
	// jetstream.Engine.Lead.
	Lead func(ctx context.Context, shard int, limit time.Duration) error

	Connected func() bool // see cluster.Config

	// Settle returns when this node can lead journals, or ctx is done: no shard is moved to it before.
	Settle func(ctx context.Context)

	Journal Journal // of this node

	// Level raises the feature level in force of the region as far as all members read it, and returns it. known are
	// the nodes that have ever been members.
	Level func(ctx context.Context, known []cluster.Member) (int, error)

	// Figures describes this node to the others. It is called while Run runs.
	Figures func() []byte

	Clock clockwork.Clock
	Log   *slog.Logger
}

// leadLimit bounds how long a new owner waits for the leadership of its journal. The shard has no owner meanwhile.
const leadLimit = 300 * time.Millisecond

// Nodes is this process's part in the region. It is a control.Cluster. Its methods are safe for concurrent use; Run is
// called once.
type Nodes struct {
	cfg    Config
	node   *cluster.Node
	plane  *control.Plane
	pauser *pauser
	terms  []chan replica.Term
	open   atomic.Bool // this node answers callers
}

// Join finds the other nodes. It waits until a majority of those that keep the bucket of leases is up, or ctx is done.
// The node takes part while Run runs.
func Join(ctx context.Context, cfg Config) (*Nodes, error) {
	n := &Nodes{cfg: cfg, terms: make([]chan replica.Term, cfg.Shards)}
	for i := range n.terms {
		n.terms[i] = make(chan replica.Term)
	}
	var err error
	n.node, err = cluster.Join(ctx, cluster.Config{
		Node: cfg.Node, Shards: cfg.Shards, Level: region.MaxLevel, Conn: cfg.Conn, Replicas: cfg.Replicas,
		Lease:     cfg.Lease,
		Connected: cfg.Connected, Clock: cfg.Clock, Log: cfg.Log, Serve: n.serve, Barrier: n.barrier,
	})
	if err != nil {
		return nil, err
	}
	n.pauser = &pauser{
		node: cfg.Node, shards: cfg.Shards, conn: cfg.Conn, clock: cfg.Clock, log: cfg.Log, journal: cfg.Journal,
		members: n.node.Members, owns: func(shard int) bool { return n.plane.Shard(shard).HoldsLease() },
	}
	return n, nil
}

// Attach sets the plane whose shards the nodes share, before Run.
func (n *Nodes) Attach(p *control.Plane) { n.plane = p }

// Run takes part in the region until Leave or the end of ctx; see cluster.Node.Run. The plane must run meanwhile.
func (n *Nodes) Run(ctx context.Context) error {
	unsubscribe, err := n.subscribe()
	if err != nil {
		return err
	}
	defer unsubscribe()
	inside, cancel := context.WithCancel(ctx)
	defer cancel()
	var handing sync.WaitGroup
	defer handing.Wait()
	for i := range n.terms {
		handing.Go(func() { n.handOn(inside, i) })
	}
	var group errgroup.Group
	group.Go(func() error {
		defer cancel()
		return n.node.Run(ctx)
	})
	group.Go(func() error {
		if n.loaded(inside) {
			n.cfg.Settle(inside)
			n.node.Ready()
		}
		return nil
	})
	return group.Wait()
}

// loaded waits until all replicas have loaded what was stored; false if ctx is done first.
func (n *Nodes) loaded(ctx context.Context) bool {
	for i := range n.cfg.Shards {
		select {
		case <-n.plane.Shard(i).Loaded():
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// handOn passes the terms of a shard to its replica.
func (n *Nodes) handOn(ctx context.Context, shard int) {
	for {
		select {
		case t := <-n.node.Terms(shard):
			n.take(ctx, shard, t)
		case <-ctx.Done():
			return
		}
	}
}

func (n *Nodes) take(ctx context.Context, shard int, t cluster.Term) {
	n.lead(ctx, shard, t)
	select {
	case n.terms[shard] <- replica.Term{Done: t.Done, HoldsLease: t.Holds, Ended: t.Ended}:
	case <-t.Done:
		t.Ended()
	case <-ctx.Done():
		t.Ended()
	}
}

// lead tries to make this node the leader of an owner's journal.
func (n *Nodes) lead(ctx context.Context, shard int, t cluster.Term) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-t.Done:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := n.cfg.Lead(ctx, shard, leadLimit); err != nil {
		n.cfg.Log.Debug("journal led by another node", "shard", shard, "reason", err)
	}
}

// Open reports that this node is about to answer callers: from now on, changes of the catalog by other nodes wait for
// it. It returns when this node knows all earlier changes.
func (n *Nodes) Open(ctx context.Context) error {
	n.open.Store(true)
	return n.plane.Shard(region.CatalogShard).Read(ctx, func(*region.Machine) {})
}

// Transfer transfers all shards to other nodes; see cluster.Node.Transfer.
func (n *Nodes) Transfer(ctx context.Context) error { return n.node.Transfer(ctx) }

// Leave ends Run after the transfer of all shards; see cluster.Node.Leave.
func (n *Nodes) Leave(ctx context.Context) error { return n.node.Leave(ctx) }

// Members returns the nodes of the region, as far as this one knows.
func (n *Nodes) Members() []cluster.Member { return n.node.Members() }

// Known returns the nodes that have ever been members; see cluster.Node.Known.
func (n *Nodes) Known() []cluster.Member { return n.node.Known() }

// Forget deletes a node that is gone from Known; see cluster.Node.Forget.
func (n *Nodes) Forget(ctx context.Context, node string) (bool, error) {
	return n.node.Forget(ctx, node)
}

// Level implements control.Cluster.
func (n *Nodes) Level(ctx context.Context) (int, error) { return n.cfg.Level(ctx, n.node.Known()) }

// Owned returns how many shards each node owns, as far as this one knows.
func (n *Nodes) Owned() map[string]int {
	owned := map[string]int{}
	for i := range n.cfg.Shards {
		if owner, ok := n.node.Owner(i); ok {
			owned[owner]++
		}
	}
	return owned
}

// Tenures returns the channel of terms for the replica of a shard.
func (n *Nodes) Tenures(shard int) <-chan replica.Term { return n.terms[shard] }

// Peer returns the connection to the owner of a shard.
func (n *Nodes) Peer(shard int) replica.Peer[region.Command] { return peer{n, shard} }

type peer struct {
	*Nodes
	shard int
}

// Send sends a command to the owner.
func (p peer) Send(cmd region.Command, done func(answer any, seq uint64, err error)) {
	if err := region.CheckCommand(cmd, p.plane.Level(p.shard)); err != nil { // the owner may not be able to read it
		done(nil, 0, because(err, shard.ErrNotDone))
		return
	}
	data, err := region.AppendCommand(nil, cmd)
	if err != nil {
		done(nil, 0, fault.Internal(fmt.Errorf("%w: %w", shard.ErrNotDone, err)))
		return
	}
	p.node.Send(p.shard, data, func(answer []byte, err error) {
		if err != nil {
			done(nil, 0, err)
			return
		}
		done(decodeOutcome(answer))
	})
}

// Barrier asks the owner for the newest durable record.
func (p peer) Barrier(done func(seq uint64, err error)) { p.node.Ask(p.shard, done) }

// serve executes a command of another node.
func (n *Nodes) serve(i int, data []byte, done func(answer []byte, err error)) {
	cmd, err := region.DecodeCommand(data)
	if err != nil { // of the next release: no owner of this release can read it
		n.cfg.Log.Error("command of another node not decoded", "shard", i, "error", err)
		done(appendOutcome(nil, nil, 0, fault.Internal(fmt.Errorf("%w: %w", shard.ErrNotDone, err))), nil)
		return
	}
	n.plane.Shard(i).Serve(cmd, func(answer any, seq uint64, err error) {
		if errors.Is(err, replica.ErrNotOwner) {
			done(nil, err)
			return
		}
		done(appendOutcome(nil, answer, seq, err), nil)
	})
}

func (n *Nodes) barrier(shard int, done func(seq uint64, err error)) {
	n.plane.Shard(shard).ServeBarrier(done)
}

// Away returns for how long the others may have considered this node dead; see cluster.Node.Away.
func (n *Nodes) Away() time.Duration { return n.node.Away() }

// CutOff reports whether this node does not reach the others; see cluster.Node.CutOff.
func (n *Nodes) CutOff() bool { return n.node.CutOff() }
