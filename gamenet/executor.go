package gamenet

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
)

// The reasons why an Executor does not take a job. Compare with errors.Is.
var (
	// ErrExecutorClosed: the executor was closed before, the job will not run.
	ErrExecutorClosed = errors.New("gamenet: the executor is closed")
	// ErrExecutorFull: as many jobs wait as ExecutorConfig.Limit allows, the job will not run.
	ErrExecutorFull = errors.New("gamenet: too many jobs wait for the executor")
)

// ExecutorConfig configures an Executor. The zero value is ready to use.
type ExecutorConfig struct {
	// Limit is how many jobs may wait; negative for no limit, default 65,536. Post never blocks, so nothing else keeps
	// players from filling the memory with work for a room that is stuck. One that is merely busy stays far below.
	Limit int
	// Slice is how long a busy executor keeps its processor before it lets other goroutines have a turn, looked at
	// after every 8th job; default 1 ms. The Go runtime would interfere after 10 ms, which is late for the sessions
	// whose packets wait to be read.
	Slice time.Duration
	// Clock drives the timers; nil for the real one.
	Clock clockwork.Clock
	// Log takes the panics of jobs; nil for slog.Default().
	Log *slog.Logger
	// OnPanic is called after a job has panicked, in place of the rest of that job: it does not overlap other jobs and
	// may do what they may, such as closing the executor. nil for no more than the line in the log.
	OnPanic func(*PanicError)
}

// An Executor runs the jobs of one game object, such as a room, one after the other, so that the object needs no lock
// although many sessions use it:
//
//	type Room struct {
//		jobs    *gamenet.Executor // gamenet.NewExecutor(gamenet.ExecutorConfig{})
//		players map[uint64]*gamenet.Session
//	}
//
//	func (r *Room) Enter(s *gamenet.Session) error {
//		return r.jobs.Post(func() { r.players[s.ID()] = s })
//	}
//	func (r *Room) Start() { r.jobs.Every(50*time.Millisecond, r.tick) } // tick walks through r.players
//
// These are its guarantees:
//
//   - Jobs, ticks of timers included, never overlap. What one did, the next sees.
//   - Jobs run in the order in which Post took them: if one call of Post returned
//     before another began, its job runs first.
//   - A timer takes its place behind the jobs posted before it was due. Timers
//     that are due together run in the order of their due times, and those with the
//     same due time in the order in which they were made.
//   - A job that panics is reported, and the next one runs.
//
// A job must not wait for another job of the same executor. While one waits for something else, nothing else of its
// object happens.
//
// An executor without work has no goroutine, however many timers it has: the first job starts one, which ends when no
// job waits. An executor that is no longer used and has no timers needs no Close.
type Executor struct {
	limit   int
	slice   time.Duration
	clock   clockwork.Clock
	log     *slog.Logger
	onPanic func(*PanicError)
	start   func() // run; kept, because making a func value of a method allocates
	idle    chan struct{}

	mu      sync.Mutex
	queue   []task
	taken   int  // the length of batch: left, but at hand without a look at what run is writing
	running bool // a goroutine is in run, or on its way there; otherwise queue is empty
	closed  bool
	timers  timers

	// What follows is run's own, but for waiting, which reads left. batch is what it took from the queue, of which the
	// last left tasks have still to run.
	batch []task
	left  atomic.Int64
	ran   uint      // tasks, for sliceStride
	began time.Time // the time slice
}

// A task is what the queue holds: a job, or a timer that was due.
type task struct {
	job   func()
	timer *Timer
}

const (
	defaultExecutorLimit = 65_536
	defaultExecutorSlice = time.Millisecond

	// keptTasks is the capacity up to which an executor that gets idle keeps its two slices: 16 KiB each.
	keptTasks = 1024
	// sliceStride is how many jobs share a look at the clock, which takes as long as a short job. Long ones are in the
	// hands of the runtime anyway.
	sliceStride = 8
)

// NewExecutor makes an executor. It starts no goroutine.
func NewExecutor(cfg ExecutorConfig) *Executor {
	e := &Executor{
		limit:   cmp.Or(cfg.Limit, defaultExecutorLimit),
		slice:   cmp.Or(cfg.Slice, defaultExecutorSlice),
		clock:   cfg.Clock,
		log:     cfg.Log,
		onPanic: cfg.OnPanic,
		idle:    make(chan struct{}),
	}
	if e.clock == nil {
		e.clock = clockwork.NewRealClock()
	}
	if e.log == nil {
		e.log = slog.Default()
	}
	e.start = e.run
	return e
}

