package shard_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

type (
	toyShard  = shard.Shard[command, *toy]
	toyConfig = shard.Config[command, *toy]
)

// run starts a shard and returns it with a function that stops it and gives
// Run's error. In a bubble its clock is the bubble's.
func run(t *testing.T, cfg toyConfig) (s *toyShard, stop func() error) {
	t.Helper()
	cfg.Events = events
	if cfg.NewMachine == nil {
		cfg.NewMachine = newToy
	}
	s = shard.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = stop() })
	return s, stop
}

func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func mustDo(t *testing.T, s *toyShard, c command, want any) {
	t.Helper()
	got, err := s.Do(t.Context(), c)
	if err != nil || got != want {
		t.Fatalf("%+v gives %v, %v; want %v", c, got, err, want)
	}
}

func mustView(t *testing.T, s *toyShard) *toy {
	t.Helper()
	view, err := s.View(t.Context())
	if err != nil {
		t.Fatalf("view: %v", err)
	}
	return view
}

func mustStop(t *testing.T, stop func() error) {
	t.Helper()
	if err := stop(); err != nil {
		t.Fatalf("run: %v", err)
	}
}

// replayed is what the next owner finds in the journal.
func replayed(t *testing.T, j *memory.Journal) *toy {
	t.Helper()
	s, stop := run(t, toyConfig{Journal: j.Reopen()})
	view := mustView(t, s)
	mustStop(t, stop)
	return view
}

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestCommandsAndRefusals(t *testing.T) {
	j := memory.New(memory.Config{})
	s, stop := run(t, toyConfig{Journal: j})
	<-s.Ready()
	mustDo(t, s, command{Name: "a", N: 2}, 2)
	mustDo(t, s, command{Name: "a", N: 3, Times: 3}, 11)
	mustDo(t, s, command{Name: "b"}, 0)
	if _, err := s.Do(t.Context(), command{Name: "a", N: -20}); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("got %v, want the machine's refusal", err)
	}
	mustDo(t, s, command{Name: "a", N: -11}, 0)
	if err := s.Read(t.Context(), func(m *toy) {
		if m.get("a") != 0 || m.owners != 1 {
			t.Errorf("read %v with %d owners", m, m.owners)
		}
	}); err != nil {
		t.Error(err)
	}
	mustStop(t, stop)
	if s.Serving() {
		t.Error("the shard serves after Run")
	}
	if _, err := s.Do(t.Context(), command{Name: "a", N: 1}); !fault.Is(err, fault.ServiceUnavailable) {
		t.Errorf("after the stop: %v", err)
	}
	if got := replayed(t, j); got.get("a") != 0 || got.owners != 2 {
		t.Errorf("replay gives %v, owners %d", got, got.owners)
	}
}

// Nothing is told before it is durable: answers, refusals, reads and views.
func TestNobodyIsAnsweredBeforeDurability(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		s, stop := run(t, toyConfig{Journal: j})
		mustDo(t, s, command{Name: "a", N: 1}, 1)

		release := j.Hold()
		var told []string
		tell := func(what string) func(any, error) {
			return func(answer any, err error) { told = append(told, fmt.Sprint(what, " ", answer, " ", err != nil)) }
		}
		s.Submit(command{Name: "a", N: 1}, tell("first")) // its append is held
		synctest.Wait()
		s.Submit(command{Name: "a", N: 1}, tell("second")) // gathers
		s.Submit(command{Name: "a", N: -9}, tell("refused"))
		s.Submit(command{Name: "a"}, tell("asked"))
		var read, viewed atomic.Bool
		go func() { _ = s.Read(context.Background(), func(*toy) {}); read.Store(true) }()
		go func() { _, _ = s.View(context.Background()); viewed.Store(true) }()
		time.Sleep(time.Second) // the bubble's time: everything else has come to rest
		if len(told) > 0 || read.Load() || viewed.Load() {
			t.Fatalf("told before durability: %q, read %v, viewed %v", told, read.Load(), viewed.Load())
		}
		release()
		synctest.Wait()
		want := "first 2 false,second 3 false,refused <nil> true,asked 3 false"
		if got := strings.Join(told, ","); got != want {
			t.Errorf("told %s, want %s", got, want)
		}
		if !read.Load() || !viewed.Load() {
			t.Error("the reads were not answered")
		}
		mustStop(t, stop)
	})
}

