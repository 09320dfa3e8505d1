package gamenet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/gamenet"
)

// quiet is a log that nobody reads.
var quiet = slog.New(slog.DiscardHandler)

func post(t testing.TB, e *gamenet.Executor, job func()) {
	t.Helper()
	if err := e.Post(job); err != nil {
		t.Fatal("Post:", err)
	}
}

func closeExecutor(t testing.TB, e *gamenet.Executor) {
	t.Helper()
	if err := e.Close(t.Context()); err != nil {
		t.Fatal("Close:", err)
	}
}

// A ticket belongs to one job of TestExecutorManyGoroutines: when posting it began
// and ended, on a counter that all goroutines share, and how often it ran.
type ticket struct {
	began, ended int64
	ran          int
}

// Many goroutines post, some jobs panic or end their goroutine. Every job that Post
// took runs once, in an order that posting allows, and none overlap: jobs write
// to plain variables, so that the race detector would see it.
func TestExecutorManyGoroutines(t *testing.T) {
	const posters, each = 8, 2000
	var (
		panics atomic.Int64
		now    atomic.Int64
		ran    []*ticket
		inside int
	)
	e := gamenet.NewExecutor(gamenet.ExecutorConfig{Log: quiet, Limit: 1000,
		OnPanic: func(*gamenet.PanicError) { panics.Add(1) }})
	taken := make([][]*ticket, posters)
	wantPanics := make([]int64, posters)
	var wg sync.WaitGroup
	for p := range posters {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(4, uint64(p)))
			for range each {
				k := &ticket{}
				kind := random.IntN(50)
				job := func() {
					inside++
					if inside != 1 {
						t.Error("jobs overlap")
					}
					k.ran++
					ran = append(ran, k)
					inside--
					switch kind {
					case 0:
						panic("a job of the test")
					case 1:
						runtime.Goexit()
					case 2:
						runtime.Gosched()
					}
				}
				k.began = now.Add(1)
				err := e.Post(job)
				k.ended = now.Add(1)
				switch {
				case err == nil:
					taken[p] = append(taken[p], k)
					if kind == 0 {
						wantPanics[p]++
					}
				case !errors.Is(err, gamenet.ErrExecutorFull):
					t.Error("Post:", err)
				default:
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
	closeExecutor(t, e)

	all := slices.Concat(taken...)
	if len(ran) != len(all) {
		t.Errorf("%d jobs ran, %d were taken", len(ran), len(all))
	}
	for _, k := range all {
		if k.ran != 1 {
			t.Fatalf("a job ran %d times", k.ran)
		}
	}
	earliest := int64(math.MaxInt64) // that a later job's Post had ended
	for _, k := range slices.Backward(ran) {
		if earliest < k.began {
			t.Fatal("a job ran before one whose Post had returned before")
		}
		earliest = min(earliest, k.ended)
	}
	var want int64
	for _, n := range wantPanics {
		want += n
	}
	if panics.Load() != want {
		t.Errorf("OnPanic was called %d times, want %d", panics.Load(), want)
	}
}

// Goroutines make, stop and close timers as they like. A timer that was stopped does
// not run, one that was not runs once, and when Close has returned nothing does.
func TestExecutorTimersFromManyGoroutines(t *testing.T) {
	for seed := range uint64(5) {
		e := gamenet.NewExecutor(gamenet.ExecutorConfig{Log: quiet})
		var ran, stopped, over atomic.Int64
		var wg sync.WaitGroup
		for p := range uint64(8) {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(seed, p))
				var mine []*gamenet.Timer
				for range 300 {
					runs := 0
					job := func() {
						if runs++; runs > 1 {
							t.Error("a timer ran twice")
						}
						if over.Load() > 0 {
							t.Error("a timer ran after Close")
						}
						ran.Add(1)
					}
					mine = append(mine, e.After(time.Duration(random.IntN(2000))*time.Microsecond, job))
					if random.IntN(2) == 0 && mine[random.IntN(len(mine))].Stop() {
						stopped.Add(1)
					}
					if random.IntN(20) == 0 {
						tick := e.Every(time.Duration(1+random.IntN(500))*time.Microsecond, func() {})
						post(t, e, func() { tick.Stop() })
					}
				}
			})
		}
		wg.Wait()
		done := make(chan struct{})
		e.After(2*time.Millisecond, func() { close(done) }) // due after all others
		<-done
		closeExecutor(t, e)
		over.Store(1)
		if got := ran.Load() + stopped.Load(); got != 8*300 {
			t.Errorf("%d timers ran and %d were stopped, together %d, want %d", ran.Load(), stopped.Load(), got, 8*300)
		}
	}
}