// Post queues a job. Any goroutine may call it, a job too, and it never blocks. The job will not run if it returns
// ErrExecutorClosed or ErrExecutorFull. Whoever posts what must not be lost, that a player has left, say, should take
// ErrExecutorFull as the end of the object.
func (e *Executor) Post(job func()) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return ErrExecutorClosed
	case e.limit > 0 && len(e.queue)+e.taken >= e.limit && e.waiting() >= e.limit:
		return ErrExecutorFull
	}
	e.queue = append(e.queue, task{job: job})
	if e.wake() {
		go e.start()
	}
	return nil
}

// Len returns the number of jobs that wait, the ticks of timers that are due included, without the job that is running.
func (e *Executor) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waiting()
}

// waiting is Len for those who have the lock.
func (e *Executor) waiting() int { return len(e.queue) + int(e.left.Load()) }

// Close stops the timers, refuses new jobs and returns when those posted before have run and nothing runs any more, or
// with the context's error when that is done first; the jobs run even then. It may be called again, and then waits too.
//
// A job cannot wait for its own end, and jobs that wait for the end of one another's executors would wait for ever.
// Therefore Close does not wait when it is called within a job or OnPanic, be it of this executor or another: it
// returns nil at once, and the jobs posted before run after the calling one has returned. A goroutine that a job has
// started does wait.
func (e *Executor) Close(ctx context.Context) error {
	e.shut()
	if withinJob() {
		return nil
	}
	select {
	case <-e.idle:
		return nil
	default:
	}
	select {
	case <-e.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// shut refuses jobs from now on.
func (e *Executor) shut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.closed = true
	e.timers.clear()
	if !e.running {
		close(e.idle)
	}
}

// wake says whether the caller, who has the lock, must see to it that run is called.
func (e *Executor) wake() bool {
	if e.running || len(e.queue) == 0 {
		return false
	}
	e.running = true
	return true
}

// run runs tasks until none waits. There is one call at a time: see running.
func (e *Executor) run() {
	ended := false
	defer func() {
		if !ended {
			go e.start() // a job has called runtime.Goexit: on with the next one
		}
	}()
	e.ran, e.began = 0, e.clock.Now()
	for e.take() {
		e.work()
	}
	ended = true
}

// take sees to it that the batch has tasks. If there are none at all, the executor is idle.
func (e *Executor) take() bool {
	if e.left.Load() > 0 { // a job of the batch did not return
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) > 0 {
		e.batch, e.queue = e.queue, e.batch[:0]
		e.taken = len(e.batch)
		e.left.Store(int64(e.taken))
		return true
	}
	e.running, e.taken = false, 0
	if cap(e.queue) > keptTasks {
		e.queue = nil
	}
	if cap(e.batch) > keptTasks {
		e.batch = nil
	}
	if e.closed {
		close(e.idle)
	}
	return false
}

// work runs the tasks of the batch up to the first that panics. withinJob looks for it among the callers.
func (e *Executor) work() {
	defer e.caught()
	for i := len(e.batch) - int(e.left.Load()); i < len(e.batch); i++ {
		e.share()
		t := e.batch[i]
		e.batch[i] = task{}
		e.left.Store(int64(len(e.batch) - i - 1))
		if t.timer != nil {
			t.timer.run()
		} else {
			t.job()
		}
	}
}

// share lets other goroutines have a turn when the time slice is used up.
func (e *Executor) share() {
	if e.ran++; e.ran%sliceStride != 0 || e.clock.Since(e.began) < e.slice {
		return
	}
	runtime.Gosched()
	e.began = e.clock.Now()
}

// caught is deferred by work and reports the panic of a job.
func (e *Executor) caught() {
	v := recover()
	if v == nil {
		return
	}
	p := &PanicError{Value: v, Stack: debug.Stack()}
	e.log.Error("job panicked", "panic", p.Value, "stack", string(p.Stack))
	if e.onPanic == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			e.log.Error("OnPanic panicked", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	e.onPanic(p)
}

// workName is the name of work in a stack.
var workName = runtime.FuncForPC(reflect.ValueOf((*Executor).work).Pointer()).Name()

// withinJob says whether the calling goroutine is running a job of an executor.
func withinJob() bool {
	var callers [64]uintptr
	for skip := 1; ; skip += len(callers) {
		n := runtime.Callers(skip, callers[:])
		frames := runtime.CallersFrames(callers[:n])
		for more := n > 0; more; {
			var frame runtime.Frame
			frame, more = frames.Next()
			if frame.Function == workName {
				return true
			}
		}
		if n < len(callers) {
			return false
		}
	}
}
