package remote

import (
	"context"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// maxCached limits the keys of a cache. Keys come from settings, so it is rarely reached.
const maxCached = 256

// A cache keeps answers of the service for a short time. Concurrent callers with the same key share one call.
type cache[V any] struct {
	ttl   time.Duration
	clock clockwork.Clock

	mu    sync.Mutex
	slots map[string]*slot[V]
}

// A slot holds the value of one key; the holder of the lock may read and set it.
type slot[V any] struct {
	lock  chan struct{}
	value V
	until time.Time
}

func newCache[V any](ttl time.Duration, clock clockwork.Clock) *cache[V] {
	return &cache[V]{ttl: ttl, clock: clock, slots: make(map[string]*slot[V])}
}

// get returns the cached value, or calls fill. Errors are not cached.
func (c *cache[V]) get(ctx context.Context, key string, fill func(context.Context) (V, error)) (value V, err error) {
	s := c.slot(key)
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
	case <-ctx.Done():
		return value, context.Cause(ctx)
	}
	if c.clock.Now().Before(s.until) {
		return s.value, nil
	}
	if value, err = fill(ctx); err == nil {
		s.value, s.until = value, c.clock.Now().Add(c.ttl)
	}
	return value, err
}

func (c *cache[V]) slot(key string) *slot[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.slots[key]
	if s == nil {
		if len(c.slots) >= maxCached {
			clear(c.slots)
		}
		s = &slot[V]{lock: make(chan struct{}, 1)}
		c.slots[key] = s
	}
	return s
}
