package guard

import (
	"container/list"
	"hash/maphash"
	"math"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/time/rate"
)

// maxTracked limits the keys of a Limiter. The least recently used one is removed, and starts with a full bucket again.
const maxTracked = 100_000

// A Rate is a limit of requests. The zero Rate is no limit.
type Rate struct {
	PerSecond float64
	Burst     int // at once; 0 is that of two seconds, at least one
}

func (r Rate) burst() int {
	if r.Burst > 0 {
		return r.Burst
	}
	return max(1, int(math.Ceil(2*r.PerSecond)))
}

// A Limiter limits the rate of each key, for example of each player. It is safe for concurrent use; a nil Limiter
// allows everything.
type Limiter struct {
	rate  Rate
	full  time.Duration // until an unused bucket is full, like a new one
	limit int           // of keys
	clock clockwork.Clock
	seed  maphash.Seed

	mu      sync.Mutex
	buckets map[uint64]*list.Element // by hash, because keys can be long
	recent  *list.List               // of *bucket, the latest first
}

type bucket struct {
	key  uint64
	seen time.Time
	left *rate.Limiter
}

// NewLimiter returns a limiter; nil for the zero rate. A nil clock is the system's.
func NewLimiter(r Rate, clock clockwork.Clock) *Limiter {
	if r.PerSecond <= 0 {
		return nil
	}
	if clock == nil {
		clock = clockwork.NewRealClock()
	}
	return &Limiter{
		rate: r, full: time.Duration(float64(r.burst()) / r.PerSecond * float64(time.Second)), limit: maxTracked,
		clock: clock, seed: maphash.MakeSeed(), buckets: make(map[uint64]*list.Element), recent: list.New(),
	}
}

// Allow reports whether a request of key is within its rate, and counts it if so.
func (l *Limiter) Allow(key string) bool {
	_, ok := l.Take(key)
	return ok
}

// Take is Allow; it also returns the time to wait if the request is not within the rate.
func (l *Limiter) Take(key string) (wait time.Duration, ok bool) {
	if l == nil {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.forget(now)
	reservation := l.bucket(maphash.String(l.seed, key), now).left.ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
		return wait, false
	}
	return 0, true
}

// bucket returns the bucket of a key and marks it as the most recently used.
func (l *Limiter) bucket(key uint64, now time.Time) *bucket {
	if e, ok := l.buckets[key]; ok {
		b := e.Value.(*bucket)
		b.seen = now
		l.recent.MoveToFront(e)
		return b
	}
	if l.recent.Len() >= l.limit {
		l.drop(l.recent.Back())
	}
	b := &bucket{key: key, seen: now, left: rate.NewLimiter(rate.Limit(l.rate.PerSecond), l.rate.burst())}
	l.buckets[key] = l.recent.PushFront(b)
	return b
}

// forget removes full buckets, a few at a time, so that calls stay fast.
func (l *Limiter) forget(now time.Time) {
	for range 4 {
		oldest := l.recent.Back()
		if oldest == nil || now.Sub(oldest.Value.(*bucket).seen) < l.full {
			return
		}
		l.drop(oldest)
	}
}

func (l *Limiter) drop(e *list.Element) {
	delete(l.buckets, e.Value.(*bucket).key)
	l.recent.Remove(e)
}

// limitAddress limits the rate of each address. Requests without one share a bucket.
func (g *Guard) limitAddress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wait, ok := g.address.Take(networkOf(Address(r.Context()))); !ok {
			g.refuseFor(w, r, "address_rate", limited, wait)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// networkOf returns what counts as one address: of IPv6 a /64 network, the smallest one that providers assign to a
// customer.
func networkOf(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// limitPlayer limits the rate of each known player.
func (g *Guard) limitPlayer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if player := g.cfg.Player(r); player != "" {
			if wait, ok := g.player.Take(player); !ok {
				g.refuseFor(w, r, "player_rate", limited, wait)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// limitBody rejects a body whose Content-Length is too large. Reading a longer one fails with a *http.MaxBytesError.
func (g *Guard) limitBody(next http.Handler) http.Handler {
	limit := g.cfg.MaxBody
	if limit < 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > limit {
			g.refuse(w, r, "body_too_large", tooLarge)
			return
		}
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, limit)
		}
		next.ServeHTTP(w, r)
	})
}