// While one batch is being made durable, all that comes gathers in one more.
func TestGroupCommit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		var commits []int
		s, stop := run(t, toyConfig{Journal: j, Observe: func(c shard.Commit[*toy]) {
			commits = append(commits,
				len(c.Facts))
		}})
		<-s.Ready()
		release := j.Hold()
		answers := 0
		for range 301 {
			s.Submit(command{Name: "a", N: 1}, func(any, error) { answers++ })
			synctest.Wait()
		}
		release()
		synctest.Wait()
		if fmt.Sprint(commits) != "[1 1 300]" || answers != 301 {
			t.Errorf("commits of %v facts, %d answers", commits, answers)
		}
		mustStop(t, stop)
	})
}

func TestQueueIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		refused := 0
		s, stop := run(t, toyConfig{
			Journal: j, Queue: 4, BatchRequests: 2, Metrics: shard.Metrics{Refused: func() { refused++ }},
		})
		<-s.Ready()
		release := j.Hold()
		throttled, answered := 0, 0
		for range 40 {
			s.Submit(command{Name: "a", N: 1}, func(_ any, err error) {
				answered++
				if fault.Is(err, fault.Throttling) {
					throttled++
				}
			})
			synctest.Wait()
		}
		if throttled == 0 || throttled != refused || answered != throttled || s.Queued() != 4 {
			t.Errorf("%d throttled, %d refused, %d answered, %d queued", throttled, refused, answered, s.Queued())
		}
		s.Post(command{Name: "b", N: 1})
		if s.Queued() != 5 {
			t.Errorf("%d queued, want one more than fit", s.Queued())
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Do(short, command{Name: "a", N: 1})
		if !errors.Is(err, shard.ErrNotDone) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's end with nothing done", err)
		}
		waiting := make(chan any)
		go func() {
			got, _ := s.Do(context.Background(), command{Name: "a", N: 1})
			waiting <- got
		}()
		synctest.Wait()
		release()
		if got, want := <-waiting, 40-throttled+1; got != want {
			t.Errorf("who waited for room gets %v, want %d", got, want)
		}
		if got, err := s.Do(t.Context(), command{Name: "b", N: 1}); err != nil || got != 2 {
			t.Errorf("after Tell: got %v, %v, want 2", got, err)
		}
		mustStop(t, stop)
		if answered != 40 {
			t.Errorf("%d answers to 40 commands", answered)
		}
	})
}

func TestDoEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		s, stop := run(t, toyConfig{Journal: j, BatchRequests: 1})
		<-s.Ready()
		release := j.Hold()
		for _, want := range []error{shard.ErrOutcomeUnknown, shard.ErrOutcomeUnknown, shard.ErrNotDone} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // appended; gathered; queued
			defer cancel()
			if _, err := s.Do(ctx, command{Name: "a", N: 1}); !errors.Is(err, want) ||
				!errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		release()
		mustDo(t, s, command{Name: "a"}, 2)
		mustStop(t, stop)
	})
}

