package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/cluster/channel"
	"github.com/muster-gg/muster/internal/cluster/lease"
)

// ErrNameInUse reports that another process runs in the cluster under the same name.
var ErrNameInUse = errors.New("another process of the cluster has the same name")

// A Member is a node of the cluster as this one sees it.
type Member struct {
	Node    string
	Process string // unique for each start
	Ready   bool   // shards are moved to it
	Leaving bool   // shards are moved away from it
	Gone    bool   // it is stopped or lost: only Known lists it
	Level   int    // the Config.Level of its last run; 0: that announced none
}

// A Node is this process's part in the cluster. Its methods are safe for concurrent use; Run is called once.
type Node struct {
	cfg     Config
	process string
	bucket  jetstream.KeyValue
	begun   time.Duration // by cfg.Elapsed

	posted      chan func() // for the loop
	stopped     chan struct{}
	transferred chan struct{} // closed when all shards are transferred
	workers     sync.WaitGroup

	held   atomic.Int64  // end of the validity of this node's leases, in nanoseconds since begun
	cutOff atomic.Bool   // see CutOff
	owning []atomic.Bool // by shard: a term has begun here, and need not end yet
	offers []chan Term
	view   atomic.Pointer[view]

	packets publisher // to other nodes: cfg.Conn

	forward *forwarder
	serve   *server

	// The loop owns these.
	machine *lease.Machine
	terms   []*term
	grant   *grant
	run     lease.Run // of grant

	transferredAt    time.Duration // since when all shards are transferred; 0: they are not
	departing        bool          // Leave was called
	closeTransferred func()        // closes transferred
}

// A publisher sends packets, at most once each.
type publisher interface {
	Publish(subject string, data []byte) error
}

// view is the machine's state for other goroutines.
type view struct {
	owners  []lease.Run // by shard; zero: none
	epochs  []uint64
	members []Member
	known   []Member
}

// Join creates a node. It waits until the bucket of leases is available, or ctx is done. The node is a part of the
// cluster while Run runs.
func Join(ctx context.Context, cfg Config) (*Node, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	bucket, err := openBucket(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, process: rand.Text(), bucket: bucket, begun: cfg.Elapsed(), packets: cfg.Conn,
		posted: make(chan func(), 256), stopped: make(chan struct{}), transferred: make(chan struct{}),
		owning: make([]atomic.Bool, cfg.Shards), offers: make([]chan Term, cfg.Shards),
		terms: make([]*term, cfg.Shards),
		grant: &grant{},
	}
	n.closeTransferred = sync.OnceFunc(func() { close(n.transferred) })
	n.run = lease.Run{Node: cfg.Node, Process: n.process, Number: 1}
	n.machine = lease.New(lease.Config{
		Self: n.run, Level: cfg.Level, Shards: cfg.Shards, Lease: cfg.Lease, Hold: cfg.Lease * 5 / 6, Renew: cfg.Renew,
		Retry: cfg.Renew / 4, Write: cfg.writing(), Linger: cfg.Linger, Moves: cfg.Moves,
	})
	for i := range n.offers {
		n.offers[i] = make(chan Term, 1)
	}
	n.view.Store(&view{owners: make([]lease.Run, cfg.Shards), epochs: make([]uint64, cfg.Shards)})
	n.forward = newForwarder(n)
	n.serve = newServer(n)
	return n, nil
}

// Terms returns the channel of a shard's terms: the next one is sent after Ended of the one before was called. The
// caller must receive them.
func (n *Node) Terms(shard int) <-chan Term { return n.offers[shard] }

// Owner returns the name of the node that owns a shard, as far as this one knows; ok is false if there is none.
func (n *Node) Owner(shard int) (node string, ok bool) {
	owner := n.view.Load().owners[shard]
	return owner.Node, owner != lease.Run{}
}

// Members returns the nodes of the cluster, by name, as far as this one knows.
func (n *Node) Members() []Member { return slices.Clone(n.view.Load().members) }

// Known returns the nodes that have ever been members, by name, except forgotten ones.
func (n *Node) Known() []Member { return slices.Clone(n.view.Load().known) }

