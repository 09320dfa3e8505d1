package server

import (
	"sync"

	"github.com/jonboulle/clockwork"
	"golang.org/x/time/rate"
)

// A throttle limits the calls of each access key.
type throttle struct {
	perSecond int // 0: no limit
	clock     clockwork.Clock
	keys      sync.Map // access key → *rate.Limiter, of which there are few
}

func newThrottle(perSecond int, clock clockwork.Clock) *throttle {
	return &throttle{perSecond: perSecond, clock: clock}
}

func (t *throttle) allow(_, principal string) bool {
	if t.perSecond == 0 {
		return true
	}
	limiter, ok := t.keys.Load(principal)
	if !ok {
		limiter, _ = t.keys.LoadOrStore(principal, rate.NewLimiter(rate.Limit(t.perSecond), t.perSecond))
	}
	return limiter.(*rate.Limiter).AllowN(t.clock.Now(), 1)
}