func TestFailedAppendIsRecovered(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name  string
		fault func(*memory.Journal)
		want  int // what the failed command left
	}{
		{"nothing was stored", func(j *memory.Journal) { j.FailAppend(broken) }, 1},
		{"it was stored all the same", func(j *memory.Journal) { j.LoseAnswer(broken) }, 3},
		{"the opening fails too", func(j *memory.Journal) {
			for range 5 {
				j.FailAppend(broken)
			}
		}, 1},
		{"the opening's answer is lost too", func(j *memory.Journal) {
			j.LoseAnswer(broken)
			j.LoseAnswer(broken)
		}, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				j := memory.New(memory.Config{})
				s, stop := run(t, toyConfig{Journal: j})
				mustDo(t, s, command{Name: "a", N: 1}, 1)
				test.fault(j)
				_, err := s.Do(t.Context(), command{Name: "a", N: 2})
				if !fault.Is(err, fault.InternalService) || !errors.Is(err, shard.ErrOutcomeUnknown) ||
					!errors.Is(err, broken) {
					t.Errorf("got %v, want an unknown outcome", err)
				}
				mustDo(t, s, command{Name: "a"}, test.want)
				mustDo(t, s, command{Name: "a", N: 1}, test.want+1)
				before := mustView(t, s)
				mustStop(t, stop)
				if after := replayed(t, j); string(after.bytes()) != string(before.bytes()) {
					t.Errorf("replay gives %v, want %v", after, before)
				}
			})
		})
	}
}

// What gathered behind a failed batch was nowhere but in memory: it is not done.
func TestFailureTakesTheGatheringBatchAlong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		s, stop := run(t, toyConfig{Journal: j})
		<-s.Ready()
		release := j.Hold()
		j.FailAppend(errors.New("broken"))
		var errs []error
		note := func(_ any, err error) { errs = append(errs, err) }
		s.Submit(command{Name: "a", N: 1}, note)
		synctest.Wait()
		s.Submit(command{Name: "a", N: 1}, note)
		s.Submit(command{Name: "a"}, note)
		synctest.Wait()
		release()
		synctest.Wait()
		want := []error{shard.ErrOutcomeUnknown, shard.ErrNotDone, shard.ErrNotDone}
		for i, err := range errs {
			if !errors.Is(err, want[i]) || shard.IsTemporary(err) != (i > 0) {
				t.Errorf("request %d got %v, want %v", i, err, want[i])
			}
		}
		if len(errs) != 3 {
			t.Fatalf("%d answers", len(errs))
		}
		mustDo(t, s, command{Name: "a"}, 0)
		mustStop(t, stop)
	})
}

// An append that timed out and lands later must not be taken for another
// owner's, and must not be lost from sight.
func TestTimedOutAppendThatLandsLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		s, stop := run(t, toyConfig{Journal: j, AppendTimeout: time.Second})
		<-s.Ready()
		release := j.Hold()
		if _, err := s.Do(t.Context(), command{Name: "a", N: 1}); !errors.Is(err, shard.ErrOutcomeUnknown) {
			t.Fatalf("got %v, want an unknown outcome", err)
		}
		time.Sleep(10 * time.Second) // openings time out as well, and are held
		release()                    // the append lands first, then nothing else fits
		mustDo(t, s, command{Name: "a"}, 1)
		mustDo(t, s, command{Name: "a", N: 1}, 2)
		mustStop(t, stop)
	})
}

func TestSecondOwnerFencesTheFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		first, stopFirst := run(t, toyConfig{Journal: j})
		mustDo(t, first, command{Name: "a", N: 1}, 1)
		second, stopSecond := run(t, toyConfig{Journal: j.Reopen()})
		mustDo(t, second, command{Name: "a"}, 1)
		if _, err := first.Do(t.Context(), command{Name: "a", N: 10}); !errors.Is(err, journal.ErrFenced) {
			t.Errorf("the first owner's command gives %v", err)
		}
		if err := stopFirst(); !errors.Is(err, journal.ErrFenced) {
			t.Errorf("the first owner's Run gives %v", err)
		}
		mustDo(t, second, command{Name: "a", N: 1}, 2)
		mustStop(t, stopSecond)
	})
}

