package replica

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/muster-gg/muster/internal/shard"
)

// A Term is a lease term: this process owns the shard.
type Term struct {
	// Done is closed at the end of the term: the owner finishes its work and stops.
	Done <-chan struct{}

	// HoldsLease reports whether the lease is valid now, by a clock that cannot be set and that continues while the
	// machine is suspended. See shard.Config.HoldsLease.
	HoldsLease func() bool

	// Ended is called once, when this process has sent its last answer as the owner.
	Ended func()
}

// A Peer connects a replica to the remote owner of its shard. No method blocks; done is called exactly once, from any
// goroutine.
type Peer[C any] interface {
	// Send lets the owner handle a command. Commands arrive in the order of the calls. seq is the newest record that
	// the outcome may have seen, 0 for none. An error is the machine's rejection, or has shard.ErrNotDone or
	// shard.ErrOutcomeUnknown in its chain.
	Send(cmd C, done func(answer any, seq uint64, err error))

	// Barrier returns the owner's newest durable record: no older than any record that an answer before the call may
	// have seen.
	Barrier(done func(seq uint64, err error))
}

// Config configures a replica. Shard is run while this process is the owner; the replica sets its Start and HoldsLease.
type Config[C any, M shard.Machine[C, M]] struct {
	Shard shard.Config[C, M]
	Terms <-chan Term // nil: this process always is the owner
	Peer  Peer[C]     // required with Terms
}

// A Replica is a shard on one of the nodes that share it. It has the methods and guarantees of shard.Shard. All are
// safe for concurrent use, Run may be called once.
type Replica[C any, M shard.Machine[C, M]] struct {
	cfg      Config[C, M]
	alone    *shard.Shard[C, M]                // without terms: the shard
	owned    atomic.Pointer[shard.Shard[C, M]] // while this process is the owner
	sent     *semaphore.Weighted               // commands in progress
	ready    chan struct{}                     // closed after the first successful read
	loaded   chan struct{}                     // closed when the state has been read for the first time
	isLoaded func()                            // closes it

	refreshPending atomic.Bool // a refresh is scheduled

	showing          sync.Mutex    // held while a commit is applied and shown; before mu
	shown            uint64        // the newest record that the observer has seen; showing is held
	ownershipChanged chan struct{} // has a token if it changed

	mu       sync.Mutex
	machine  M
	usable   bool   // the machine is
	applied  uint64 // the newest record applied to the machine
	observed uint64 // the newest one that the observer has seen
	ended    bool
	waiting  waitingList[M]
	barrier  barrier[M]
}

// New returns a replica. Requests before Run wait.
func New[C any, M shard.Machine[C, M]](cfg Config[C, M]) *Replica[C, M] {
	if cfg.Terms == nil {
		return &Replica[C, M]{cfg: cfg, alone: shard.New(cfg.Shard)}
	}
	cfg.Shard.FinalSnapshot = false // other nodes have the state: a transfer does not wait for a snapshot
	cfg.Shard.SetDefaults()
	r := &Replica[C, M]{
		cfg: cfg, sent: semaphore.NewWeighted(int64(cfg.Shard.Queue)), ready: make(chan struct{}),
		loaded: make(chan struct{}), ownershipChanged: make(chan struct{}, 1),
	}
	r.isLoaded = sync.OnceFunc(func() { close(r.loaded) })
	return r
}

// Ready is closed when the replica has answered for the first time: the state is loaded, and the shard has an owner.
func (r *Replica[C, M]) Ready() <-chan struct{} {
	if r.alone != nil {
		return r.alone.Ready()
	}
	return r.ready
}

// Loaded is closed when the replica has read all that was stored when it started: it can become the owner without
// delay.
func (r *Replica[C, M]) Loaded() <-chan struct{} {
	if r.alone != nil {
		return r.alone.Ready()
	}
	return r.loaded
}

// Serving reports whether this process answers requests now: it owns the shard and serves, or follows it.
func (r *Replica[C, M]) Serving() bool {
	if s := r.shard(); s != nil {
		return s.Serving()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usable && !r.ended
}

// OwnershipChanged has a token when Owned may have changed, for one reader. It needs Terms.
func (r *Replica[C, M]) OwnershipChanged() <-chan struct{} { return r.ownershipChanged }

// setOwner replaces the local shard; nil: this process is not the owner any more.
func (r *Replica[C, M]) setOwner(old, s *shard.Shard[C, M]) {
	if r.owned.CompareAndSwap(old, s) {
		select {
		case r.ownershipChanged <- struct{}{}:
		default:
		}
	}
}

// Owned reports whether this process owns the shard, as far as it knows.
func (r *Replica[C, M]) Owned() bool { return r.shard() != nil }

// HoldsLease reports whether this process certainly owns the shard now: its lease is valid, so nobody else can append,
// and its records are after those of all previous owners.
func (r *Replica[C, M]) HoldsLease() bool {
	s := r.shard()
	return s != nil && s.HoldsLease()
}

// Queued returns how many requests wait.
func (r *Replica[C, M]) Queued() int {
	if s := r.shard(); s != nil {
		return s.Queued()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting.len() + len(r.barrier.next)
}

// shard returns the local shard; nil if this process is not the owner.
func (r *Replica[C, M]) shard() *shard.Shard[C, M] {
	if r.alone != nil {
		return r.alone
	}
	return r.owned.Load()
}

// Run follows and owns the shard in turn, until ctx is done: then it returns nil. It returns final errors: see
// shard.Shard.Run. When it has returned, every request is answered and further ones are rejected. A replica runs once.
func (r *Replica[C, M]) Run(ctx context.Context) error {
	if r.alone != nil {
		return r.alone.Run(ctx)
	}
	defer r.end()
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watching.Go(func() { r.awaitReady(ctx) })
	for {
		term, err := r.followUntil(ctx)
		if err != nil || term == nil {
			return err
		}
		if err := r.own(ctx, *term); err != nil {
			return err
		}
	}
}

// followUntil follows the journal until a term begins; it returns nil when ctx is done.
func (r *Replica[C, M]) followUntil(ctx context.Context) (*Term, error) {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.follow(ctx) }()
	select {
	case t := <-r.cfg.Terms:
		stop()
		return &t, <-ended
	case err := <-ended:
		stop()
		return nil, err
	case <-ctx.Done():
		stop()
		return nil, <-ended
	}
}

// end rejects waiting and further requests.
func (r *Replica[C, M]) end() {
	r.mu.Lock()
	r.ended = true
	waiting, reads := r.waiting.takeAll(), r.barrier.take()
	r.mu.Unlock()
	for i := range waiting {
		waiting[i].finish(shard.Stopped())
	}
	for i := range reads {
		reads[i].done(shard.Stopped())
	}
}

// Newest returns the newest record that the observer has seen: no older than any record that an answer here may have
// seen.
func (r *Replica[C, M]) Newest() uint64 {
	if s := r.shard(); s != nil {
		return s.Durable()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.observed
}

// Await calls done when this replica has applied a record and the observer has seen it; with an error if it ends
// before.
func (r *Replica[C, M]) Await(seq uint64, done func(err error)) {
	if r.alone != nil {
		r.alone.SubmitRead(func(M) {}, done)
		return
	}
	r.await(waiter[M]{seq: seq, read: func(M) {}, done: done})
}
