package testkit

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
)

// A Clock is the system's clock, and can be moved forward. Timers that are due then fire at once.
type Clock struct {
	ahead  atomic.Int64 // of the system's, as a time.Duration
	mu     sync.Mutex
	timers map[*timer]struct{} // those that run
}

// NewClock returns a clock with the system's time.
func NewClock() *Clock { return &Clock{timers: map[*timer]struct{}{}} }

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead.Add(int64(d))
	now := c.Now()
	for t := range c.timers {
		t.real.Reset(max(0, t.due.Sub(now)))
	}
}

// Ahead returns how far the clock was moved forward altogether.
func (c *Clock) Ahead() time.Duration { return time.Duration(c.ahead.Load()) }

// Now implements clockwork.Clock, as the methods that follow do.
func (c *Clock) Now() time.Time { return time.Now().Add(c.Ahead()) }

// Since returns the time that has passed since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until returns the time until t.
func (c *Clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// Sleep waits.
func (c *Clock) Sleep(d time.Duration) { <-c.After(d) }

// After returns the channel of a new timer.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).Chan() }

// NewTimer is time.NewTimer.
func (c *Clock) NewTimer(d time.Duration) clockwork.Timer { return c.start(&timer{}, d) }

// AfterFunc is time.AfterFunc.
func (c *Clock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	return c.start(&timer{call: f}, d)
}

// NewTicker is time.NewTicker. Ticks that a receiver has missed are left out.
func (c *Clock) NewTicker(d time.Duration) clockwork.Ticker {
	if d <= 0 {
		panic("testkit: the interval of a ticker must be positive")
	}
	return ticker{c.start(&timer{every: d}, d)}
}

func (c *Clock) start(t *timer, d time.Duration) *timer {
	t.clock, t.out = c, make(chan time.Time, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	t.arm(d)
	return t
}

// A timer is a clockwork.Timer. Its fields are guarded by the clock.
type timer struct {
	clock *Clock
	out   chan time.Time
	call  func()        // instead of out
	every time.Duration // interval of a ticker
	due   time.Time
	real  *time.Timer
}

// arm starts the timer. The clock's mutex is held.
func (t *timer) arm(d time.Duration) {
	t.due = t.clock.Now().Add(d)
	t.clock.timers[t] = struct{}{}
	if t.real == nil {
		t.real = time.AfterFunc(d, t.fire)
		return
	}
	t.real.Reset(d)
}

// disarm stops the timer, so that nothing is left in its channel, and reports whether it ran. The mutex is held.
func (t *timer) disarm() (ran bool) {
	_, ran = t.clock.timers[t]
	delete(t.clock.timers, t)
	t.real.Stop()
	select {
	case <-t.out:
	default:
	}
	return ran
}

// fire runs in a goroutine of its own when the real timer has fired.
func (t *timer) fire() {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	if _, runs := c.timers[t]; !runs || t.due.After(now) {
		return // it was stopped or reset meanwhile
	}
	delete(c.timers, t)
	if t.every > 0 {
		t.arm(t.every - now.Sub(t.due)%t.every)
	}
	if t.call != nil {
		go t.call()
		return
	}
	select {
	case t.out <- now:
	default:
	}
}

// Chan returns the channel on which the timer sends the time.
func (t *timer) Chan() <-chan time.Time { return t.out }

// Stop is that of a time.Timer.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.disarm()
}

// Reset is that of a time.Timer.
func (t *timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	ran := t.disarm()
	t.arm(d)
	return ran
}

// A ticker is a clockwork.Ticker.
type ticker struct{ *timer }

func (t ticker) Stop() { t.timer.Stop() }

func (t ticker) Reset(d time.Duration) {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.disarm()
	t.every = d
	t.arm(d)
}
