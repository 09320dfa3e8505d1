// Package audit keeps the record of who did what: sign-ins, credentials, changes of keys and policies, changing calls,
// and refusals. The trail is a feed of the journal, with a retention of its own. Each of its messages contains some
// records, as compressed lines of JSON in the form of CloudTrail, oldest first.
//
// Recording never waits. Records wait in memory while the journal is slow or away; when there are too many, the oldest
// ones are dropped and counted, and the trail shows the gap as a record RecordsDropped. A record may be in the trail
// twice, with the same eventID, if the journal stored it and its answer was lost for more than two minutes.
package audit

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/journal"
)

const (
	// defaultCapacity is how many records wait for the journal by default: about 2 MB, besides their texts.
	defaultCapacity = 4096

	// appendTime bounds one attempt to store a message, in real time. It exceeds the patience of the journal.
	appendTime = 15 * time.Second

	// firstPause and lastPause are the pauses after failed attempts: each is twice the one before.
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second

	// endTime is how long Run goes on storing what waits at its end.
	endTime = 2 * time.Second
)

// Config configures a trail.
type Config struct {
	Feed     journal.Audit
	Clock    clockwork.Clock
	Log      *slog.Logger // nil: discard
	Capacity int          // how many records wait for the journal; default 4096

	// Dropped counts records that were dropped, in a metric; nil: they are not counted. It must not block or use the
	// trail.
	Dropped func(n int)
}

// errEnded reports that Run has ended, so nothing is stored any more.
var errEnded = errors.New("the audit trail has ended")

// A Trail records who did what. Its methods are safe for concurrent use. Record, Flush, Read and Follow of a nil Trail
// do nothing.
type Trail struct {
	cfg  Config
	wake chan struct{} // capacity 1: something waits

	mu       sync.Mutex
	queue    queue
	stored   uint64        // of the records added to the queue, how many are stored or dropped
	advanced chan struct{} // closed and replaced when stored grows, or Run ends
	gap      int           // records dropped since the last record of a gap
	ended    bool

	// Of Run's goroutine.
	batch   []Record
	pending []message // of the batch
	scratch []byte    // of encode
}

// New makes a trail, which stores nothing before Run.
func New(c Config) *Trail {
	c.Capacity = cmp.Or(c.Capacity, defaultCapacity)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Dropped == nil {
		c.Dropped = func(int) {}
	}
	return &Trail{
		cfg: c, wake: make(chan struct{}, 1), advanced: make(chan struct{}), queue: queue{capacity: c.Capacity},
	}
}

// Record adds a record. It never waits for the journal. Texts of more than 1 kB are shortened.
func (t *Trail) Record(r Record) {
	if t == nil {
		return
	}
	now := t.cfg.Clock.Now()
	if r.Time.IsZero() {
		r.Time = now
	}
	r.Count = 0
	r.clip()
	t.mu.Lock()
	dropped := 1
	if !t.ended {
		dropped = t.queue.add(now, &r)
	}
	t.gap += dropped
	t.mu.Unlock()
	if dropped > 0 {
		t.cfg.Dropped(dropped)
	}
	t.awake()
}

