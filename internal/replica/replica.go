package replica

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/muster-gg/muster/internal/shard"
)

// A Tenure is the time for which this process owns a shard.
type Term struct {
	// Done is closed when the tenure is over: the owner finishes what it has and
	// steps down.
	Done <-chan struct{}

	// Holds reports whether the lease holds at this moment, by a clock that nobody
	// sets and that goes on while the machine is suspended. See shard.Config.Holds.
	HoldsLease func() bool

	// Ended is called once, when this process has answered for the last time as the
	// owner.
	Ended func()
}

// A Peer is how a replica reaches the owner of its shard elsewhere. No method
// blocks; done is called exactly once, from any goroutine.
type Peer[C any] interface {
	// Send has the owner handle a command. Commands arrive in the order of the calls.
	// seq is the newest record that the outcome may have seen, 0 if it has seen none.
	// An error is the machine's refusal, or has shard.ErrNotDone or
	// shard.ErrOutcomeUnknown in its chain.
	Send(cmd C, done func(answer any, seq uint64, err error))

	// Barrier asks the owner for the newest record that is durable: at least every one
	// that anybody was answered about before the call.
	Barrier(done func(seq uint64, err error))
}

// Config says what a replica is of. Shard is what runs while this process is the
// owner; its Start and Holds are the replica's own to set.
type Config[C any, M shard.Machine[C, M]] struct {
	Shard shard.Config[C, M]
	Terms <-chan Term // nil: this process is the owner for as long as Run runs
	Peer  Peer[C]     // required with Tenures
}

// A Replica is a shard on one of the nodes that share it. Its methods are those of
// shard.Shard and promise the same. All may be called by many goroutines at the same
// time, Run once.
type Replica[C any, M shard.Machine[C, M]] struct {
	cfg      Config[C, M]
	alone    *shard.Shard[C, M]                // without tenures: the shard
	owned    atomic.Pointer[shard.Shard[C, M]] // while this process is the owner
	sent     *semaphore.Weighted               // commands that are on their way
	ready    chan struct{}                     // closed by the first read that was answered
	loaded   chan struct{}                     // closed when the state has been read for the first time
	isLoaded func()                            // closes it

	refreshPending atomic.Bool // a reminder is to come

	showing          sync.Mutex    // held while a commit is applied and shown; before mu
	shown            uint64        // the newest record that the observer has ever seen; showing is held
	ownershipChanged chan struct{} // holds one when the role has changed

	mu       sync.Mutex
	machine  M
	usable   bool   // the machine is
	applied  uint64 // the newest record that is in the machine
	observed uint64 // the newest one that the observer has seen
	ended    bool
	waiting  waitingList[M]
	barrier  barrier[M]
}

// New makes a replica. Requests that come before Run wait.
func New[C any, M shard.Machine[C, M]](cfg Config[C, M]) *Replica[C, M] {
	if cfg.Terms == nil {
		return &Replica[C, M]{cfg: cfg, alone: shard.New(cfg.Shard)}
	}
	cfg.Shard.FinalSnapshot = false // the others have the state; a hand-over does not wait for a snapshot
	cfg.Shard.SetDefaults()
	r := &Replica[C, M]{
		cfg: cfg, sent: semaphore.NewWeighted(int64(cfg.Shard.Queue)), ready: make(chan struct{}), loaded: make(chan struct{}), ownershipChanged: make(chan struct{}, 1),
	}
	r.isLoaded = sync.OnceFunc(func() { close(r.loaded) })
	return r
}

// Ready is closed when the replica has answered for the first time: the state is
// there, and the shard has an owner.
func (r *Replica[C, M]) Ready() <-chan struct{} {
	if r.alone != nil {
		return r.alone.Ready()
	}
	return r.ready
}

// Loaded is closed when the replica has read, for the first time, all that was stored
// when it began: it can take a tenure without delay.
func (r *Replica[C, M]) Loaded() <-chan struct{} {
	if r.alone != nil {
		return r.alone.Ready()
	}
	return r.loaded
}

// Serving reports whether requests are answered at this moment, as far as it depends
// on this process: it owns the shard and serves, or follows it.
func (r *Replica[C, M]) Serving() bool {
	if s := r.shard(); s != nil {
		return s.Serving()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usable && !r.ended
}

// Roles is where a replica with tenures reports, to one reader, that Owned may have changed.
func (r *Replica[C, M]) OwnershipChanged() <-chan struct{} { return r.ownershipChanged }

// setOwner notes the shard that this process runs as the owner, or that the one it has
// run is not that any more.
func (r *Replica[C, M]) setOwner(old, s *shard.Shard[C, M]) {
	if r.owned.CompareAndSwap(old, s) {
		select {
		case r.ownershipChanged <- struct{}{}:
		default:
		}
	}
}

// Owned reports whether this process owns the shard at this moment, as far as it knows.
func (r *Replica[C, M]) Owned() bool { return r.shard() != nil }

// Holds reports whether this process owns the shard at this moment, for certain: nobody else
// can append. What it has appended stands behind everything of those who owned it before, and
// its lease has not run out.
func (r *Replica[C, M]) HoldsLease() bool {
	s := r.shard()
	return s != nil && s.HoldsLease()
}

// Queued is how many requests wait at this moment.
func (r *Replica[C, M]) Queued() int {
	if s := r.shard(); s != nil {
		return s.Queued()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting.len() + len(r.barrier.next)
}

// shard is the shard that runs here; nil when this process is not the owner.
func (r *Replica[C, M]) shard() *shard.Shard[C, M] {
	if r.alone != nil {
		return r.alone
	}
	return r.owned.Load()
}

// Run follows and owns the shard in turn, until ctx is done: then it returns nil. It
// returns an error when that is final: see shard.Shard.Run. When it has returned, every
// request is answered and further ones are refused. A replica runs once.
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
		tenure, err := r.followUntil(ctx)
		if err != nil || tenure == nil {
			return err
		}
		if err := r.own(ctx, *tenure); err != nil {
			return err
		}
	}
}

// followUntil follows the journal until a tenure comes; nil when ctx is done.
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

// end refuses all that waits, and what comes.
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

// Newest is the newest record that this replica knows of and the observer has been
// shown. Whoever was answered here finds none older than the answer may have seen.
func (r *Replica[C, M]) Newest() uint64 {
	if s := r.shard(); s != nil {
		return s.Durable()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.observed
}

// Await calls done when this replica has applied a record and shown it to the observer;
// with an error when it ends before.
func (r *Replica[C, M]) Await(seq uint64, done func(err error)) {
	if r.alone != nil {
		r.alone.SubmitRead(func(M) {}, done)
		return
	}
	r.await(waiter[M]{seq: seq, read: func(M) {}, done: done})
}