// An owner whose append failed in an unknown way finds the other one in the
// journal, and does not take it back.
func TestFailedOwnerStepsDownForAnother(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		t.Run(fmt.Sprint("snapshot ", snapshot), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				j := memory.New(memory.Config{})
				first, stopFirst := run(t, toyConfig{Journal: j})
				mustDo(t, first, command{Name: "a", N: 1}, 1)
				cfg := toyConfig{Journal: j.Reopen()}
				if snapshot {
					cfg.SnapshotEvery.Records = 1 // the records that tell the owner are forgotten soon
				}
				second, stopSecond := run(t, cfg)
				for i := range 5 {
					mustDo(t, second, command{Name: "a", N: 1}, i+2)
					synctest.Wait()
				}
				j.FailAppend(errors.New("the network is gone"))
				if _, err := first.Do(t.Context(), command{Name: "a", N: 10}); err == nil {
					t.Error("the first owner's command succeeds")
				}
				time.Sleep(time.Minute)
				if err := stopFirst(); !errors.Is(err, journal.ErrFenced) {
					t.Errorf("the first owner's Run gives %v", err)
				}
				mustDo(t, second, command{Name: "a", N: 1}, 7)
				mustStop(t, stopSecond)
			})
		})
	}
}

// The opening record fences the previous owner at once, even when the machine
// has nothing to note: also what that one had under way, and is late.
func TestOpeningFencesWithoutFacts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		silent := func() *toy { m := newToy(); m.silent = true; return m }
		first, stopFirst := run(t, toyConfig{Journal: j, NewMachine: silent})
		mustDo(t, first, command{Name: "a", N: 1}, 1)
		release := j.Hold()
		var got error
		first.Submit(command{Name: "a", N: 10}, func(_ any, err error) { got = err })
		synctest.Wait()
		second, stopSecond := run(t, toyConfig{Journal: j.Reopen(), NewMachine: silent})
		mustDo(t, second, command{Name: "a"}, 1)
		release()
		synctest.Wait()
		if !errors.Is(got, journal.ErrFenced) {
			t.Errorf("the first owner's command gives %v", got)
		}
		if err := stopFirst(); !errors.Is(err, journal.ErrFenced) {
			t.Errorf("the first owner's Run gives %v", err)
		}
		mustDo(t, second, command{Name: "a", N: 1}, 2)
		mustStop(t, stopSecond)
	})
}

func TestTwoOwnersAtOnce(t *testing.T) {
	for range 20 {
		bubble(t, func(t *testing.T) {
			j := memory.New(memory.Config{})
			var acknowledged atomic.Int64
			var stops []func() error
			var done sync.WaitGroup
			for range 2 {
				s, stop := run(t, toyConfig{Journal: j.Reopen()})
				stops = append(stops, stop)
				done.Go(func() {
					for range 100 {
						if _, err := s.Do(context.Background(), command{Name: "a", N: 1}); err == nil {
							acknowledged.Add(1)
						}
					}
				})
			}
			done.Wait()
			fenced := 0
			for _, stop := range stops {
				if errors.Is(stop(), journal.ErrFenced) {
					fenced++
				}
			}
			got := int64(replayed(t, j).get("a"))
			if fenced > 1 || got != acknowledged.Load() || got < 100 {
				t.Errorf("%d owners fenced, %d acknowledged, %d in the journal", fenced, acknowledged.Load(), got)
			}
		})
	}
}

func TestPanicOfTheMachine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		var out strings.Builder
		s, stop := run(t, toyConfig{
			Journal: j, Log: slog.New(slog.NewTextHandler(&out, nil)),
			SnapshotEvery: shard.SnapshotEvery{Records: 1},
			ViewWhen:      func([]event.Fact) bool { return true },
			Observe: func(c shard.Commit[*toy]) {
				if c.HasView && c.View.get("half") != 0 {
					t.Error("a view shows what the broken machine left")
				}
			},
		})
		mustDo(t, s, command{Name: "a", N: 1}, 1)
		begin := time.Now()
		for i := range 8 {
			var others, answered int
			release := j.Hold()
			note := func(_ any, err error) {
				if answered++; err == nil {
					others++
				}
			}
			s.Submit(command{Name: "a", N: 1}, note)
			synctest.Wait()
			s.Submit(command{Name: "a", N: 1}, note)
			s.Submit(command{Name: "a", Panic: true}, note)
			s.Submit(command{Name: "a", N: 1}, note)
			synctest.Wait()
			release()
			mustDo(t, s, command{Name: "a"}, 1+3*(i+1))
			mustDo(t, s, command{Name: "half"}, 0)
			if others != 3 || answered != 4 {
				t.Errorf("%d of %d answers are good, want 3 of 4", others, answered)
			}
		}
		if took := time.Since(begin); took < 10*time.Second {
			t.Errorf("eight panics took %v: there is no back-off", took)
		}
		mustStop(t, stop)
		if !strings.Contains(out.String(), "(*toy).Handle") {
			t.Error("the log does not show the stack")
		}
	})
}