// plan is the model that TestExecutorModel compares with: what the documentation
// says, done in the simplest way.
type plan struct {
	now, busy time.Duration // busy: until when a job runs
	timers    []*planned    // in the order of making
	queue     []*planned
	trace     []string
}

type planned struct {
	name        string
	takes       time.Duration
	due, period time.Duration
	state       int // of a timer
}

const (
	notTimer = iota
	waits
	queued
	over
)

func (p *plan) add(j *planned) {
	if j.state == waits {
		p.timers = append(p.timers, j)
	} else {
		p.queue = append(p.queue, j)
	}
	p.settle()
}

func (p *plan) stop(j *planned) bool {
	was := j.state
	j.state = over
	return was != over
}

func (p *plan) close() {
	for _, j := range p.timers {
		j.state = over
	}
	p.advance(math.MaxInt64)
}

// settle does what is to be done without time passing.
func (p *plan) settle() {
	for {
		var due []*planned
		for _, j := range p.timers {
			if j.state == waits && j.due <= p.now {
				due = append(due, j)
				j.state = queued
			}
		}
		slices.SortStableFunc(due, func(a, b *planned) int { return int(a.due - b.due) })
		p.queue = append(p.queue, due...)
		if p.busy > p.now || len(p.queue) == 0 {
			return
		}
		j := p.queue[0]
		p.queue = p.queue[1:]
		if j.state == over {
			continue
		}
		p.trace = append(p.trace, fmt.Sprint(p.now, " ", j.name))
		p.busy = p.now + j.takes
		switch {
		case j.period > 0:
			for j.due <= p.now {
				j.due += j.period
			}
			j.state = waits
		case j.state == queued:
			j.state = over
		}
	}
}

// advance lets time pass.
func (p *plan) advance(to time.Duration) {
	for {
		p.settle()
		next := time.Duration(math.MaxInt64)
		for _, j := range p.timers {
			if j.state == waits {
				next = min(next, j.due)
			}
		}
		if len(p.queue) > 0 {
			next = min(next, p.busy)
		}
		if next > to || next == math.MaxInt64 {
			p.now = to
			return
		}
		p.now = next
	}
}

// Random jobs and timers, on the clock of a bubble, run when and in the order that
// the model says.
func TestExecutorModel(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { compareWithPlan(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func compareWithPlan(t *testing.T, random *rand.Rand) {
	e := gamenet.NewExecutor(gamenet.ExecutorConfig{})
	var (
		model  plan
		trace  []string
		timers = map[*gamenet.Timer]*planned{}
		made   []*gamenet.Timer
		start  = time.Now()
	)
	upTo := func(ms int) time.Duration { return time.Duration(random.IntN(ms+1)) * time.Millisecond }
	for i := range 200 {
		pause := upTo(4)
		time.Sleep(pause)
		synctest.Wait()
		model.advance(model.now + pause)

		j := &planned{name: fmt.Sprint("job ", i)}
		if random.IntN(4) == 0 {
			j.takes = upTo(10)
		}
		job := func() {
			trace = append(trace, fmt.Sprint(time.Since(start), " ", j.name))
			time.Sleep(j.takes)
		}
		switch random.IntN(8) {
		case 0, 1, 2:
			post(t, e, job)
			model.add(j)
		case 3, 4:
			d := upTo(12)
			timer := e.After(d, job)
			made, timers[timer] = append(made, timer), j
			j.due, j.state = model.now+d, waits
			model.add(j)
		case 5:
			d := time.Millisecond + upTo(12)
			timer := e.Every(d, job)
			made, timers[timer] = append(made, timer), j
			j.due, j.period, j.state = model.now+d, d, waits
			model.add(j)
		default:
			if len(made) == 0 {
				break
			}
			timer := made[random.IntN(len(made))]
			if got, want := timer.Stop(), model.stop(timers[timer]); got != want {
				t.Errorf("Stop of %s at %v is %v, want %v", timers[timer].name, model.now, got, want)
			}
		}
		synctest.Wait()
		if got, want := e.Len(), len(model.queue); got != want {
			t.Fatalf("at %v %d jobs wait, want %d", model.now, got, want)
		}
	}
	closeExecutor(t, e)
	model.close()
	for i := range max(len(trace), len(model.trace)) {
		got, want := append(trace, "nothing")[min(i, len(trace))],
			append(model.trace, "nothing")[min(i, len(model.trace))]
		if got != want {
			t.Fatalf("job %d: %s, want %s", i, got, want)
		}
	}
}

// An executor that has only timers has no goroutine: the bubble would not end with
// one.
func TestExecutorIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := gamenet.NewExecutor(gamenet.ExecutorConfig{})
		ran := false
		post(t, e, func() { ran = true })
		e.After(time.Hour, func() { t.Error("nobody waited for this") })
		synctest.Wait()
		if !ran {
			t.Error("the job did not run")
		}
	})
}

