package gamenet

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
)

// The errors of Post when an Executor rejects a job. Compare with errors.Is.
var (
	// ErrExecutorClosed: the executor is closed, the job will not run.
	ErrExecutorClosed = errors.New("gamenet: the executor is closed")
	// ErrExecutorFull: ExecutorConfig.Limit jobs are waiting, the job will not run.
	ErrExecutorFull = errors.New("gamenet: too many jobs wait for the executor")
)

// ExecutorConfig configures an Executor. The zero value is ready to use.
type ExecutorConfig struct {
	// Limit is how many jobs may wait; negative for no limit, default 65,536. Post never blocks, so nothing else keeps
	// players from filling the memory with jobs for a stuck room. A room that is merely busy stays far below.
	Limit int
	// Log receives the panics of jobs; slog.Default() if it is nil or drops them.
	Log *slog.Logger
	// OnPanic is called after a job has panicked, in place of the rest of that job: it does not overlap other jobs and
	// may do what they may, such as closing the executor. nil to only log the panic.
	OnPanic func(*PanicError)

	// clock drives the timers; nil for the system clock.
	clock clockwork.Clock
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
// Its guarantees are:
//
//   - Jobs, ticks of timers included, never overlap. A job sees all effects of the jobs before it.
//   - Jobs run in the order in which Post queued them: if one call of Post returned before another began, its job runs
//     first.
//   - A due timer queues behind the jobs posted before it was due. Timers run in the order of their due times, and
//     those with the same due time in the order of their creation.
//   - A panic of a job is reported, and the next job runs.
//
// A job must not wait for another job of the same executor. While a job waits for something else, the object makes no
// progress.
//
// An idle executor has no goroutine, however many timers it has: the first job starts one, which ends when no job
// waits. An executor that is no longer used and has no timers needs no Close.
type Executor struct {
	limit   int
	clock   clockwork.Clock
	log     *slog.Logger
	onPanic func(*PanicError)
	start   func() // run; stored, because a method value allocates
	idle    chan struct{}

	mu      sync.Mutex
	queue   []task
	taken   int  // the length of batch: bounds left without reading what run writes
	running bool // a goroutine is in run, or starting it; otherwise queue is empty
	closed  bool
	timers  timers

	// The rest belongs to run; only waiting reads left. batch holds the tasks moved from the queue, of which the last
	// left tasks have yet to run.
	batch []task
	left  atomic.Int64
	ran   uint      // tasks, for sliceStride
	began time.Time // the time slice
}

// A task is an entry of the queue: a job, or a due timer.
type task struct {
	job   func()
	timer *Timer
}

const (
	defaultExecutorLimit = 65_536
	// executorSlice is how long a busy executor runs before it yields to other goroutines, checked after every
	// sliceStride jobs. The Go runtime would preempt it after 10 ms, which is late for the sessions whose packets wait
	// to be read.
	executorSlice = time.Millisecond

	// keptTasks is the capacity up to which an idle executor keeps its two slices: 16 KiB each.
	keptTasks = 1024
	// sliceStride is the number of jobs between two reads of the clock, which cost as much as a short job. The runtime
	// preempts long jobs anyway.
	sliceStride = 8
)

// NewExecutor creates an executor. It starts no goroutine.
func NewExecutor(cfg ExecutorConfig) *Executor {
	e := &Executor{
		limit:   cmp.Or(cfg.Limit, defaultExecutorLimit),
		clock:   cfg.clock,
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
// ErrExecutorClosed or ErrExecutorFull. A caller whose job must not be lost, such as the leave of a player, should end
// the object on ErrExecutorFull.
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

// Len returns the number of waiting jobs, ticks of due timers included, without the running job.
func (e *Executor) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waiting()
}

// waiting is Len with the lock held.
func (e *Executor) waiting() int { return len(e.queue) + int(e.left.Load()) }

// Close stops the timers, rejects new jobs and returns when all jobs posted before have run, or with the context's
// error when the context is done first; the jobs run even then. It may be called again, and then also waits.
//
// A job cannot wait for its own end, and jobs and callbacks that wait for each other would deadlock. Therefore Close
// does not wait when it is called within a job or OnPanic of any executor, or within a callback of any session: it
// returns nil at once, and the jobs posted before run nevertheless, those of the same executor after the calling one
// has returned. In a goroutine started by a job or a callback, Close does wait.
func (e *Executor) Close(ctx context.Context) error {
	e.shut()
	if withinCallback() {
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

// shut rejects jobs from now on.
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

// wake reports whether the caller must start run. The lock is held.
func (e *Executor) wake() bool {
	if e.running || len(e.queue) == 0 {
		return false
	}
	e.running = true
	return true
}

// run runs tasks until none waits. The field running ensures one call at a time.
func (e *Executor) run() {
	ended := false
	defer func() {
		if !ended {
			go e.start() // a job has called runtime.Goexit: continue with the next one
		}
	}()
	e.ran, e.began = 0, e.clock.Now()
	for e.take() {
		e.work()
	}
	ended = true
}

// take refills the batch if it is empty. It reports false when there are no tasks: the executor is then idle.
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

// work runs the tasks of the batch up to the first that panics.
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

// share yields to other goroutines when the time slice is used up.
func (e *Executor) share() {
	if e.ran++; e.ran%sliceStride != 0 || e.clock.Since(e.began) < executorSlice {
		return
	}
	runtime.Gosched()
	e.began = e.clock.Now()
}

// caught is deferred by work. It reports the panic of a job.
func (e *Executor) caught() {
	v := recover()
	if v == nil {
		return
	}
	p := &PanicError{Value: v, Stack: debug.Stack()}
	logPanic(e.log, "job panicked", "panic", p.Value, "stack", string(p.Stack))
	if e.onPanic == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			logPanic(e.log, "OnPanic panicked", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	e.onPanic(p)
}