// Forget deletes a node that is gone from Known, and reports whether it was there. It is known again after it starts
// again.
func (n *Node) Forget(ctx context.Context, node string) (bool, error) {
	key := keyName(lease.Key{Node: node})
	e, err := n.bucket.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	if err == nil {
		err = n.bucket.Delete(ctx, key, jetstream.LastRevision(e.Revision()))
	}
	if err != nil {
		return false, fmt.Errorf("forget node %s: %w", node, err)
	}
	return true, nil
}

// Away returns for how long the others may have considered this node dead: 0 while they cannot. A node that is away
// does not know what they do.
func (n *Node) Away() time.Duration { return max(0, n.elapsed()-time.Duration(n.held.Load())) }

// CutOff reports whether this node does not reach the others: it has been away for Lease, and is not connected to a
// majority, or has been away for Patience. Until then the bucket of leases may be electing a leader. Requests at a node
// that is cut off fail at once: callers can use another node.
func (n *Node) CutOff() bool {
	return n.cutOff.Load()
}

// updateCutOff sets what CutOff returns.
func (n *Node) updateCutOff() {
	away := n.Away()
	n.cutOff.Store(away > n.cfg.Lease && (away > n.cfg.Patience || !n.cfg.Connected()))
}

// Ready allows moving shards to this node: its replicas are up to date. Before, it takes only shards that no other node
// can take.
func (n *Node) Ready() { n.post(n.machine.Ready) }

// Transfer transfers all shards to other nodes that are ready and stay, and takes none back while there are any. It
// returns when they own all shards, or with the cause of ctx: then the transfer continues. The node remains a member
// and forwards requests of its clients, until Leave.
//
// While there is no such other node, Transfer returns at once, and this node keeps its shards until Leave. So the last
// node serves its clients to the end, as does each node of a cluster that stops as a whole. If another node becomes
// ready before, it receives the shards.
func (n *Node) Transfer(ctx context.Context) error {
	n.post(n.machine.Leave)
	select {
	case <-n.transferred:
	case <-n.stopped:
	case <-ctx.Done():
		return fmt.Errorf("transfer the shards: %w", context.Cause(ctx))
	}
	return nil
}

// Leave transfers the remaining shards, and ends Run. It returns when that is done, or with the cause of ctx: then
// leaving continues. Unanswered requests of this node's clients fail.
func (n *Node) Leave(ctx context.Context) error {
	n.post(func() {
		n.machine.Leave()
		n.departing = true
	})
	select {
	case <-n.stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("leave the cluster: %w", context.Cause(ctx))
	}
}

// elapsed is the machine's clock. It never goes back, and includes suspended time.
func (n *Node) elapsed() time.Duration { return n.cfg.Elapsed() - n.begun }

// post executes f in the loop, unless the loop has ended.
func (n *Node) post(f func()) {
	select {
	case n.posted <- f:
	case <-n.stopped:
	}
}

// Run takes part in the cluster. It returns nil after Leave, or when ctx is done: then all terms end at once, and the
// others notice when the lease has expired. It fails with ErrNameInUse. It returns when all goroutines have ended and
// every request is answered; the caller must receive the terms and call Ended meanwhile.
func (n *Node) Run(ctx context.Context) error {
	inside, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	unsubscribe, err := n.subscribe()
	if err == nil {
		n.workers.Go(func() { n.watch(inside) })
		n.workers.Go(func() { n.forward.tick(inside) })
		err = n.loop(ctx, inside)
	}
	for i, t := range n.terms {
		n.owning[i].Store(false)
		n.grant.until.Store(-1)
		if t != nil {
			t.stop()
		}
	}
	close(n.stopped)
	cancel()
	unsubscribe()
	n.serve.stop()
	n.forward.stop()
	n.workers.Wait()
	return err
}