// Nothing keeps an executor in memory that was not closed but has no timers left.
func TestExecutorForgotten(t *testing.T) {
	forgotten := func() weak.Pointer[gamenet.Executor] {
		e := gamenet.NewExecutor(gamenet.ExecutorConfig{})
		ran := make(chan struct{})
		e.After(time.Microsecond, func() { close(ran) })
		e.Every(time.Hour, func() {}).Stop()
		<-ran
		return weak.Make(e)
	}()
	for deadline := time.Now().Add(10 * time.Second); forgotten.Value() != nil; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("the executor is still in memory")
		}
	}
}

// alarms counts what is asked of a clock.
type alarms struct {
	clockwork.Clock
	made, set int
}

type alarm struct {
	clockwork.Timer
	of *alarms
}

func (a *alarms) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	a.made++
	a.set++
	return &alarm{a.Clock.AfterFunc(d, f), a}
}

func (a *alarm) Reset(d time.Duration) bool {
	a.of.set++
	return a.Timer.Reset(d)
}

func (a *alarm) Stop() bool {
	a.of.set--
	return a.Timer.Stop()
}

func TestExecutorOneAlarm(t *testing.T) {
	clock := &alarms{Clock: clockwork.NewFakeClock()}
	e := gamenet.NewExecutor(gamenet.ExecutorConfig{}.WithClock(clock))
	var timers []*gamenet.Timer
	for i := range 100 {
		timers = append(timers, e.After(time.Duration(i+1)*time.Second, func() {}))
	}
	if clock.made != 1 || clock.set != 1 {
		t.Errorf("100 timers made %d alarms and set them %d times, want 1 and 1", clock.made, clock.set)
	}
	for _, timer := range timers {
		timer.Stop()
	}
	if clock.set != 0 {
		t.Error("there are no timers left, but the alarm is set")
	}
	e.After(2*time.Second, func() {})
	e.After(time.Second, func() {})
	if clock.made != 1 || clock.set != 2 {
		t.Errorf("an earlier timer: %d alarms, set %d times, want 1 and 2", clock.made, clock.set)
	}
	closeExecutor(t, e)
	if clock.set != 1 {
		t.Error("the alarm is set after Close")
	}
}

// Ticks of every 10 ms, of which the second takes 35 ms: the one of 30 ms waits
// and runs late, those of 40 and 50 ms are left out, and then it is on time again.
func TestExecutorEveryLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := gamenet.NewExecutor(gamenet.ExecutorConfig{})
		start := time.Now()
		var at []time.Duration
		e.Every(10*time.Millisecond, func() {
			at = append(at, time.Since(start)/time.Millisecond)
			if len(at) == 2 {
				time.Sleep(35 * time.Millisecond)
			}
		})
		time.Sleep(85 * time.Millisecond)
		closeExecutor(t, e)
		if want := []time.Duration{10, 20, 55, 60, 70, 80}; !slices.Equal(at, want) {
			t.Errorf("ticks at %d ms, want %d", at, want)
		}
	})
}

func TestExecutorEveryNeedsPeriod(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Every(0) did not panic")
		}
	}()
	gamenet.NewExecutor(gamenet.ExecutorConfig{}).Every(0, func() {})
}

