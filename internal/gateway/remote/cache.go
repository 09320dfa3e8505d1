package remote

import (
	"context"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// maxCached is how many keys a cache holds. Keys come from settings, so that this
// is a guard rather than a limit.
const maxCached = 256

// A cache keeps answers of the service for a short while. Who asks for the same
// key at the same time shares one call.
type cache[V any] struct {
	ttl   time.Duration
	clock clockwork.Clock

	mu    sync.Mutex
	slots map[string]*slot[V]
}

// A slot is one key's; who holds the token of turn may read and fill it.
type slot[V any] struct {
	turn  chan struct{}
	value V
	until time.Time
}

func newCache[V any](ttl time.Duration, clock clockwork.Clock) *cache[V] {
	return &cache[V]{ttl: ttl, clock: clock, slots: make(map[string]*slot[V])}
}

// get returns the value that is kept, or makes it. Errors are not kept.
func (c *cache[V]) get(ctx context.Context, key string, fill func(context.Context) (V, error)) (value V, err error) {
	s := c.slot(key)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
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
		s = &slot[V]{turn: make(chan struct{}, 1)}
		c.slots[key] = s
	}
	return s
}
