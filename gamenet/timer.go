package gamenet

import (
	"cmp"
	"container/heap"
	"errors"
	"time"

	"github.com/jonboulle/clockwork"
)

// A Timer runs a job of an Executor later. See After and Every.
type Timer struct {
	executor *Executor
	period   time.Duration // 0 for once

	// The executor's lock guards the rest.
	job  func()
	due  time.Time
	made uint64 // creation number, for timers with the same due time
	at   int    // the index in timers.waiting, or timerDue or timerEnded
}

const (
	timerDue   = -1 // it is in the executor's queue
	timerEnded = -2 // it will not run any more
)

// After runs a job once: it queues the job after d, whatever the limit is. If d is not positive, it queues it at once.
// On a closed executor the timer never runs.
func (e *Executor) After(d time.Duration, job func()) *Timer {
	return e.schedule(&Timer{executor: e, job: job}, max(d, 0))
}

// Every runs a job periodically, the first time after d: a tick is due at each multiple of d from now on, however long
// ticks last. Ticks do not accumulate: while one waits or is late, those that become due are skipped, and when it runs,
// the next is due at the first multiple of d after that. It panics when d is not positive.
func (e *Executor) Every(d time.Duration, job func()) *Timer {
	if d <= 0 {
		panic(errors.New("gamenet: Executor.Every needs a positive period"))
	}
	return e.schedule(&Timer{executor: e, job: job, period: d}, d)
}

// Stop stops the timer. It reports false if a timer of After had run or was running, or if the timer had been stopped,
// by Close for instance. Any goroutine may call it. After Stop no tick begins; one that had begun may still be running,
// unless a job of the same executor calls Stop.
func (t *Timer) Stop() bool {
	e := t.executor
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.at == timerEnded || e.closed {
		return false
	}
	if t.at >= 0 {
		e.timers.remove(t)
	}
	t.end()
	return true
}

// end drops the job, which may reference much memory.
func (t *Timer) end() { t.at, t.job = timerEnded, nil }

// run runs the job of a due timer, unless it was stopped in the queue.
func (t *Timer) run() {
	if job := t.begin(); job != nil {
		job()
	}
}

// begin returns the job, or nil, and schedules the next tick.
func (t *Timer) begin() func() {
	e := t.executor
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.at == timerEnded || e.closed {
		return nil
	}
	job := t.job
	if t.period == 0 {
		t.end()
		return job
	}
	now := e.clock.Now()
	late := max(now.Sub(t.due), 0)
	t.due = t.due.Add(late - late%t.period + t.period)
	e.timers.add(t)
	e.setAlarm(now)
	return job
}

// schedule sets a new timer, which is due after d.
func (e *Executor) schedule(t *Timer, d time.Duration) *Timer {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		t.end()
		return t
	}
	now := e.clock.Now() // under the lock, so that due times follow the order of creation
	t.due = now.Add(d)
	t.made = e.timers.made
	e.timers.made++
	e.timers.add(t)
	if e.queueDue(now) {
		go e.start()
	}
	return t
}

// ring is called by the clock when the alarm is due. A late call of an alarm that was reset is harmless.
func (e *Executor) ring() {
	e.mu.Lock()
	e.timers.alarmSet = false
	run := e.queueDue(e.clock.Now())
	e.mu.Unlock()
	if run {
		e.run()
	}
}

// queueDue moves the due timers to the queue. It returns the result of wake.
func (e *Executor) queueDue(now time.Time) bool {
	for {
		t := e.timers.first()
		if t == nil || t.due.After(now) {
			break
		}
		e.timers.remove(t)
		t.at = timerDue
		e.queue = append(e.queue, task{timer: t})
	}
	e.setAlarm(now)
	return e.wake()
}

// setAlarm makes the clock call ring when the first timer is due, or before: the alarm of a stopped timer stays set, so
// that timeouts which are stopped and restarted often do not reset the clock's timer each time.
func (e *Executor) setAlarm(now time.Time) {
	ts := &e.timers
	t := ts.first()
	if t == nil || ts.alarmSet && !t.due.Before(ts.alarmAt) {
		return
	}
	ts.alarmAt, ts.alarmSet = t.due, true
	if ts.alarm == nil {
		ts.alarm = e.clock.AfterFunc(t.due.Sub(now), e.ring)
	} else {
		ts.alarm.Reset(t.due.Sub(now))
	}
}

// timers holds the timers of one executor that are not due yet, and the alarm of its clock. The executor's lock guards
// it.
type timers struct {
	waiting timerHeap
	made    uint64

	alarm    clockwork.Timer // nil until the first timer is added
	alarmAt  time.Time
	alarmSet bool
}

// first returns the timer with the earliest due time, or nil.
func (ts *timers) first() *Timer {
	if len(ts.waiting) == 0 {
		return nil
	}
	return ts.waiting[0]
}

func (ts *timers) add(t *Timer) { heap.Push(&ts.waiting, t) }

// remove removes a timer. Without timers it stops the alarm, so that nothing references an unused executor.
func (ts *timers) remove(t *Timer) {
	heap.Remove(&ts.waiting, t.at)
	if len(ts.waiting) == 0 {
		ts.stopAlarm()
	}
}

func (ts *timers) clear() {
	for _, t := range ts.waiting {
		t.end()
	}
	ts.waiting = nil
	ts.stopAlarm()
}

func (ts *timers) stopAlarm() {
	if ts.alarmSet {
		ts.alarm.Stop()
		ts.alarmSet = false
	}
}

// timerHeap orders timers by due time, then by creation. It implements heap.Interface.
type timerHeap []*Timer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	return cmp.Or(h[i].due.Compare(h[j].due), cmp.Compare(h[i].made, h[j].made)) < 0
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*Timer)
	t.at = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return t
}