// A job stops timers that were due with it and wait behind it.
func TestExecutorStopWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := gamenet.NewExecutor(gamenet.ExecutorConfig{})
		var once, tick, self *gamenet.Timer
		ticks := 0
		e.After(time.Second, func() {
			if !once.Stop() || !tick.Stop() {
				t.Error("Stop of timers in the queue is false")
			}
			if once.Stop() || tick.Stop() {
				t.Error("the second Stop is true")
			}
		})
		once = e.After(time.Second, func() { t.Error("a timer that was stopped ran") })
		tick = e.Every(time.Second, func() { t.Error("a tick that was stopped ran") })
		self = e.Every(time.Second, func() {
			if ticks++; ticks == 3 && !self.Stop() {
				t.Error("Stop within the tick is false")
			}
		})
		ran := e.After(3*time.Second, func() {})
		time.Sleep(10 * time.Second)
		if ran.Stop() {
			t.Error("Stop of a timer that ran is true")
		}
		closeExecutor(t, e)
		if ticks != 3 {
			t.Errorf("%d ticks, want 3", ticks)
		}
	})
}

func TestExecutorLimit(t *testing.T) {
	e := gamenet.NewExecutor(gamenet.ExecutorConfig{Limit: 3})
	begun, release := make(chan struct{}), make(chan struct{})
	ran := 0
	post(t, e, func() { close(begun); <-release })
	<-begun
	for i := range 3 {
		if n := e.Len(); n != i {
			t.Errorf("%d jobs wait, want %d", n, i)
		}
		post(t, e, func() { ran++ })
	}
	if err := e.Post(func() { t.Error("a job that was refused ran") }); !errors.Is(err, gamenet.ErrExecutorFull) {
		t.Errorf("Post is %v, want ErrExecutorFull", err)
	}
	last := make(chan struct{})
	e.After(0, func() { close(last) }) // timers have no limit
	if n := e.Len(); n != 4 {
		t.Errorf("%d jobs wait, want 4", n)
	}
	close(release)
	<-last
	if ran != 3 || e.Len() != 0 {
		t.Errorf("%d jobs ran and %d wait, want 3 and 0", ran, e.Len())
	}
	closeExecutor(t, e)
}

func TestExecutorClose(t *testing.T) {
	e := gamenet.NewExecutor(gamenet.ExecutorConfig{})
	begun, release := make(chan struct{}), make(chan struct{})
	ran := 0
	post(t, e, func() { close(begun); <-release })
	<-begun
	for range 10 {
		post(t, e, func() { ran++ })
	}
	due := e.After(0, func() { t.Error("a timer ran after Close") })
	later := e.Every(time.Nanosecond, func() { t.Error("a tick ran after Close") })

	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Close(cut); !errors.Is(err, context.Canceled) {
		t.Errorf("Close with a job that runs is %v, want context.Canceled", err)
	}
	err := e.Post(func() { t.Error("a job ran that was posted after Close") })
	if !errors.Is(err, gamenet.ErrExecutorClosed) {
		t.Errorf("Post is %v, want ErrExecutorClosed", err)
	}
	none := e.After(0, func() { t.Error("a timer ran that was made after Close") })
	if due.Stop() || later.Stop() || none.Stop() {
		t.Error("Stop after Close is true")
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			closeExecutor(t, e)
			if ran != 10 {
				t.Errorf("%d jobs ran before Close returned, want 10", ran)
			}
		})
	}
	close(release)
	wg.Wait()
	if err := e.Close(cut); err != nil {
		t.Errorf("Close of an executor that has ended is %v", err)
	}
}

