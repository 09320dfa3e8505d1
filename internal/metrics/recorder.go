package metrics

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

// roomsTime bounds a question to a shard, in real time.
const roomsTime = 5 * time.Second

// Config configures a Recorder. All fields are required unless they say otherwise.
type Config struct {
	Node      string // "" without a cluster
	Shared    bool   // other nodes record in the same feeds
	Shards    int
	Feeds     Feeds
	Retention [Levels]time.Duration // of Feeds

	// Owned reports whether this node owns a shard, Rooms returns the numbers of its rooms. They are called by Observe
	// and by Run.
	Owned func(shard int) bool
	Rooms func(ctx context.Context, shard int) (map[fleet.RoomID]fleet.Counts, error)

	// Calls returns the histogram of the API calls of this process since its start; nil: there is none.
	Calls func() Histogram

	// Catalog returns the newest view of the catalog.
	Catalog func() *catalog.State

	Clock   clockwork.Clock
	Log     *slog.Logger
	Dropped func(records int) // counts frames that could not be stored in time; it must not block
}

// A Recorder measures the region. Observe and the methods of Store are safe for concurrent use; Run is called once.
type Recorder struct {
	*Store
	cfg   Config
	codec *codec
	folds []*fold // by shard
	queue *queue
	shown atomic.Pointer[snapshot] // for Prometheus; nil: nothing is durable yet

	// Of Run's goroutine.
	totals map[entity]*total
	calls  Histogram     // until the last sample
	last   [Levels]int64 // the newest frame of this node
}

// A total is the counters of an entity since the first record.
type total struct {
	columns []aggregate // only sum and count
	seen    time.Time   // when the resource existed last
}

// New makes a Recorder, which records nothing before Run.
func New(c Config) *Recorder {
	codec := newCodec()
	r := &Recorder{Store: newStore(&c, codec), cfg: c, codec: codec, queue: newQueue(), totals: map[entity]*total{}}
	for range c.Shards {
		r.folds = append(r.folds, newFold())
	}
	return r
}

// Observe counts what has become durable in a shard. It is called on the shard's commit goroutine.
func (r *Recorder) Observe(c *router.Commit) {
	var view *region.Machine
	if c.Recovered {
		view = c.View
	}
	if view == nil && len(c.Facts) == 0 {
		return
	}
	r.folds[c.Shard].observe(c.Facts, c.Rooms, view, r.cfg.Owned(c.Shard))
}

// Run reads the newest frames back, and then records until ctx is done. It then has 2 s to store what waits.
func (r *Recorder) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.store(ctx) })
	group.Go(func() error {
		after := r.restore(ctx)
		close(r.restored)
		if r.cfg.Shared {
			for l, seq := range after {
				group.Go(func() error { return r.follow(ctx, l, seq) })
			}
		}
		return r.record(ctx)
	})
	return group.Wait()
}

// record makes a frame at each multiple of 10 s. It looks at the time each second: a timer that lasts until the next
// frame would be wrong after the clock was set.
func (r *Recorder) record(ctx context.Context) error {
	step := steps[samples].step
	last := r.cfg.Clock.Now().Truncate(step) // before there is a ticker: a test may advance its clock from then on
	ticker := r.cfg.Clock.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.Chan():
			if begin := r.cfg.Clock.Now().Truncate(step); !begin.Equal(last) {
				last = begin
				r.tick(ctx, begin)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// tick makes the frame that ends now, and the roll-ups that end with it.
func (r *Recorder) tick(ctx context.Context, now time.Time) {
	begin := now.UTC().Add(-steps[samples].step)
	values := r.sample(ctx, now.UTC())
	if ctx.Err() != nil {
		return
	}
	shown := r.count(values, now)
	f := frame{node: r.cfg.Node, at: begin, entities: encode(values, 1), totals: r.encodedTotals()}
	r.add(samples, &f)
	r.last[samples] = samples.frameAt(begin)
	r.queue.add(samples, f, shown, r.cfg.Dropped)
	for l := minutes; l < Levels; l++ {
		r.rollUp(l, now)
	}
	if now.Unix()%60 == 0 {
		r.trim(now)
	}
}

// count adds the values of a frame to the totals, and returns what Prometheus is to show once they are durable.
func (r *Recorder) count(values map[entity][]aggregate, now time.Time) *snapshot {
	for e, columns := range values {
		if labels[e.set] == nil {
			continue
		}
		t := r.totals[e]
		if t == nil {
			t = &total{columns: make([]aggregate, len(columns))}
			r.totals[e] = t
		}
		t.seen = now
		for i, a := range columns {
			switch e.family().columns[i].kind {
			case counter, bucket, duration:
				t.columns[i].sum += a.sum
				t.columns[i].count += a.count
			}
		}
	}
	shown := &snapshot{}
	for e, t := range r.totals {
		switch {
		case now.Sub(t.seen) > recently:
			delete(r.totals, e)
		default:
			shown.entities = append(shown.entities, shownEntity{e, values[e], slices.Clone(t.columns)})
		}
	}
	return shown
}

func (r *Recorder) encodedTotals() []encoded {
	all := make(map[entity][]aggregate, len(r.totals))
	for e, t := range r.totals {
		columns := make([]aggregate, len(t.columns))
		for i, a := range t.columns {
			switch e.family().columns[i].kind {
			case counter, bucket:
				columns[i] = sample(a.sum)
			case duration:
				columns[i] = aggregate{sum: a.sum, count: a.count}
			}
		}
		all[e] = columns
	}
	return encode(all, 1)
}

// A queue has the frames that are not durable yet, oldest first.
type queue struct {
	wake chan struct{} // capacity 1

	mu     sync.Mutex
	frames []queued
	gone   uint64 // how many frames were stored or dropped
}

// A queued frame is to be stored.
type queued struct {
	level level
	frame
	shown *snapshot // nil: of a roll-up
}

// maxQueued is how many frames wait: those of 40 minutes.
const maxQueued = 300

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// add adds a frame. A full queue drops the oldest one.
func (q *queue) add(l level, f frame, shown *snapshot, dropped func(int)) {
	q.mu.Lock()
	full := len(q.frames) == maxQueued
	if full {
		q.frames = append(q.frames[:0], q.frames[1:]...)
		q.gone++
	}
	q.frames = append(q.frames, queued{l, f, shown})
	q.mu.Unlock()
	if full {
		dropped(1)
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// oldest returns the oldest frame and its number. It stays until it is removed.
func (q *queue) oldest() (f queued, number uint64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.frames) == 0 {
		return f, 0, false
	}
	return q.frames[0], q.gone, true
}

// remove removes a frame that is stored, unless it was dropped meanwhile.
func (q *queue) remove(number uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.gone == number {
		q.frames = append(q.frames[:0], q.frames[1:]...)
		q.gone++
	}
}