func (t *Trail) awake() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Flush waits until all that was recorded before is stored or dropped, counts of repeated refusals included, which end
// early. It needs Run.
func (t *Trail) Flush(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endFolds()
	for target := t.queue.added(); t.stored < target; {
		if t.ended {
			return errEnded
		}
		t.awake()
		advanced := t.advanced
		t.mu.Unlock()
		select {
		case <-advanced:
		case <-ctx.Done():
		}
		t.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// endFolds ends all counts of repeated refusals. t.mu is locked.
func (t *Trail) endFolds() {
	// No count ends later.
	if dropped := t.queue.end(t.cfg.Clock.Now().Add(foldTime)); dropped > 0 {
		t.gap += dropped
		t.cfg.Dropped(dropped)
	}
}

// Run stores what is recorded, until ctx is done. It then has 2 s to store what waits; the rest is dropped.
func (t *Trail) Run(ctx context.Context) error {
	for t.storeAll(ctx) == nil && t.wait(ctx) == nil {
	}
	t.mu.Lock()
	t.endFolds()
	t.mu.Unlock()
	ending, cancel := clockwork.WithTimeout(context.WithoutCancel(ctx), t.cfg.Clock, endTime)
	defer cancel()
	err := t.storeAll(ending)
	if dropped := t.end(); dropped > 0 {
		t.cfg.Log.Warn("audit records dropped at the end", "records", dropped, "err", err)
	}
	return nil
}

// storeAll returns when nothing waits, or with the cause of ctx.
func (t *Trail) storeAll(ctx context.Context) error {
	for t.take() {
		for len(t.pending) > 0 {
			if err := t.store(ctx, t.pending[0]); err != nil {
				return err
			}
			t.pending = t.pending[1:]
		}
		t.advance()
	}
	return nil
}

// take encodes the next records, unless a batch is still pending. It reports whether there is something to store.
func (t *Trail) take() bool {
	if len(t.pending) > 0 {
		return true
	}
	now := t.cfg.Clock.Now()
	t.mu.Lock()
	dropped := t.queue.end(now)
	t.gap += dropped
	clear(t.batch)
	t.batch = t.batch[:0]
	if gap := t.gap; gap > 0 && t.queue.n > 0 {
		t.batch, t.gap = append(t.batch, droppedRecord(now, gap)), 0
	}
	t.batch = t.queue.take(t.batch, batchRecords)
	t.mu.Unlock()
	if dropped > 0 {
		t.cfg.Dropped(dropped)
	}
	if len(t.batch) == 0 {
		t.advance() // a full queue may have dropped what Flush waits for
		return false
	}
	t.pending, t.scratch = encode(t.batch, t.scratch)
	return true
}

// gapName is the event of a gap in the trail.
const gapName = "RecordsDropped"

// droppedRecord shows that records are missing before it.
func droppedRecord(now time.Time, n int) Record {
	return Record{
		Time: now, Name: gapName, Source: "muster", Type: "MusterCall", Identity: Identity{Type: "Unknown"},
		ErrorCode: gapName, ErrorMessage: "records were dropped because they could not be stored in time",
		Count: n,
	}
}

// store appends a message, and repeats that until it succeeds or ctx is done. The id prevents a second copy.
func (t *Trail) store(ctx context.Context, m message) error {
	for pause, failed := firstPause, false; ; pause = min(2*pause, lastPause) {
		attempt, cancel := context.WithTimeout(ctx, appendTime)
		_, err := t.cfg.Feed.Append(attempt, m.id, m.data)
		cancel()
		if err == nil {
			if failed {
				t.cfg.Log.Info("audit trail can be written again")
			}
			return nil
		}
		if ctx.Err() == nil && !failed {
			t.cfg.Log.Warn("audit trail cannot be written; trying again", "err", err)
			failed = true
		}
		select {
		case <-t.cfg.Clock.After(pause):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// advance notifies Flush that everything taken or dropped until now is settled.
func (t *Trail) advance() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stored != t.queue.gone {
		t.stored = t.queue.gone
		close(t.advanced)
		t.advanced = make(chan struct{})
	}
}

// wait returns when something may wait, or with the cause of ctx.
func (t *Trail) wait(ctx context.Context) error {
	t.mu.Lock()
	deadline := t.queue.folds.deadline()
	t.mu.Unlock()
	var due <-chan time.Time
	if !deadline.IsZero() {
		timer := t.cfg.Clock.NewTimer(t.cfg.Clock.Until(deadline))
		defer timer.Stop()
		due = timer.Chan()
	}
	select {
	case <-t.wake:
	case <-due:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// end drops what is left, and all that is recorded from now on. It returns how much is left.
func (t *Trail) end() (dropped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endFolds()
	for _, m := range t.pending {
		dropped += m.weight
	}
	for t.queue.n > 0 {
		r := t.queue.pop()
		dropped += r.weight()
	}
	t.ended = true
	close(t.advanced)
	t.advanced = make(chan struct{})
	if dropped > 0 {
		t.cfg.Dropped(dropped)
	}
	return dropped
}