// Close never waits within a job: in its own executor, from however deep, in
// OnPanic, in a timer, and when two executors close each other.
func TestExecutorCloseWithin(t *testing.T) {
	within := func(e, other *gamenet.Executor) {
		if err := other.Close(context.Background()); err != nil {
			t.Error("Close in a job:", err)
		}
		if err := other.Post(func() {}); !errors.Is(err, gamenet.ErrExecutorClosed) {
			t.Errorf("Post after it is %v, want ErrExecutorClosed", err)
		}
	}
	var deep func(n int, f func())
	deep = func(n int, f func()) {
		if n == 0 {
			f()
			return
		}
		deep(n-1, f)
	}
	for _, c := range []struct {
		name string
		make func(e *gamenet.Executor, f func()) error
	}{
		{"job", func(e *gamenet.Executor, f func()) error { return e.Post(f) }},
		{"deep", func(e *gamenet.Executor, f func()) error { return e.Post(func() { deep(1000, f) }) }},
		{"deferred", func(e *gamenet.Executor, f func()) error {
			return e.Post(func() { defer f(); panic("with a Close on the way") })
		}},
		{"timer", func(e *gamenet.Executor, f func()) error { e.After(0, f); return nil }},
		{"tick", func(e *gamenet.Executor, f func()) error { e.Every(time.Microsecond, f); return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := gamenet.NewExecutor(gamenet.ExecutorConfig{Log: quiet})
			closed := make(chan struct{})
			if err := c.make(e, func() { within(e, e); close(closed) }); err != nil {
				t.Fatal(err)
			}
			<-closed
			closeExecutor(t, e)
		})
	}
	t.Run("OnPanic", func(t *testing.T) {
		var e *gamenet.Executor
		closed := make(chan struct{})
		e = gamenet.NewExecutor(gamenet.ExecutorConfig{Log: quiet, OnPanic: func(*gamenet.PanicError) {
			within(e, e)
			close(closed)
		}})
		post(t, e, func() { panic("close it") })
		<-closed
		closeExecutor(t, e)
	})
	t.Run("each other", func(t *testing.T) {
		a, b := gamenet.NewExecutor(gamenet.ExecutorConfig{}), gamenet.NewExecutor(gamenet.ExecutorConfig{})
		var both sync.WaitGroup
		both.Add(2)
		meet := func() { both.Done(); both.Wait() }
		post(t, a, func() { meet(); within(a, b) })
		post(t, b, func() { meet(); within(b, a) })
		both.Wait()
		closeExecutor(t, a)
		closeExecutor(t, b)
	})
	t.Run("goroutine of a job", func(t *testing.T) {
		e := gamenet.NewExecutor(gamenet.ExecutorConfig{})
		closed := make(chan error, 1)
		release := make(chan struct{})
		ran := false
		post(t, e, func() {
			go func() { closed <- e.Close(context.Background()) }()
			<-release
			ran = true
		})
		close(release)
		if err := <-closed; err != nil || !ran {
			t.Errorf("Close is %v, and the job has run: %v", err, ran)
		}
	})
}

func TestExecutorPanic(t *testing.T) {
	var log bytes.Buffer
	var got *gamenet.PanicError
	ran := 0
	e := gamenet.NewExecutor(gamenet.ExecutorConfig{
		Log: slog.New(slog.NewTextHandler(&log, nil)),
		OnPanic: func(p *gamenet.PanicError) {
			got = p
			panic("OnPanic of the test")
		},
	})
	post(t, e, func() { ran++ })
	post(t, e, func() { panicOfTheTest() })
	post(t, e, func() { ran++ })
	e.After(0, func() { ran++ })
	post(t, e, func() {})
	closed := make(chan struct{})
	post(t, e, func() { close(closed) })
	<-closed
	closeExecutor(t, e)
	if ran != 3 {
		t.Errorf("%d other jobs ran, want 3", ran)
	}
	if got == nil || got.Value != "a job of the test" || !bytes.Contains(got.Stack, []byte("panicOfTheTest")) {
		t.Errorf("OnPanic got %+v", got)
	}
	for _, want := range []string{
		`msg="job panicked" panic="a job of the test" stack=`, `msg="OnPanic panicked" panic="OnPanic of the test"`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, &log)
		}
	}
}

func panicOfTheTest() { panic("a job of the test") }

// A tick that panics goes on ticking, and so does one that ends its goroutine.
func TestExecutorEveryPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := gamenet.NewExecutor(gamenet.ExecutorConfig{Log: quiet})
		ticks := 0
		e.Every(time.Second, func() {
			if ticks++; ticks%2 == 0 {
				runtime.Goexit()
			}
			panic("a tick of the test")
		})
		time.Sleep(5500 * time.Millisecond)
		closeExecutor(t, e)
		if ticks != 5 {
			t.Errorf("%d ticks, want 5", ticks)
		}
	})
}

// With one processor, an executor with much to do lets another one have its turn
// when the time slice is over: in a batch, and when each job posts the next.
func TestExecutorSlice(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const jobs = 2000
	for _, chain := range []bool{false, true} {
		t.Run(fmt.Sprint("chain=", chain), func(t *testing.T) {
			clock := clockwork.NewFakeClock()
			busy := gamenet.NewExecutor(gamenet.ExecutorConfig{}.WithClock(clock))
			other := gamenet.NewExecutor(gamenet.ExecutorConfig{}.WithClock(clock))
			var ran, seen atomic.Int64
			seen.Store(-1)
			var job func()
			job = func() {
				clock.Advance(100 * time.Microsecond) // a tenth of a slice
				if ran.Add(1) < jobs && chain {
					post(t, busy, job)
				}
			}
			release := make(chan struct{})
			post(t, busy, func() { <-release })
			post(t, busy, func() { post(t, other, func() { seen.Store(ran.Load()) }) })
			post(t, busy, job)
			if !chain {
				for range jobs - 1 {
					post(t, busy, job)
				}
			}
			close(release)
			for { // a chain is open to Close only when it has ended
				done := make(chan bool)
				post(t, busy, func() { done <- ran.Load() == jobs })
				if <-done {
					break
				}
			}
			closeExecutor(t, busy)
			closeExecutor(t, other)
			if n := seen.Load(); n < 0 || n >= jobs/10 {
				t.Errorf("the other executor had its turn after %d of %d jobs, want one after some 10", n, jobs)
			}
		})
	}
}

