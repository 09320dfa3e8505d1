package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/muster-gg/muster/internal/cluster/lease"
	"github.com/muster-gg/muster/internal/cluster/link"
)

// ErrNameInUse says that another process lives in the cluster under the same name.
var ErrNameInUse = errors.New("another process of the cluster has the same name")

// errStopped is why nothing is forwarded any more.
var errStopped = errors.New("the node has left the cluster")

// A Member is a node of the cluster as this one sees it.
type Member struct {
	Node    string
	Process string // unique for each start
	Ready   bool   // shards are moved to it
	Leaving bool   // and away from it
	Gone    bool   // it is stopped or lost: only Known lists it
	Level   int    // the Config.Level of its last run; 0: that announced none
}

// A Node is this process's part in the cluster. Its methods may be called by
// many goroutines at the same time, Run once.
type Node struct {
	cfg     Config
	process string
	bucket  jetstream.KeyValue
	begun   time.Duration // by cfg.Elapsed

	posted  chan func() // for the loop
	stopped chan struct{}
	handed  chan struct{} // closed when nothing is left to be handed over
	workers sync.WaitGroup

	held   atomic.Int64  // until when others know that this node lives, in nanoseconds since begun
	owning []atomic.Bool // by shard: a tenure of ours has begun, and was not told to end
	offers []chan Tenure
	view   atomic.Pointer[view]

	tamper func(subject string, data []byte) error // nil, except in tests: instead of publishing a packet

	forward *forwarder
	serve   *server

	// These belong to the loop.
	machine *lease.Machine
	tenures []*tenure
	grant   *grant
	life    lease.Life // that grant is for

	handedOver time.Duration // since when everything is; 0: it is not
	departing  bool          // Leave was called
	sayHanded  func()        // closes handed
}

// view is what others see of the machine.
type view struct {
	owners  []lease.Life // by shard; zero: nobody
	epochs  []uint64
	members []Member
	known   []Member
}

// Join makes a node. It waits until the bucket of leases is there, or ctx is done. The
// node is part of the cluster while Run runs.
func Join(ctx context.Context, cfg Config) (*Node, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	bucket, err := openBucket(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, process: nuid.Next(), bucket: bucket, begun: cfg.Elapsed(),
		posted: make(chan func(), 256), stopped: make(chan struct{}), handed: make(chan struct{}),
		owning: make([]atomic.Bool, cfg.Shards), offers: make([]chan Tenure, cfg.Shards), tenures: make([]*tenure, cfg.Shards),
		grant: &grant{},
	}
	n.sayHanded = sync.OnceFunc(func() { close(n.handed) })
	n.life = lease.Life{Node: cfg.Node, Process: n.process, Number: 1}
	n.machine = lease.New(lease.Config{
		Self: n.life, Level: cfg.Level, Shards: cfg.Shards, Lease: cfg.Lease, Hold: cfg.Lease * 5 / 6, Renew: cfg.Renew,
		Retry: cfg.Renew / 4, Write: cfg.writing(), Linger: cfg.Linger, Moves: cfg.Moves,
	})
	for i := range n.offers {
		n.offers[i] = make(chan Tenure, 1)
	}
	n.view.Store(&view{owners: make([]lease.Life, cfg.Shards), epochs: make([]uint64, cfg.Shards)})
	n.forward = newForwarder(n)
	n.serve = newServer(n)
	return n, nil
}

// Tenures gives, one after the other, the tenures of a shard: the next one comes when
// Ended of the one before was called. Somebody must take them.
func (n *Node) Tenures(shard int) <-chan Tenure { return n.offers[shard] }

// Owner is which node owns a shard, as far as this one knows; not ok when none.
func (n *Node) Owner(shard int) (node string, ok bool) {
	owner := n.view.Load().owners[shard]
	return owner.Node, owner != lease.Life{}
}

// Members are the nodes of the cluster, by name, as far as this one knows.
func (n *Node) Members() []Member { return slices.Clone(n.view.Load().members) }

// Known are the nodes that have ever been members, by name, except those that were forgotten.
func (n *Node) Known() []Member { return slices.Clone(n.view.Load().known) }

// Forget removes a node that is gone from those that are known, and reports whether it was one. It is
// known again when it starts again.
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

// Away is for how long the others may have taken this node for dead: 0 while they
// cannot. A node that is away does not know what they do.
func (n *Node) Away() time.Duration { return max(0, n.elapsed()-time.Duration(n.held.Load())) }