func TestCommandThatFitsInNoRecord(t *testing.T) {
	for name, c := range map[string]command{
		"too large":       {Name: "a", N: 1, Pad: 600, Times: 2},
		"not in the set":  {Name: "a", Secret: true},
		"one giant alone": {Name: "a", N: 1, Pad: 5000},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				j := memory.New(memory.Config{MaxRecord: 1000})
				s, stop := run(t, toyConfig{Journal: j})
				mustDo(t, s, command{Name: "a", N: 1, Pad: 500}, 1)
				_, err := s.Do(t.Context(), c)
				if _, ok := errors.AsType[*fault.Error](err); !ok || !errors.Is(err, shard.ErrNotDone) {
					t.Errorf("got %v, want a fault that says that nothing was done", err)
				}
				mustDo(t, s, command{Name: "a"}, 1)
				mustStop(t, stop)
				if got := replayed(t, j).get("a"); got != 1 {
					t.Errorf("the journal says %d", got)
				}
			})
		})
	}
}

// A batch that is larger than a record becomes several; no command is torn.
func TestBatchOfSeveralRecords(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{MaxRecord: 1000})
		stats := shard.BatchStats{}
		s, stop := run(t, toyConfig{Journal: j, Metrics: shard.Metrics{Batch: func(b shard.BatchStats) { stats = b }}})
		<-s.Ready()
		release := j.Hold()
		s.Submit(command{Name: "a", N: 1}, func(any, error) {})
		synctest.Wait()
		answers := 0
		for range 2 {
			s.Submit(command{Name: "a", N: 1, Times: 3, Pad: 200}, func(any, error) { answers++ })
		}
		synctest.Wait()
		release()
		synctest.Wait()
		if answers != 2 || stats.Records != 2 || stats.Facts != 6 || stats.Requests != 2 {
			t.Errorf("%d answers, stats %+v", answers, stats)
		}
		mustDo(t, s, command{Name: "a"}, 7)
		j.Hold()
		_ = j.Reopen().Replay(t.Context(), 0, func(_ uint64, data []byte) error {
			if len(data) > 1000 {
				t.Errorf("a record of %d bytes", len(data))
			}
			return nil
		})
		mustStop(t, stop)
		if got := replayed(t, j).get("a"); got != 7 {
			t.Errorf("replay gives %d", got)
		}
	})
}

func TestDeadlinesFireOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		var rung atomic.Int64
		s, stop := run(t, toyConfig{Journal: j, Observe: func(c shard.Commit[*toy]) {
			for _, f := range c.Facts {
				if _, ok := f.Body.(*rang); ok {
					rung.Add(1)
				}
			}
		}})
		for i := range 9 {
			mustDo(t, s, command{Name: fmt.Sprint("x", i), Alarm: time.Minute}, nil)
		}
		mustDo(t, s, command{Name: "y", Alarm: time.Hour}, nil)
		mustDo(t, s, command{Name: "z", Alarm: time.Second}, nil)
		rings := func(want string) {
			t.Helper()
			view, all := mustView(t, s), []string{}
			view.rings.Scan(func(name string, n int) bool { all = append(all, fmt.Sprint(name, n)); return true })
			if got := strings.Join(all, " "); got != want {
				t.Errorf("rings %q, want %q", got, want)
			}
		}
		rings("")
		time.Sleep(2 * time.Second)
		if n := rung.Load(); n != 1 { // before anybody asks, which would wake the loop
			t.Errorf("%d alarms rang by themselves", n)
		}
		rings("z1")
		mustStop(t, stop)
		time.Sleep(2 * time.Minute) // nobody is there when the minute is over
		s, stop = run(t, toyConfig{Journal: j.Reopen()})
		<-s.Ready()
		synctest.Wait()
		rings("x01 x11 x21 x31 x41 x51 x61 x71 x81 z1")
		time.Sleep(2 * time.Hour)
		rings("x01 x11 x21 x31 x41 x51 x61 x71 x81 y1 z1")
		mustStop(t, stop)
	})
}

