package shard_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/shard"
)

// A paused shard is one whose loop or clock can be made to do what a machine in trouble does.
type pausedShard struct {
	*toyShard
	t       *testing.T
	clock   *settableClock
	journal *memory.Journal
	pauses  []time.Duration // that were noted
	stop    func() error
}

func newPausedShard(t *testing.T) *pausedShard {
	p := &pausedShard{t: t, clock: &settableClock{Clock: clockwork.NewRealClock()},
		journal: memory.New(memory.Config{})}
	p.toyShard, p.stop = run(t, toyConfig{Journal: p.journal, Clock: p.clock, Observe: func(c shard.Commit[*toy]) {
		for _, f := range c.Facts {
			if f, ok := f.Body.(*paused); ok {
				p.pauses = append(p.pauses, f.By)
			}
		}
	}})
	<-p.Ready()
	return p
}

// stopped is a program that is stopped, or waits for the processor: time goes on, the loop does not.
func (p *pausedShard) stopped(d time.Duration) {
	p.t.Helper()
	if err := p.Read(p.t.Context(), func(*toy) { time.Sleep(d) }); err != nil {
		p.t.Fatal(err)
	}
}

// set is a clock that is set, or a machine that was suspended: the timers know nothing of it.
func (p *pausedShard) set(d time.Duration) { p.clock.ahead.Add(int64(d)) }

// wantRings checks how often the alarm has rung, and that nobody needs to ask for that.
func (p *pausedShard) wantRings(when string, want int) {
	p.t.Helper()
	if n, _ := mustView(p.t, p.toyShard).rings.Get("x"); n != want {
		p.t.Errorf("%s the alarm has rung %d times, want %d", when, n, want)
	}
}

// TestGraceComesBeforeDeadlines: after a pause of any kind everybody has the time that was
// left before it.
func TestGraceComesBeforeDeadlines(t *testing.T) {
	for name, pause := range map[string]func(*pausedShard){
		"stopped":                func(p *pausedShard) { p.stopped(225 * time.Second) },
		"suspended":              func(p *pausedShard) { p.set(8 * time.Hour) },
		"the clock is set":       func(p *pausedShard) { p.set(210 * time.Second) },
		"by as much as was left": func(p *pausedShard) { p.set(52 * time.Second) },
		"the clock is set back":  func(p *pausedShard) { p.set(-time.Hour) },
		"forward and back": func(p *pausedShard) {
			p.set(time.Hour)
			time.Sleep(10 * time.Second)
			p.set(-time.Hour)
		},
		"while it was suspended": func(p *pausedShard) { p.set(time.Hour); p.stopped(time.Minute) },
		"several times in a row": func(p *pausedShard) {
			p.set(time.Hour)
			p.stopped(time.Minute)
			p.set(time.Minute)
		},
		"a slow machine":          func(p *pausedShard) { p.stopped(4 * time.Second); p.stopped(4 * time.Second) },
		"nothing happens at all":  func(*pausedShard) {},
		"the clock is a bit slow": func(p *pausedShard) { p.set(-time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPausedShard(t)
				mustDo(t, p.toyShard, command{Name: "x", Alarm: 70 * time.Second}, nil)
				time.Sleep(20 * time.Second)
				pause(p)
				p.wantRings("after the pause", 0)
				time.Sleep(29 * time.Second)
				p.wantRings("before its time", 0)
				time.Sleep(24 * time.Second)
				p.wantRings("after its time", 1)
				mustStop(t, p.stop)
				if got, want := replayed(t, p.journal).bytes(), mustRest(t, p).bytes(); !bytes.Equal(got, want) {
					t.Errorf("a replay gives %q, want %q", got, want)
				}
			})
		})
	}
}

func mustRest(t *testing.T, p *pausedShard) *toy {
	t.Helper()
	rest := p.FinalState()
	if rest == nil {
		t.Fatal("the shard has left no machine")
	}
	return rest.Machine
}

// TestPausesAreNotEndless: pauses take no time away, and give no more than passes between two
// looks at the clock, which is 2 s.
func TestPausesAreNotEndless(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPausedShard(t)
		mustDo(t, p.toyShard, command{Name: "x", Alarm: time.Minute}, nil)
		for range 6 {
			p.wantRings("before its time", 0)
			time.Sleep(9 * time.Second)
			p.set(time.Minute)
		}
		time.Sleep(6*time.Second + 6*2*time.Second + time.Second)
		p.wantRings("after a minute between the pauses", 1)
		mustStop(t, p.stop)
	})
}

// TestNoPauseIsNoted while the shard runs, however slowly, nor when it has no deadline.
func TestNoPauseIsNoted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPausedShard(t)
		time.Sleep(time.Hour)
		mustDo(t, p.toyShard, command{Name: "x", Alarm: 10 * time.Minute}, nil)
		for range 100 {
			time.Sleep(3 * time.Second)
			p.stopped(3 * time.Second)
		}
		time.Sleep(time.Hour)
		p.wantRings("after its time", 1)
		p.set(time.Hour)
		mustDo(t, p.toyShard, command{Name: "x", Alarm: time.Minute}, nil)
		mustStop(t, p.stop)
		if len(p.pauses) > 0 {
			t.Errorf("noted %v", p.pauses)
		}
	})
}