// subscribe subscribes to the messages of other nodes. unsubscribe returns when no more are processed.
func (n *Node) subscribe() (unsubscribe func(), err error) {
	var closed sync.WaitGroup
	var subs []*nats.Subscription
	unsubscribe = func() {
		for _, s := range subs {
			_ = s.Unsubscribe() // fails if the connection is closed, which has the same effect
		}
		closed.Wait()
	}
	for subject, handle := range map[string]nats.MsgHandler{
		n.newsSubject():        n.receiveNews,
		n.subjectOf(n.process): n.receive,
	} {
		s, err := n.cfg.Conn.Subscribe(subject, handle)
		if err != nil {
			return unsubscribe, fmt.Errorf("join the cluster: %w", err)
		}
		closed.Add(1)
		s.SetClosedHandler(func(string) { closed.Done() })
		subs = append(subs, s)
	}
	if err := n.cfg.Conn.FlushTimeout(n.cfg.Patience); err != nil {
		return unsubscribe, fmt.Errorf("join the cluster: %w", err)
	}
	return unsubscribe, nil
}

func (n *Node) loop(ctx, inside context.Context) error {
	ticker := n.cfg.Clock.NewTicker(n.cfg.Renew / 20)
	defer ticker.Stop()
	for {
		n.step(inside)
		switch {
		case n.machine.Departed(n.elapsed()):
			return nil
		case n.machine.Contested():
			return fmt.Errorf("%w: %s", ErrNameInUse, n.cfg.Node)
		}
		n.depart(inside)
		select {
		case f := <-n.posted:
			f()
			n.drain()
		case <-ticker.Chan():
		case <-ctx.Done():
			return nil
		}
	}
}

// refuseAfterTransfer is how long a node that has transferred its shards still refuses, one by one, requests of nodes
// that do not know the new owners yet. A lost packet can be sent again twice meanwhile; requests that arrive later have
// an unknown outcome.
const refuseAfterTransfer = 2*channel.Retransmit + 100*time.Millisecond

// depart ends the run when all shards are transferred, the others know it, and Leave was called.
func (n *Node) depart(inside context.Context) {
	if !n.machine.Transferred() {
		n.transferredAt = 0
		return
	}
	n.closeTransferred()
	if n.transferredAt == 0 {
		n.transferredAt = n.elapsed()
	}
	if !n.departing || len(n.view.Load().members) > 1 && n.elapsed()-n.transferredAt < refuseAfterTransfer {
		return
	}
	if n.serve.finish(); n.serve.idle() {
		n.machine.Depart()
		n.step(inside)
	}
}

// drain executes all posted functions: one step is enough for all.
func (n *Node) drain() {
	for {
		select {
		case f := <-n.posted:
			f()
		default:
			return
		}
	}
}

func (n *Node) step(ctx context.Context) {
	a := n.machine.Step(n.elapsed())
	if run := n.machine.Self(); run != n.run {
		if !n.departing {
			n.cfg.Log.Warn("removed by the other nodes, starting a new run", "node", n.cfg.Node)
		}
		n.grant.until.Store(-1)
		n.grant, n.run = &grant{}, run
	}
	n.grant.until.Store(int64(n.machine.HoldsUntil()))
	n.held.Store(int64(n.machine.HoldsUntil()))
	n.look()
	for _, shard := range a.End {
		n.end(shard)
	}
	for _, shard := range a.Begin {
		n.begin(shard)
	}
	for _, w := range a.Writes {
		n.workers.Go(func() { n.write(ctx, w) })
	}
}

// look updates the view if the machine has seen a change.
func (n *Node) look() {
	old := n.view.Load()
	v := &view{owners: make([]lease.Run, n.cfg.Shards), epochs: make([]uint64, n.cfg.Shards)}
	for i := range v.owners {
		v.owners[i], v.epochs[i], _ = n.machine.Owner(i)
	}
	for _, m := range n.machine.Known() {
		member := Member{Node: m.Run.Node, Process: m.Run.Process, Ready: m.Ready, Leaving: m.Leaving, Gone: m.Gone,
			Level: m.Level}
		v.known = append(v.known, member)
		if !m.Gone {
			v.members = append(v.members, member)
		}
	}
	if slices.Equal(old.owners, v.owners) && slices.Equal(old.epochs, v.epochs) && slices.Equal(old.known, v.known) {
		return
	}
	n.view.Store(v)
	n.forward.moved(v)
	n.serve.moved(v)
}