// A machine that does nothing about its deadline must not keep the loop busy.
func TestStuckDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		machine := newToy()
		machine.stuck = true
		s, stop := run(t, toyConfig{Journal: memory.New(memory.Config{}), NewMachine: func() *toy { return machine }})
		mustDo(t, s, command{Name: "x", Alarm: time.Second}, nil)
		time.Sleep(time.Minute)
		mustDo(t, s, command{Name: "a", N: 1}, 1)
		mustStop(t, stop)
	})
}

// A clock that can be set.
type settableClock struct {
	clockwork.Clock
	ahead atomic.Int64
}

func (c *settableClock) Now() time.Time {
	return c.Clock.Now().Add(time.Duration(c.ahead.Load())).Round(0)
}

// The pause after a deadline about which nothing was done is a second, not as long
// as the clock was ahead when it began.
func TestClockIsSetBackAfterAStuckDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		machine := newToy()
		machine.stuck = true
		clock := &settableClock{Clock: clockwork.NewRealClock()}
		clock.ahead.Store(int64(time.Hour))
		s, stop := run(t, toyConfig{Journal: memory.New(memory.Config{}), Clock: clock,
			NewMachine: func() *toy { return machine }})
		mustDo(t, s, command{Name: "x", Alarm: time.Second}, nil)
		time.Sleep(5 * time.Second)
		clock.ahead.Store(0)
		if err := s.Read(t.Context(), func(m *toy) { m.stuck = false }); err != nil {
			t.Fatal(err)
		}
		mustDo(t, s, command{Name: "y", Alarm: time.Second}, nil)
		time.Sleep(5 * time.Second)
		if n, _ := mustView(t, s).rings.Get("y"); n != 1 {
			t.Errorf("the alarm rang %d times", n)
		}
		mustStop(t, stop)
	})
}

func TestObserverSeesExactlyWhatIsCommitted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		replica, views := newToy(), 0
		var last uint64
		observe := func(c shard.Commit[*toy]) {
			if c.Recovered {
				replica = c.View.Freeze()
			} else {
				for _, f := range c.Facts {
					replica.Apply(f)
				}
			}
			if c.Seq <= last {
				t.Errorf("commit %d follows %d", c.Seq, last)
			}
			last = c.Seq
			if !c.HasView {
				return
			}
			if views++; string(replica.bytes()) != string(c.View.bytes()) {
				t.Errorf("the view is %v, the facts give %v", c.View, replica)
			}
		}
		s, stop := run(t, toyConfig{Journal: j, Observe: observe, ViewWhen: func(facts []event.Fact) bool {
			for _, f := range facts {
				if a, ok := f.Body.(*added); ok && a.Name == "watched" {
					return true
				}
			}
			return false
		}})
		var done sync.WaitGroup
		for _, name := range []string{"a", "b", "watched"} {
			done.Go(func() {
				for i := range 200 {
					_, err := s.Do(context.Background(), command{Name: name, N: i + 1})
					if err != nil && !errors.Is(err, shard.ErrOutcomeUnknown) && !errors.Is(err, shard.ErrNotDone) {
						t.Errorf("%s: %v", name, err)
					}
					if name == "b" && i == 100 {
						j.LoseAnswer(errors.New("lost"))
					}
				}
			})
		}
		done.Wait()
		view := mustView(t, s)
		mustStop(t, stop)
		if views < 100 || string(replica.bytes()) != string(view.bytes()) {
			t.Errorf("after %d views the replica is %v, the shard %v", views, replica, view)
		}
	})
}

func TestObserverAndCallbackPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j, recovered, broken := memory.New(memory.Config{}), 0, false
		s, stop := run(t, toyConfig{Journal: j, Observe: func(c shard.Commit[*toy]) {
			if c.Recovered {
				recovered++
			} else if broken {
				broken = false
				panic("the observer is broken")
			}
		}})
		mustDo(t, s, command{Name: "a", N: 1}, 1)
		s.Submit(command{Name: "a", N: 1}, func(any, error) { panic("the caller is broken") })
		mustDo(t, s, command{Name: "a"}, 2)
		if err := s.Read(t.Context(), func(*toy) { panic("the reader is broken") }); !errors.Is(err, shard.ErrNotDone) {
			t.Errorf("the reader gets %v", err)
		}
		mustDo(t, s, command{Name: "a"}, 2)
		broken = true
		mustDo(t, s, command{Name: "a", N: 1}, 3) // durable, and answered
		synctest.Wait()                           // until the shard has recovered
		mustDo(t, s, command{Name: "a"}, 3)
		if recovered != 2 {
			t.Errorf("%d recoveries, want one at the start and one for the observer", recovered)
		}
		mustStop(t, stop)
	})
}

func TestStopFinishesWhatWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		s, stop := run(t, toyConfig{Journal: j, BatchRequests: 3, FinalSnapshot: true})
		<-s.Ready()
		release := j.Hold()
		good := 0
		for range 20 {
			s.Submit(command{Name: "a", N: 1}, func(_ any, err error) {
				if err == nil {
					good++
				}
			})
		}
		synctest.Wait()
		ended := make(chan error)
		go func() { ended <- stop() }()
		synctest.Wait()
		if _, err := s.Do(t.Context(), command{Name: "a", N: 1}); !fault.Is(err, fault.ServiceUnavailable) {
			t.Errorf("during the stop: %v", err)
		}
		release()
		if err := <-ended; err != nil || good != 20 {
			t.Errorf("the stop gives %v after %d good answers", err, good)
		}
		seq, r, err := j.LoadSnapshot(t.Context())
		if err != nil || r == nil {
			t.Fatalf("no final snapshot: %v", err)
		}
		n := 0
		if err := j.Replay(t.Context(), seq, func(uint64, []byte) error { n++; return nil }); err != nil || n > 0 {
			t.Errorf("%d records behind the final snapshot, %v", n, err)
		}
		if got := replayed(t, j).get("a"); got != 20 {
			t.Errorf("replay gives %d", got)
		}
	})
}

func TestStopWhileTheJournalIsDown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		j.Hold()
		s, stop := run(t, toyConfig{Journal: j, AppendTimeout: time.Second})
		var got error
		s.Submit(command{Name: "a", N: 1}, func(_ any, err error) { got = err })
		time.Sleep(30 * time.Second)
		select {
		case <-s.Ready():
			t.Error("ready without a journal")
		default:
		}
		mustStop(t, stop)
		if !fault.Is(got, fault.ServiceUnavailable) {
			t.Errorf("who waited got %v", got)
		}
	})
}

// Bytes that no attempt will read end the shard at once, with a reason.
func TestUnreadableJournal(t *testing.T) {
	for name, data := range map[string]string{
		"no header":     "x",
		"a new version": "\x0312345678",
		"a new fact":    "\x0112345678\x83\x18\x63\x00\xa0",
		"no fact":       "\x0112345678?",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				j := memory.New(memory.Config{})
				if _, err := j.Append(t.Context(), 0, []byte(data)); err != nil {
					t.Fatal(err)
				}
				s := shard.New(toyConfig{Journal: j, Events: events, NewMachine: newToy})
				var got error
				s.Submit(command{Name: "a", N: 1}, func(_ any, err error) { got = err })
				if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "record 1") {
					t.Errorf("Run gives %v, want an error that names the record", err)
				}
				if !fault.Is(got, fault.ServiceUnavailable) {
					t.Errorf("who waited got %v", got)
				}
			})
		})
	}
}
