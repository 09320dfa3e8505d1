package lan

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// askerSlots is the number of token buckets for addresses. Addresses with the same hash share a bucket, so that any
// number of forged addresses uses the same memory.
const askerSlots = 1024

// A limiter decides which queries of an announced session are answered.
type limiter struct {
	perAsker int
	seed     maphash.Seed
	all      *rate.Limiter

	mu     sync.Mutex
	askers [askerSlots]*rate.Limiter // nil until the first search
}

func newLimiter(l Limits) *limiter {
	return &limiter{perAsker: l.RepliesPerAsker, seed: maphash.MakeSeed(), all: bucket(l.Replies)}
}

// bucket returns a limiter for perSecond tokens a second, with a burst of twice as many.
func bucket(perSecond int) *rate.Limiter { return rate.NewLimiter(rate.Limit(perSecond), 2*perSecond) }

// allow consumes a token of the asker and a shared one. The asker's is first, so that one asker cannot use up the
// shared tokens.
func (l *limiter) allow(asker netip.Addr, now time.Time) bool {
	return l.of(asker).AllowN(now, 1) && l.all.AllowN(now, 1)
}

func (l *limiter) of(asker netip.Addr) *rate.Limiter {
	slot := maphash.Comparable(l.seed, asker) % askerSlots
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.askers[slot] == nil {
		l.askers[slot] = bucket(l.perAsker)
	}
	return l.askers[slot]
}
