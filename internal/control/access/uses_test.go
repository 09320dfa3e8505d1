package access

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

// A watchedBucket tells when a value was written, or not.
type watchedBucket struct {
	journal.Bucket
	written chan error
	fail    error // of all writes
}

func (b *watchedBucket) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return b.tell(func() (uint64, error) { return b.Bucket.Create(ctx, key, value) })
}

func (b *watchedBucket) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return b.tell(func() (uint64, error) { return b.Bucket.Update(ctx, key, value, revision) })
}

func (b *watchedBucket) tell(write func() (uint64, error)) (revision uint64, err error) {
	if err = b.fail; err == nil {
		revision, err = write()
	}
	b.written <- err
	return revision, err
}

// running runs a node, and returns its bucket.
func (w *world) running(node *Access) *watchedBucket {
	b := &watchedBucket{Bucket: node.cfg.Used, written: make(chan error, 10)}
	node.cfg.Used = b
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- node.Run(ctx) }()
	w.t.Cleanup(func() {
		stop()
		w.ok(<-done)
	})
	return b
}

func TestLastUse(t *testing.T) {
	defer leaktest.Check(t)()
	t.Run("stored", func(t *testing.T) {
		w := newWorld(t)
		k, _ := w.userKey("ada", allowList) // and its first use
		here, there := w.running(w.Access), w.running(w.other)
		used := func(node *Access) time.Time {
			t.Helper()
			view, err := node.Key(t.Context(), k.ID)
			w.ok(err)
			if view.LastUsed == nil || view.LastRegion != "us-west-2" || view.LastService != "gamelift" {
				t.Fatalf("%+v", view)
			}
			return *view.LastUsed
		}
		w.ok(<-here.written)
		noon := w.clock.Now()
		if got := used(w.other); !got.Equal(noon) {
			t.Errorf("the other node knows of %v", got)
		}
		w.clock.Advance(59 * time.Minute)
		if key(w.Access, k) == nil || len(here.written) != 0 || len(w.Access.uses.fresh) != 0 {
			t.Error("a use of the same hour is stored")
		}
		w.clock.Advance(10 * time.Minute)
		if key(w.other, k) == nil {
			t.Fatal("the key does not work")
		}
		w.ok(<-there.written)
		if got := used(w.Access); !got.Equal(noon.Add(time.Hour)) {
			t.Errorf("this node knows of %v", got)
		}
		w.ok(w.Access.storeUse(t.Context(), k.ID, use{noon})) // later than a later one
		if got := used(w.Access); !got.Equal(noon.Add(time.Hour)) || len(here.written) != 0 {
			t.Errorf("an earlier use is stored over it: %v", got)
		}
		here.fail = errors.New("no quorum")
		w.clock.Advance(time.Hour)
		key(w.Access, k)
		if err := <-here.written; err == nil {
			t.Error("the write did not fail")
		}
		if got := used(w.Access); !got.Equal(noon.Add(2 * time.Hour)) { // from memory
			t.Errorf("this node knows of %v", got)
		}
	})
	t.Run("in memory", func(t *testing.T) {
		w := newWorld(t)
		w.Access.cfg.Used = nil
		k, _ := w.userKey("ada", allowList)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		w.ok(w.Run(ctx))
		if view, err := w.Key(t.Context(), k.ID); err != nil || view.LastUsed == nil {
			t.Errorf("%+v, %v", view, err)
		}
	})
}
