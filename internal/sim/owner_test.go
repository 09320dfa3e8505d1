package sim

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

// A shardWorld is one shard with its journal and those who own it or believe so.
type shardWorld struct {
	number int
	mirror *mirror
	holder *owner // who has the lease; nil: nobody

	follower *region.Machine // what those have seen who follow the journal
	followed uint64          // its newest record
	followAt time.Time       // when they will have seen the newest record
	awaiting []waiter
}

// An owner is one tenure of a shard on a node.
type owner struct {
	world  *world
	n      int // in the order of their beginnings
	shard  *shardWorld
	node   *node
	disk   *disk
	runs   *shard.Shard[region.Command, *machine]
	cancel context.CancelFunc
	dead   bool     // its process crashed: nothing of it is heard any more
	asked  []func() // requests that it is yet to be given

	mu     sync.Mutex
	lease  time.Time // when it ends; zero: it is renewed for ever
	outbox []output
	ended  bool
}

// An output is what an owner has to say.
type output struct {
	commit *shard.Commit[*machine]
	reply  *reply
	ended  bool
	err    error
	broken string // a rule that the machine saw broken
}

// A waiter waits until those who follow a shard have seen a record.
type waiter struct {
	seq uint64
	do  func()
}

// await calls do when those who follow the shard have seen a record.
func (s *shardWorld) await(seq uint64, do func()) {
	if seq <= s.followed {
		do()
		return
	}
	s.awaiting = append(s.awaiting, waiter{seq, do})
}

// tell lets those who follow a shard know what has become durable, in order and a little late. opening tells that an
// owner has begun.
func (s *shardWorld) tell(w *world, seq uint64, opening bool, facts []event.Fact) {
	at := time.Now().Add(w.between(0, 20*time.Millisecond))
	if s.followAt.After(at) {
		at = s.followAt
	}
	s.followAt = at
	w.at(at, func(*world) { s.follow(w, seq, opening, facts) })
}

// follow shows a record to those who follow the shard.
func (s *shardWorld) follow(w *world, seq uint64, opening bool, facts []event.Fact) {
	s.followed = seq
	for _, f := range facts {
		s.follower.Apply(f)
	}
	var view *region.Machine
	changed := slices.ContainsFunc(facts, func(f event.Fact) bool { return f.Room == 0 })
	if opening || changed && s.number == region.CatalogShard {
		view = s.follower.Freeze()
	}
	for _, n := range w.nodes {
		if n.up() {
			n.do(func() { n.driver.observe(s.number, opening, view, facts) })
		}
	}
	for _, f := range facts {
		w.happened(s.number, f)
	}
	due := s.awaiting
	s.awaiting = nil
	for _, a := range due {
		s.await(a.seq, a.do)
	}
}

// begin makes a node the owner of a shard.
func (w *world) begin(s *shardWorld, n *node) {
	o := &owner{world: w, n: len(w.owners) + 1, shard: s, node: n}
	o.disk = &disk{world: w, owner: o, journal: s.mirror.journal.Reopen()}
	cfg := shard.Config[region.Command, *machine]{
		Journal: o.disk, Events: region.Events, Clock: n.clock, NewMachine: o.machine, HoldsLease: o.holds,
		SnapshotEvery: shard.SnapshotEvery{Records: 3 + w.rng.IntN(40)}, FinalSnapshot: w.chance(50),
		Backoff: shard.Backoff{Min: 20 * time.Millisecond, Max: 500 * time.Millisecond},
		Observe: func(c shard.Commit[*machine]) {
			c.Facts = slices.Clone(c.Facts) // they are ours until we return
			o.put(output{commit: &c})
		},
		ViewWhen: func([]event.Fact) bool { return true },
	}
	if w.bug.noLease {
		cfg.HoldsLease = nil
	}
	if w.chance(30) && w.bug.name == "" { // a bug is planted in the way that goes through the journal
		cfg.Start = o.replica()
	}
	o.runs = shard.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	w.owners = append(w.owners, o)
	s.holder = o
	n.setOwner(s.number, o)
	w.moved()
	w.trace.add(w.step, "node %d owns shard %d: owner %d, release %d", n.name, s.number, o.n, n.release)
	go func() {
		err := o.runs.Run(ctx)
		o.put(output{ended: true, err: err})
	}()
}

