package shard

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
)

// Config configures a shard. Journal, Events and NewMachine are required; every other zero value means the default.
type Config[C any, M Machine[C, M]] struct {
	Journal    journal.Journal
	Events     *event.Set // all types of facts of the machine, and of its snapshots
	NewMachine func() M   // returns an empty machine; called for each recovery
	Clock      clockwork.Clock
	Log        *slog.Logger // nil: silent

	// Start, if set, is the state for the first recovery, instead of the newest snapshot: that of a replica which has
	// followed the journal. The shard takes ownership of the machine.
	Start *State[M]

	// HoldsLease, if set, reports whether this owner's lease is valid. A batch that appends nothing is answered only if
	// it is, or after an empty record proves that nobody else has written. A recovery succeeds only if it is, because
	// its opening record fences all others. Nil: always.
	HoldsLease func() bool

	// Queue is how many requests may wait for the loop. Default 8192. When it is full Submit fails and Do waits; Post,
	// SubmitUnbounded and SubmitRead exceed it. The loop holds up to as many again, taken but not handled.
	Queue int

	// BatchBytes is the size at which a batch accepts no more commands. Default 256 KiB, at most the journal's
	// MaxRecord.
	BatchBytes int

	// BatchRequests is the same limit as a number of requests. Default 4096.
	BatchRequests int

	// AppendTimeout is the limit of one append, and so how long a stop may wait for a journal that is down. Default 10
	// s.
	AppendTimeout time.Duration

	SnapshotEvery SnapshotEvery

	// SnapshotTimeout is the limit of writing a snapshot. Default 5 min.
	SnapshotTimeout time.Duration

	// FinalSnapshot makes Run write a snapshot before it returns from a graceful stop, if anything was appended since
	// the last one. The next start is faster, the stop takes longer.
	FinalSnapshot bool

	// Backoff bounds the wait between a failure and the recovery. It starts with Min, doubles with each failure, and
	// starts over after the shard has served for twice Max. Default 50 ms to 5 s.
	Backoff Backoff

	// Observe, if set, is called with every durable batch of facts before its requests are answered, in order, on the
	// commit goroutine: it must be quick and must not call the shard.
	Observe func(Commit[M])

	// ViewWhen, if set, decides when a batch is closed whether its commit has a view. It runs on the loop and must be
	// quick. Nil: never.
	ViewWhen func([]event.Fact) bool

	Metrics Metrics
}

// State is a machine that has applied exactly the records up to Seq.
type State[M any] struct {
	Machine M
	Seq     uint64
}

// SnapshotEvery is the distance between two snapshots: whichever limit is reached first. It applies after a failed one
// too.
type SnapshotEvery struct {
	Records int   // default 10,000; negative: no limit
	Bytes   int64 // default 64 MiB; negative: no limit
}

// Backoff is the bounds of a doubling wait.
type Backoff struct{ Min, Max time.Duration }

// A Commit is a durable batch.
type Commit[M any] struct {
	Seq uint64 // the number of its newest journal record
	// in order; the slice is valid until Observe returns, the bodies may be kept and must not be changed
	Facts []event.Fact

	// View is a frozen copy of exactly the state after these facts, if HasView is true: if Config.ViewWhen requested
	// it, and in the first commit after each recovery. (If the machine fails on the command after the batch, the
	// requested view is in the commit of the recovery.)
	View    M
	HasView bool

	// Recovered marks the first commit after a start or a recovery. Observers start over from View: records can have
	// become durable without a commit. Facts has those of Machine.Recovered and may be empty.
	Recovered bool

	// Refresh marks a commit that repeats the state because of Refresh. It has no facts.
	Refresh bool
}

// A Shard runs one machine against one journal. All methods are safe for concurrent use, Run may be called once.
type Shard[C any, M Machine[C, M]] struct {
	cfg        Config[C, M]
	queue      *queue[C, M]
	ready      chan struct{}
	serving    atomic.Bool
	durable    atomic.Uint64
	finalState *State[M] // nil if the machine must not be used
}

// New returns a shard. Requests before Run wait.
func New[C any, M Machine[C, M]](cfg Config[C, M]) *Shard[C, M] {
	cfg.SetDefaults()
	return &Shard[C, M]{cfg: cfg, queue: newQueue[C, M](cfg.Queue), ready: make(chan struct{})}
}

// SetDefaults replaces zero values with the defaults.
func (c *Config[C, M]) SetDefaults() {
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Queue = cmp.Or(c.Queue, 8192)
	c.BatchBytes = cmp.Or(c.BatchBytes, 256<<10)
	c.BatchBytes = min(c.BatchBytes, c.Journal.MaxRecord())
	c.BatchRequests = cmp.Or(c.BatchRequests, 4096)
	c.AppendTimeout = cmp.Or(c.AppendTimeout, 10*time.Second)
	c.SnapshotTimeout = cmp.Or(c.SnapshotTimeout, 5*time.Minute)
	c.SnapshotEvery.Records = cmp.Or(c.SnapshotEvery.Records, 10_000)
	c.SnapshotEvery.Bytes = cmp.Or(c.SnapshotEvery.Bytes, 64<<20)
	c.Backoff.Min = cmp.Or(c.Backoff.Min, 50*time.Millisecond)
	c.Backoff.Max = cmp.Or(c.Backoff.Max, 5*time.Second)
}

// Ready is closed when the first recovery has succeeded. It stays closed during later recoveries; Serving reports the
// current state.
func (s *Shard[C, M]) Ready() <-chan struct{} { return s.ready }

// Durable returns the number of the newest record known to be durable: after an answer, no older than any record that
// the answer may have seen.
func (s *Shard[C, M]) Durable() uint64 { return s.durable.Load() }

// FinalState returns the machine after Run has returned nil, with everything in it durable; the caller takes ownership.
// It is nil if the stop was not graceful, or happened before the shard served.
func (s *Shard[C, M]) FinalState() *State[M] { return s.finalState }

// Serving reports whether the shard handles requests now: false during each recovery and after Run has returned.
// Requests during a recovery wait.
func (s *Shard[C, M]) Serving() bool { return s.serving.Load() }

// HoldsLease reports whether the shard serves and its owner's lease is valid now.
func (s *Shard[C, M]) HoldsLease() bool {
	return s.Serving() && (s.cfg.HoldsLease == nil || s.cfg.HoldsLease())
}

// A Retry waits between a failure and the next attempt.
type Retry struct {
	Backoff
	next time.Duration
}

// Served resets the wait if the shard has served for long.
func (b *Retry) Served(d time.Duration) {
	if d >= 2*b.Max {
		b.next = 0
	}
}

// Wait waits, longer than the last time. It returns false when ctx is done.
func (b *Retry) Wait(ctx context.Context, clock clockwork.Clock) bool {
	b.next = min(max(b.Min, 2*b.next), b.Max)
	timer := clock.NewTimer(b.next)
	defer timer.Stop()
	select {
	case <-timer.Chan():
		return true
	case <-ctx.Done():
		return false
	}
}
