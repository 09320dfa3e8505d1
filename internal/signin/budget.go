package signin

import (
	"net/netip"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/time/rate"
)

// The budget of an address. A process of AWS's command line sends two or three requests at once, and scripts start many
// processes.
const (
	budgetRate  = 10 // requests per second
	budgetBurst = 50
)

// maxKeys limits the addresses and sessions that a node remembers.
const maxKeys = 20_000

// A budget limits the requests of each address.
type budget struct{ left *recent[*rate.Limiter] }

func newBudget(clock clockwork.Clock) *budget {
	// An unused limiter is full, like a new one, after that time.
	const full = budgetBurst * time.Second / budgetRate
	return &budget{newRecent[*rate.Limiter](clock, full, maxKeys)}
}

// take counts a request, or returns how long the address must wait.
func (b *budget) take(from netip.Addr) (wait time.Duration, ok bool) {
	b.left.use(network(from), func(l **rate.Limiter, now time.Time, known bool) {
		if !known {
			*l = rate.NewLimiter(budgetRate, budgetBurst)
		}
		reservation := (*l).ReserveN(now, 1)
		if wait = reservation.DelayFrom(now); wait > 0 {
			reservation.CancelAt(now)
		}
	})
	return wait, wait == 0
}

// Admit reports whether an address may make a request now that nothing authenticates. Such requests of all endpoints
// have one budget.
func (h *Handler) Admit(from netip.Addr) bool {
	_, ok := h.budget.take(from)
	return ok
}

// A tally counts something for each key within a window, which begins with the first one.
type tally struct {
	counts *recent[count]
	window time.Duration
}

type count struct {
	n     int
	since time.Time
}

func newTally(clock clockwork.Clock, window time.Duration) *tally {
	return &tally{newRecent[count](clock, window, maxKeys), window}
}

// add counts one, unless the key has its limit; then it returns how long the key must wait.
func (t *tally) add(key string, limit int) (wait time.Duration, ok bool) {
	t.counts.use(key, func(c *count, now time.Time, _ bool) {
		if now.Sub(c.since) >= t.window {
			*c = count{since: now}
		}
		if c.n >= limit {
			wait = c.since.Add(t.window).Sub(now)
			return
		}
		c.n, ok = c.n+1, true
	})
	return wait, ok
}

// remove takes one back.
func (t *tally) remove(key string) {
	t.counts.use(key, func(c *count, _ time.Time, _ bool) { c.n = max(0, c.n-1) })
}
