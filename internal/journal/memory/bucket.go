package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/journal"
)

// overhead is what a value of a bucket counts besides its bytes and those of its key.
const overhead = 150

// A Bucket is a journal.Bucket in memory.
type Bucket struct {
	clock clockwork.Clock

	mu     sync.Mutex
	last   uint64 // revision
	bytes  int
	values map[string]bucketValue
}

type bucketValue struct {
	data     []byte
	revision uint64
	written  time.Time
}

// NewBucket makes an empty bucket.
func NewBucket(clock clockwork.Clock) *Bucket {
	return &Bucket{clock: clock, values: map[string]bucketValue{}}
}

// Create stores a value.
func (b *Bucket) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := check(ctx, key, value); err != nil {
		return 0, err
	}
	if _, ok := b.get(key); ok {
		return 0, journal.ErrExists
	}
	if b.bytes+len(value) > journal.BucketBytes {
		b.expire()
	}
	if b.bytes+len(value) > journal.BucketBytes {
		return 0, journal.ErrFull
	}
	return b.put(key, value), nil
}

func check(ctx context.Context, key string, value []byte) error {
	if len(value) > journal.MaxValue {
		return fmt.Errorf("%w: %d bytes of at most %d", journal.ErrTooLarge, len(value), journal.MaxValue)
	}
	return cmp.Or(journal.CheckSubject(key), context.Cause(ctx))
}

// get returns a value that is not too old.
func (b *Bucket) get(key string) (v bucketValue, ok bool) {
	v, ok = b.values[key]
	if ok && b.expired(v) {
		b.drop(key)
		return bucketValue{}, false
	}
	return v, ok
}

func (b *Bucket) expired(v bucketValue) bool { return b.clock.Since(v.written) > journal.BucketAge }

// expire deletes all values that are too old.
func (b *Bucket) expire() {
	for key, v := range b.values {
		if b.expired(v) {
			b.drop(key)
		}
	}
}

func (b *Bucket) put(key string, value []byte) uint64 {
	b.drop(key)
	b.last++
	b.bytes += len(key) + len(value) + overhead
	b.values[key] = bucketValue{slices.Clone(value), b.last, b.clock.Now()}
	return b.last
}

func (b *Bucket) drop(key string) {
	if v, ok := b.values[key]; ok {
		b.bytes -= len(key) + len(v.data) + overhead
		delete(b.values, key)
	}
}

// Get returns a value.
func (b *Bucket) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := check(ctx, key, nil); err != nil {
		return nil, 0, err
	}
	v, ok := b.get(key)
	if !ok {
		return nil, 0, journal.ErrNoValue
	}
	return slices.Clone(v.data), v.revision, nil
}

// Update replaces a value.
func (b *Bucket) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := check(ctx, key, value); err != nil {
		return 0, err
	}
	if v, ok := b.get(key); !ok || v.revision != revision {
		return 0, journal.ErrChanged
	}
	return b.put(key, value), nil
}

// Delete deletes a value.
func (b *Bucket) Delete(ctx context.Context, key string, revision uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := check(ctx, key, nil); err != nil {
		return err
	}
	if v, ok := b.get(key); !ok || v.revision != revision {
		return journal.ErrChanged
	}
	b.drop(key)
	return nil
}
