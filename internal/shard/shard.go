package shard

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
)

// Config says what a shard runs, where it keeps it, and how. Journal, Events
// and NewMachine are required; every other zero value means the default.
type Config[C any, M Machine[C, M]] struct {
	Journal    journal.Journal
	Events     *event.Set // knows every fact of the machine, those of its snapshot included
	NewMachine func() M   // makes an empty machine; called for each recovery
	Clock      clockwork.Clock
	Log        *slog.Logger // nil: silent

	// Start, if set, is the state that the first recovery begins with, instead of
	// the newest snapshot: that of a replica which has followed the journal. The
	// shard takes the machine over.
	Start *State[M]

	// Holds, if set, reports whether this owner's lease holds at this moment. A batch
	// that appends nothing is answered only if it does, or if an empty record, which
	// is appended then, proves that nobody else has written. And a recovery ends only
	// while it does: its opening record fences everyone else. Nil: it always holds.
	HoldsLease func() bool

	// Queue is how many requests may wait for the loop. Default 8192. When it is
	// full Submit refuses and Do waits; Tell goes beyond it. Up to as many again may be in the loop's
	// hands, taken and not yet handled.
	Queue int

	// BatchBytes is the size at which a batch takes no more commands until it is
	// handed to the journal. Default 256 KiB, at most the journal's MaxRecord.
	BatchBytes int

	// BatchRequests is the same as a number of requests. Default 4096.
	BatchRequests int

	// AppendTimeout is how long one append may take before it counts as failed,
	// and so how long a stop may wait for a journal that is down. Default 10 s.
	AppendTimeout time.Duration

	// SnapshotEvery says how much is appended between two snapshots.
	SnapshotEvery SnapshotEvery

	// SnapshotTimeout is how long writing a snapshot may take. Default 5 min.
	SnapshotTimeout time.Duration

	// FinalSnapshot makes Run write a snapshot before it returns from a graceful
	// stop, when anything was appended since the last one. The next start is
	// then quick; the stop takes longer.
	FinalSnapshot bool

	// Backoff bounds the wait between a failure and the recovery after it. It
	// begins with Min, doubles with each failure, and begins anew when the shard
	// has served for twice Max without one. Default 50 ms to 5 s.
	Backoff Backoff

	// Observe, if set, is called with every batch that holds facts, when it is
	// durable and before its requests are answered, in order, on the commit
	// goroutine: it must be quick and must not call the shard.
	Observe func(Commit[M])

	// ViewWhen, if set, is asked when a batch is closed whether its commit shall
	// carry a view. It must be quick; it runs on the loop. Nil: never.
	ViewWhen func([]event.Fact) bool

	Metrics Metrics
}

// State is a machine that has applied the records up to Seq and nothing else.
type State[M any] struct {
	Machine M
	Seq     uint64
}

// SnapshotEvery is the distance between two snapshots: whichever of the two is
// reached first. After a failed one the next is tried after as much again.
type SnapshotEvery struct {
	Records int   // default 10,000; negative: no limit
	Bytes   int64 // default 64 MiB; negative: no limit
}

// Backoff is the bounds of a wait that doubles.
type Backoff struct{ Min, Max time.Duration }

// A Commit is a batch that has become durable.
type Commit[M any] struct {
	Seq   uint64       // the number of the newest journal record in it
	Facts []event.Fact // in order; the slice is the observer's until it returns, the bodies may be kept and must not be changed

	// View is a frozen copy of exactly the state after these facts. It is there
	// when HasView is true: when Config.ViewWhen asked for it, and in the first
	// commit after each recovery. (When the machine breaks on the command behind
	// the batch, there is no such state any more: the view that was asked for
	// comes with the recovery's commit, which then follows.)
	View    M
	HasView bool

	// Recovered marks the first commit after a start or a recovery. What
	// observers derived from earlier commits may be behind: records can have
	// become durable without a commit. They begin anew from View. Facts holds
	// what Machine.Recovered gave and may be empty.
	Recovered bool

	// Reminder marks a commit that shows the state because Remind asked for it, and
	// holds no facts.
	Refresh bool
}

// A Shard runs one machine against one journal. All methods may be called by
// many goroutines at the same time, Run once.
type Shard[C any, M Machine[C, M]] struct {
	cfg        Config[C, M]
	queue      *queue[C, M]
	ready      chan struct{}
	serving    atomic.Bool
	durable    atomic.Uint64
	finalState *State[M] // what Run left; nil when the machine is not to be used
}

// New makes a shard. It serves when Run runs; requests that come before wait.
func New[C any, M Machine[C, M]](cfg Config[C, M]) *Shard[C, M] {
	cfg.SetDefaults()
	return &Shard[C, M]{cfg: cfg, queue: newQueue[C, M](cfg.Queue), ready: make(chan struct{})}
}

// SetDefaults replaces zero values by the defaults.
func (c *Config[C, M]) SetDefaults() {
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	orDefault(&c.Queue, 8192)
	orDefault(&c.BatchBytes, 256<<10)
	c.BatchBytes = min(c.BatchBytes, c.Journal.MaxRecord())
	orDefault(&c.BatchRequests, 4096)
	orDefault(&c.AppendTimeout, 10*time.Second)
	orDefault(&c.SnapshotTimeout, 5*time.Minute)
	orDefault(&c.SnapshotEvery.Records, 10_000)
	orDefault(&c.SnapshotEvery.Bytes, 64<<20)
	orDefault(&c.Backoff.Min, 50*time.Millisecond)
	orDefault(&c.Backoff.Max, 5*time.Second)
}

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Ready is closed when the shard has recovered for the first time and its
// opening record is durable. It stays closed when the shard later recovers
// again; Serving tells the state of the moment.
func (s *Shard[C, M]) Ready() <-chan struct{} { return s.ready }

// Durable is the number of the newest record that this owner knows to be durable.
// Whoever is answered finds there a record not older than any that the answer may
// have seen.
func (s *Shard[C, M]) Durable() uint64 { return s.durable.Load() }

// Rest is the machine after Run has returned nil, with everything in it durable;
// the caller takes it over. It is nil when the end was no graceful one, or came
// before the shard served.
func (s *Shard[C, M]) FinalState() *State[M] { return s.finalState }

// Serving reports whether the shard handles requests at this moment: it is false
// before the first recovery, during each further one, and after Run has
// returned. Requests that come during a recovery wait for its end.
func (s *Shard[C, M]) Serving() bool { return s.serving.Load() }

// Holds reports whether the shard serves and its owner's lease holds at this moment.
func (s *Shard[C, M]) HoldsLease() bool {
	return s.Serving() && (s.cfg.HoldsLease == nil || s.cfg.HoldsLease())
}
