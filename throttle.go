package muster

import (
	"sync"

	"github.com/jonboulle/clockwork"
	"golang.org/x/time/rate"
)

// throttle limits the calls of each access key.
type throttle struct {
	perSecond int // 0: no limit
	clock     clockwork.Clock
	mu        sync.Mutex
	keys      map[string]*rate.Limiter // one per access key, of which there are few
}

func newThrottle(perSecond int, clock clockwork.Clock) *throttle {
	return &throttle{perSecond: perSecond, clock: clock, keys: map[string]*rate.Limiter{}}
}

// allow reports whether a principal may call now.
func (t *throttle) allow(_, principal string) bool {
	if t.perSecond == 0 {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	limiter, ok := t.keys[principal]
	if !ok {
		limiter = rate.NewLimiter(rate.Limit(t.perSecond), t.perSecond)
		t.keys[principal] = limiter
	}
	return limiter.AllowN(t.clock.Now(), 1)
}
