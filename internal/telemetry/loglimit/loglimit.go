// Package loglimit limits the log lines that unauthenticated clients can cause: without a limit, whoever reaches a port
// can fill the disk.
package loglimit

import (
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// interval is the least time between two lines of one kind.
const interval = time.Second

// maxValue is how many bytes of a client's text Clip keeps.
const maxValue = 128

// A Limiter allows one line of each kind in a time, mostly a second. It may be used by several goroutines. Kinds are
// constants: it remembers each.
type Limiter struct {
	clock clockwork.Clock

	mu    sync.Mutex
	kinds map[string]*kind
}

type kind struct {
	last       time.Time
	suppressed int // since then
}

// New makes a limiter. A nil clock is the system's.
func New(clock clockwork.Clock) *Limiter {
	if clock == nil {
		clock = clockwork.NewRealClock()
	}
	return &Limiter{clock: clock, kinds: make(map[string]*kind)}
}

// Allow reports whether a line of a kind may be written now, and how many of that kind were suppressed since the last
// one that was allowed.
func (l *Limiter) Allow(name string) (suppressed int, ok bool) { return l.AllowEvery(name, interval) }

// AllowEvery is Allow for one line in another time than a second.
func (l *Limiter) AllowEvery(name string, interval time.Duration) (suppressed int, ok bool) {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[name]
	switch {
	case k == nil:
		l.kinds[name] = &kind{last: now}
		return 0, true
	case now.Sub(k.last) < interval:
		k.suppressed++
		return 0, false
	}
	suppressed = k.suppressed
	k.last, k.suppressed = now, 0
	return suppressed, true
}

// Clip shortens a client's text for a line.
func Clip(s string) string {
	if len(s) <= maxValue {
		return s
	}
	return s[:maxValue] + "…"
}
