package memory

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/journal"
)

// A Feed is a journal.Audit in memory. It keeps everything.
type Feed struct {
	Failures
	clock clockwork.Clock

	mu        sync.Mutex
	records   []feedRecord
	ids       map[string]uint64
	positions map[string]uint64
	changed   chan struct{} // closed with the next record
}

type feedRecord struct {
	seq  uint64
	at   time.Time
	data []byte
}

// NewFeed makes an empty feed.
func NewFeed() *Feed { return NewFeedAt(clockwork.NewRealClock()) }

// NewFeedAt makes an empty feed with a clock.
func NewFeedAt(clock clockwork.Clock) *Feed {
	return &Feed{clock: clock, ids: map[string]uint64{}, positions: map[string]uint64{}, changed: make(chan struct{})}
}

// Append stores a record, unless a fault was asked for.
func (f *Feed) Append(ctx context.Context, id string, data []byte) (uint64, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	return f.Failures.append(func() (uint64, error) { return f.append(id, data) })
}

func (f *Feed) append(id string, data []byte) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if seq, ok := f.ids[id]; ok {
		return seq, nil
	}
	seq := f.last() + 1
	f.ids[id] = seq
	f.records = append(f.records, feedRecord{seq, f.clock.Now(), slices.Clone(data)})
	close(f.changed)
	f.changed = make(chan struct{})
	return seq, nil
}

func (f *Feed) last() uint64 {
	if len(f.records) == 0 {
		return 0
	}
	return f.records[len(f.records)-1].seq
}

// Read calls visit with what is there.
func (f *Feed) Read(ctx context.Context, after uint64, visit func(uint64, []byte) bool) error {
	records, _ := f.behind(after)
	_, err := show(ctx, records, visit)
	return err
}

// behind are the records after a number, and what is closed when there are more.
func (f *Feed) behind(after uint64) ([]feedRecord, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, _ := slices.BinarySearchFunc(f.records, after+1,
		func(r feedRecord, seq uint64) int { return cmp.Compare(r.seq, seq) })
	return f.records[i:], f.changed
}

// show reports whether visit wants more.
func show(ctx context.Context, records []feedRecord, visit func(uint64, []byte) bool) (more bool, err error) {
	for _, r := range records {
		if err := context.Cause(ctx); err != nil {
			return false, err
		}
		if !visit(r.seq, slices.Clone(r.data)) {
			return false, nil
		}
	}
	return true, nil
}

// Follow calls visit with what is there and what comes.
func (f *Feed) Follow(ctx context.Context, after uint64, visit func(uint64, []byte) bool) error {
	for {
		records, changed := f.behind(after)
		if more, err := show(ctx, records, visit); !more {
			return err
		}
		if len(records) > 0 {
			after = records[len(records)-1].seq
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Last is the number of the newest record.
func (f *Feed) Last(ctx context.Context) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last(), context.Cause(ctx)
}

// After searches the first record at or after a time.
func (f *Feed) After(ctx context.Context, t time.Time) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, _ := slices.BinarySearchFunc(f.records, t, func(r feedRecord, t time.Time) int { return r.at.Compare(t) })
	return uint64(i), context.Cause(ctx) // numbers have no gaps
}

// SavePosition stores the position of a reader.
func (f *Feed) SavePosition(ctx context.Context, reader string, seq uint64) error {
	if err := cmp.Or(journal.CheckSubject(reader), context.Cause(ctx)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.positions[reader] = seq
	return nil
}

// Position is what was kept.
func (f *Feed) Position(ctx context.Context, reader string) (seq uint64, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seq, ok = f.positions[reader]
	return seq, ok, cmp.Or(journal.CheckSubject(reader), context.Cause(ctx))
}
