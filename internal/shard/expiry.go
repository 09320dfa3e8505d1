package shard

import (
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/event"
)

// expire lets the machine do a bounded part of what is due. It reports whether
// there was anything.
func (t *machineRun[C, M]) expire(now time.Time) (worked bool, err error) {
	if t.stopping {
		return false, nil // what is due stays due, for the next owner
	}
	defer Catch("machine", &err)
	worked, err = t.handlePause(t.expiry.pause(now), now)
	if err != nil {
		return true, err
	}
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

// makeUpFor lets the machine note a pause; zero is none.
func (t *machineRun[C, M]) handlePause(pause time.Duration, now time.Time) (worked bool, err error) {
	if pause == 0 {
		return false, nil
	}
	t.cfg.Log.Warn("shard was paused or its clock was set: deadlines for game servers are moved", "by", pause)
	for _, f := range t.machine.Paused(now, pause) {
		if err := t.add([]event.Fact{f}); err != nil {
			return true, fmt.Errorf("pause: %w", err)
		}
	}
	return true, nil
}

// expiry is the one timer of a shard, set for the machine's deadline, and for the next
// look at the clock.
type expiry struct {
	clock   clockwork.Clock
	timer   clockwork.Timer // nil before the first deadline
	armed   time.Time       // what the timer is set for; zero: it is not
	stalled time.Time       // before it, nothing is due
	checked time.Time       // when the deadline was last compared with the clock; zero: there was none
}

const (
	// lookEvery is how often a shard that has a deadline looks at the clock, at least.
	checkEvery = 2 * time.Second

	// longestLook is how far the clock may go between two looks of a shard that runs. It is
	// less than what deadlines allow for a slow machine: a heartbeat may be 10 s late.
	maxCheckGap = 5 * time.Second
)

// pause reports how far the clock has gone since the last look, when that is too far for a
// shard that runs, and negative when it was set back; else zero. It goes by the time of day,
// as deadlines do: that counts also while a machine is suspended.
func (e *expiry) pause(now time.Time) time.Duration {
	now = now.Round(0) // without the monotonic reading
	last := e.checked
	e.checked = now
	if by := now.Sub(last); !last.IsZero() && (by > maxCheckGap || by < -maxCheckGap) {
		return by
	}
	return 0
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

// set arms the timer for the deadline, or for the next look when that comes first.
func (e *expiry) set(deadline, now time.Time) {
	if deadline.IsZero() {
		e.armed, e.checked = deadline, deadline
		e.stop()
		return
	}
	if e.stalls(now) && deadline.Before(e.stalled) {
		deadline = e.stalled
	}
	if next := now.Add(checkEvery); next.Before(deadline) {
		deadline = next
	}
	if !e.armed.IsZero() && !deadline.Before(e.armed) {
		return // it looks in time, and then sets the timer again
	}
	e.armed = deadline
	if e.timer == nil {
		e.timer = e.clock.NewTimer(deadline.Sub(now))
		return
	}
	e.timer.Reset(deadline.Sub(now))
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