// Posting allocates nothing, whether the executor is idle or busy.
func TestExecutorAllocations(t *testing.T) {
	e := gamenet.NewExecutor(gamenet.ExecutorConfig{})
	done := make(chan struct{})
	signal, nothing := func() { done <- struct{}{} }, func() {}
	if n := testing.AllocsPerRun(1000, func() {
		for range 10 {
			_ = e.Post(nothing)
		}
		_ = e.Post(signal)
		<-done
	}); n != 0 {
		t.Errorf("11 posts make %v allocations", n)
	}
	closeExecutor(t, e)
}

// serial is a way to run jobs one after the other; the benchmarks compare some.
type serial interface {
	Post(job func()) error
	Close(ctx context.Context) error
}

// channelled is a goroutine per object that reads jobs from a channel.
type channelled struct {
	jobs chan func()
	done chan struct{}
}

func newChannelled() serial {
	c := &channelled{jobs: make(chan func(), 512), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		for job := range c.jobs {
			job()
		}
	}()
	return c
}

func (c *channelled) Post(job func()) error {
	c.jobs <- job
	return nil
}

func (c *channelled) Close(context.Context) error {
	close(c.jobs)
	<-c.done
	return nil
}

// locked runs jobs in the caller, under a lock.
type locked struct{ mu sync.Mutex }

func (l *locked) Post(job func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	job()
	return nil
}

func (l *locked) Close(context.Context) error { return nil }

var serials = []struct {
	name string
	make func() serial
}{
	{"executor", func() serial { return gamenet.NewExecutor(gamenet.ExecutorConfig{}) }},
	{"channel", newChannelled},
	{"mutex", func() serial { return &locked{} }},
}

// burst posts n jobs, of which the last tells that it ran, and waits for that.
func burst(s serial, n int, job, last func(), ran <-chan struct{}) {
	for range n - 1 {
		_ = s.Post(job)
	}
	_ = s.Post(last)
	<-ran
}

// How long does a job take, from Post to its end? The executor gets bursts from one
// goroutine, from 16 (which find it busy), and single jobs (which find it idle).
func BenchmarkExecutorPost(b *testing.B) {
	sum := 0
	job := func() { sum++ }
	bench := func(name string, size, goroutines int) {
		for _, s := range serials {
			b.Run(name+"/"+s.name, func(b *testing.B) {
				e := s.make()
				b.ReportAllocs()
				b.SetParallelism(max(1, goroutines/runtime.GOMAXPROCS(0)))
				run := func(more func() bool) {
					ran := make(chan struct{}, 1)
					last := func() { sum++; ran <- struct{}{} }
					for n := 1; more(); n++ {
						if n%size == 0 {
							burst(e, size, job, last, ran)
						}
					}
				}
				if goroutines == 1 {
					run(b.Loop)
				} else {
					b.RunParallel(func(pb *testing.PB) { run(pb.Next) })
				}
				_ = e.Close(b.Context())
			})
		}
	}
	bench("from=one", 256, 1)
	bench("from=many", 32, 16)
	bench("idle", 1, 1)
}

// What do a timeout that is stopped in time, and one among 10,000 others, cost?
func BenchmarkExecutorTimeout(b *testing.B) {
	for _, others := range []int{0, 10_000} {
		b.Run(fmt.Sprint("timers=", others), func(b *testing.B) {
			e := gamenet.NewExecutor(gamenet.ExecutorConfig{})
			for i := range others {
				e.After(time.Hour+time.Duration(i), func() {})
			}
			job := func() {}
			b.ReportAllocs()
			for b.Loop() {
				e.After(time.Minute, job).Stop()
			}
			_ = e.Close(b.Context())
		})
	}
}
