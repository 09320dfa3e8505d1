package shard

import (
	"time"

	"github.com/jonboulle/clockwork"
)

// expire lets the machine do a bounded part of what is due. It reports whether
// there was anything.
func (t *term[C, M]) expire(now time.Time) (worked bool, err error) {
	if t.stopping {
		return false, nil // what is due stays due, for the next owner
	}
	defer Catch("machine", &err)
	before := t.machine.Deadline()
	if t.expiry.isDue(before, now) {
		facts := t.machine.Expire(now)
		if err := t.add(facts); err != nil {
			return true, err
		}
		worked = true
		if len(facts) == 0 && t.machine.Deadline().Equal(before) {
			t.cfg.Log.Error("the machine's deadline has passed and nothing is due", "deadline", before)
			t.expiry.stall(now)
		}
	}
	t.expiry.set(t.machine.Deadline(), now)
	return worked, nil
}

// expiry is the one timer of a shard, set for the machine's deadline.
type expiry struct {
	clock   clockwork.Clock
	timer   clockwork.Timer // nil before the first deadline
	armed   time.Time       // what the timer is set for; zero: it is not
	stalled time.Time       // before it, nothing is due
}

// stallPause is how long a machine is left alone that did nothing about a
// deadline that has passed. It is a mistake in the machine, and must not turn
// the loop into an endless one.
const stallPause = time.Second

func (e *expiry) isDue(deadline, now time.Time) bool {
	return !deadline.IsZero() && !deadline.After(now) && !e.stalls(now)
}

func (e *expiry) stall(now time.Time) { e.stalled = now.Add(stallPause) }

// stalls reports whether the pause is still on. When the clock was set back since, it
// is not.
func (e *expiry) stalls(now time.Time) bool {
	left := e.stalled.Sub(now)
	return left > 0 && left <= stallPause
}

// set arms the timer for the deadline.
func (e *expiry) set(deadline, now time.Time) {
	if !deadline.IsZero() && e.stalls(now) && deadline.Before(e.stalled) {
		deadline = e.stalled
	}
	if deadline.Equal(e.armed) {
		return
	}
	e.armed = deadline
	switch {
	case deadline.IsZero():
		e.stop()
	case e.timer == nil:
		e.timer = e.clock.NewTimer(deadline.Sub(now))
	default:
		e.timer.Reset(deadline.Sub(now))
	}
}

// due is where the timer reports; nil when there is none yet.
func (e *expiry) due() <-chan time.Time {
	if e.timer == nil {
		return nil
	}
	return e.timer.Chan()
}

// fired notes that the timer has reported.
func (e *expiry) fired() { e.armed = time.Time{} }

func (e *expiry) stop() {
	if e.timer != nil {
		e.timer.Stop()
	}
}