// Ready says that shards may be moved to this node: its replicas are up to date. Until
// then it takes only what nobody else can take.
func (n *Node) Ready() { n.post(n.machine.Ready) }

// HandOver gives all shards to other nodes that are ready and stay, and takes none back while
// there are any. It returns when they own everything, or with the cause of ctx: the node goes on
// handing over then. It remains a member and forwards what is sent through it, until Leave.
//
// While there is no such other node, there is nothing to wait for: HandOver returns, and this
// node keeps what it owns until Leave. So the last node serves its clients to the end, as does
// each node of a cluster that stops as a whole. If another node becomes ready before, it is
// given the shards.
func (n *Node) HandOver(ctx context.Context) error {
	n.post(n.machine.Leave)
	select {
	case <-n.handed:
	case <-n.stopped:
	case <-ctx.Done():
		return fmt.Errorf("hand over the shards: %w", context.Cause(ctx))
	}
	return nil
}

// Leave hands over, as far as HandOver has not, and ends Run. It returns when that is done, or
// with the cause of ctx: the node goes on leaving then. What was sent through this node and is
// not answered yet fails.
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

// elapsed is the time by which the machine lives. It only goes forward, also while the computer
// is suspended.
func (n *Node) elapsed() time.Duration { return n.cfg.Elapsed() - n.begun }

// post lets the loop do something. It does not happen when the loop has ended.
func (n *Node) post(f func()) {
	select {
	case n.posted <- f:
	case <-n.stopped:
	}
}

// Run takes part in the cluster. It returns nil after Leave, or when ctx is done:
// then all tenures end at once, and the others find out when the lease has run out. It fails with
// ErrNameInUse. In any case it returns when nothing of it is running any more and
// every request is answered; whoever runs the shards must take the tenures and call
// Ended.
func (n *Node) Run(ctx context.Context) error {
	inside, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	unsubscribe, err := n.subscribe()
	if err == nil {
		n.workers.Go(func() { n.watch(inside) })
		n.workers.Go(func() { n.forward.tick(inside) })
		err = n.loop(ctx, inside)
	}
	for i, t := range n.tenures {
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

// subscribe lets this node hear what is said. unsubscribe returns when nothing more
// is heard.
func (n *Node) subscribe() (unsubscribe func(), err error) {
	var closed sync.WaitGroup
	var subs []*nats.Subscription
	unsubscribe = func() {
		for _, s := range subs {
			_ = s.Unsubscribe() // fails when the connection is closed, which ends it, too
		}
		closed.Wait()
	}
	for subject, handle := range map[string]nats.MsgHandler{
		n.newsSubject():        n.hear,
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

// loop drives the machine.
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

// farewellAfter is how long a node that has handed over still refuses, one by one, what is sent
// by those who have not heard yet that others own its shards. A packet that gets lost can be
// sent again meanwhile, twice: what has not arrived when this node goes is of unknown outcome.
const farewellAfter = 2*link.Retransmit + 100*time.Millisecond

// depart goes, when everything is handed over, everyone knows it, and Leave was called.
func (n *Node) depart(inside context.Context) {
	if !n.machine.HandedOver() {
		n.handedOver = 0
		return
	}
	n.sayHanded()
	if n.handedOver == 0 {
		n.handedOver = n.elapsed()
	}
	if !n.departing || len(n.view.Load().members) > 1 && n.elapsed()-n.handedOver < farewellAfter {
		return
	}
	if n.serve.part(); n.serve.idle() {
		n.machine.Depart()
		n.step(inside)
	}
}

// drain does all that was posted meanwhile: one step is enough for it.
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

// step lets the machine decide, and does what it wants.
func (n *Node) step(ctx context.Context) {
	a := n.machine.Step(n.elapsed())
	if life := n.machine.Self(); life != n.life {
		if !n.departing {
			n.cfg.Log.Warn("the cluster has given this node up: it begins anew", "node", n.cfg.Node)
		}
		n.grant.until.Store(-1)
		n.grant, n.life = &grant{}, life
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

// look shows others what the machine has seen, when that has changed.
func (n *Node) look() {
	old := n.view.Load()
	v := &view{owners: make([]lease.Life, n.cfg.Shards), epochs: make([]uint64, n.cfg.Shards)}
	for i := range v.owners {
		v.owners[i], v.epochs[i], _ = n.machine.Owner(i)
	}
	for _, m := range n.machine.Known() {
		member := Member{Node: m.Life.Node, Process: m.Life.Process, Ready: m.Ready, Leaving: m.Leaving, Gone: m.Gone, Level: m.Level}
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