func (o *owner) String() string { return sprintf("owner %d of shard %d", o.n, o.shard.number) }

func (o *owner) machine() *machine {
	report := func(format string, args ...any) { o.put(output{broken: sprintf(format, args...)}) }
	return &machine{Machine: region.New(o.shard.number, o.world.settings), bug: o.world.bug, report: report}
}

// replica is a machine as a node has it that has followed the journal.
func (o *owner) replica() *shard.State[*machine] {
	m := o.machine()
	mirror := o.shard.mirror
	restore(m.Machine, snapshotOf(mirror.machine))
	return &shard.State[*machine]{Machine: m, Seq: mirror.seq}
}

// holds is what the owner believes about its lease.
func (o *owner) holds() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lease.IsZero() || time.Now().Before(o.lease)
}

func (o *owner) setLease(until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lease = until
}

// put adds to what the world is yet to hear.
func (o *owner) put(out output) {
	o.mu.Lock()
	o.outbox = append(o.outbox, out)
	o.mu.Unlock()
	o.world.stir()
}

func (o *owner) take() []output {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.outbox
	o.outbox = nil
	return out
}

// die is the end of the owner's process. What it has asked its disk for may still be done.
func (o *owner) die() {
	w := o.world
	o.dead = true
	for _, op := range w.operations {
		if op.disk == o.disk {
			if w.chance(50) {
				op.fate = fails
			}
			op.finish(errDead)
		}
	}
	o.disk.kill()
	o.cancel()
	o.gone()
}

// gone lets another node take over, some time after the owner is no more.
func (o *owner) gone() {
	o.node.dropOwner(o)
	if o.shard.holder != o {
		return
	}
	o.shard.holder = nil
	o.world.moved()
	most := 12 * time.Second // an election and what follows
	o.world.in(o.world.between(100*time.Millisecond, most), o.shard.takeOver)
}

// takeOver gives a shard that has no owner to a node.
func (s *shardWorld) takeOver(w *world) {
	if s.holder != nil || w.over {
		return
	}
	if n := w.nodes[w.rng.IntN(len(w.nodes))]; n.up() {
		w.begin(s, n)
		return
	}
	w.in(w.between(0, time.Second), s.takeOver)
}

// steal lets another node take the shard over while the owner goes on: it has not
// been able to renew its lease, and notices late or never.
func (s *shardWorld) steal(w *world) {
	old := s.holder
	if old == nil {
		return
	}
	w.seen["stolen lease"]++
	w.trace.add(w.step, "%s is cut off from its lease", old)
	expires := time.Now().Add(w.between(2*time.Second, 3*time.Second))
	old.setLease(expires)
	s.holder = nil
	w.moved()
	w.at(expires.Add(w.between(time.Millisecond, 2*time.Second)), s.takeOver)
	// A node ends each term in the end. Most owners that are late find out by a fence before, but not one that waits
	// for a lease to open with.
	noticed := 2 * time.Minute
	if w.chance(60) {
		noticed = w.between(0, time.Minute)
	}
	w.at(expires.Add(noticed), func(*world) { old.stepDown() })
}

// move hands the shard over to another node, gracefully.
func (s *shardWorld) move(w *world) {
	if s.holder != nil {
		w.seen["graceful move"]++
		w.trace.add(w.step, "%s is asked to hand over", s.holder)
		s.holder.stepDown()
	}
}

// stepDown ends a tenure: what comes from now on is for the next owner.
func (o *owner) stepDown() {
	o.node.dropOwner(o)
	o.cancel()
}

// hasEnded takes note of the end of Run.
func (o *owner) hasEnded(err error) {
	w := o.world
	w.trace.add(w.step, "%s has ended: %v", o, err)
	o.ended = true
	if errors.Is(err, shard.ErrUnreadable) {
		w.fail("%s cannot read what is stored: %v", o, err)
	}
	if errors.Is(err, journal.ErrFenced) {
		w.seen["fenced"]++
	}
	o.gone()
}
