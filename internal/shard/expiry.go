package shard

import (
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/event"
)

// expire lets the machine handle a bounded number of expired deadlines. It reports whether there were any.
func (t *machineRun[C, M]) expire(now time.Time) (worked bool, err error) {
	if t.stopping {
		return false, nil // the next owner handles them
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
			t.cfg.Log.Error("machine did not handle its deadline", "deadline", before)
			t.expiry.stall(now)
		}
	}
	t.expiry.set(t.machine.Deadline(), now)
	return worked, nil
}

// handlePause lets the machine record a pause; zero is none.
func (t *machineRun[C, M]) handlePause(pause time.Duration, now time.Time) (worked bool, err error) {
	if pause == 0 {
		return false, nil
	}
	t.cfg.Log.Warn("shard was paused or its clock was set; deadlines of game servers extended", "by", pause)
	for _, f := range t.machine.Paused(now, pause) {
		if err := t.add([]event.Fact{f}); err != nil {
			return true, fmt.Errorf("pause: %w", err)
		}
	}
	return true, nil
}

// expiry is the one timer of a shard, set for the machine's deadline or the next check of the clock.
type expiry struct {
	clock   clockwork.Clock
	timer   clockwork.Timer // nil before the first deadline
	armed   time.Time       // the time that the timer is set for; zero: none
	stalled time.Time       // nothing is due before
	checked time.Time       // when the deadline was last compared with the clock; zero: never
}

const (
	// checkEvery is the maximum interval of clock checks while there is a deadline.
	checkEvery = 2 * time.Second

	// maxCheckGap is how far the clock may advance between two checks without a pause. It is less than the tolerance of
	// deadlines: a heartbeat may be 10 s late.
	maxCheckGap = 5 * time.Second
)

// pause returns how far the clock has advanced since the last check if that is too far, negative if it was set back;
// else zero. It uses the wall clock, as deadlines do: that also counts while a machine is suspended.
func (e *expiry) pause(now time.Time) time.Duration {
	now = now.Round(0) // without the monotonic reading
	last := e.checked
	e.checked = now
	if by := now.Sub(last); !last.IsZero() && (by > maxCheckGap || by < -maxCheckGap) {
		return by
	}
	return 0
}

// stallPause is the wait after a machine did not handle its deadline. That is a programming error, and must not become
// a busy loop.
const stallPause = time.Second

func (e *expiry) isDue(deadline, now time.Time) bool {
	return !deadline.IsZero() && !deadline.After(now) && !e.stalls(now)
}

func (e *expiry) stall(now time.Time) { e.stalled = now.Add(stallPause) }

// stalls reports whether that wait is in effect. It ends if the clock is set back.
func (e *expiry) stalls(now time.Time) bool {
	left := e.stalled.Sub(now)
	return left > 0 && left <= stallPause
}

// set arms the timer for the deadline, or for the next check if that is earlier.
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
		return // it fires in time, and the timer is set again then
	}
	e.armed = deadline
	if e.timer == nil {
		e.timer = e.clock.NewTimer(deadline.Sub(now))
		return
	}
	e.timer.Reset(deadline.Sub(now))
}

// due returns the timer's channel; nil before the first deadline.
func (e *expiry) due() <-chan time.Time {
	if e.timer == nil {
		return nil
	}
	return e.timer.Chan()
}

// fired records that the timer fired.
func (e *expiry) fired() { e.armed = time.Time{} }

func (e *expiry) stop() {
	if e.timer != nil {
		e.timer.Stop()
	}
}
