package testkit

import (
	"testing"
	"testing/synctest"
	"time"
)

// A timer fires after its time, whether that passes or the clock is moved, and never twice.
func TestTimer(t *testing.T) {
	for _, c := range []struct {
		name     string
		advance  []time.Duration
		wait     time.Duration
		fired    bool
		stopping bool // Stop finds it running
	}{
		{"nothing", nil, 0, false, true},
		{"real time", nil, time.Minute, true, false},
		{"advanced", []time.Duration{time.Minute}, 0, true, false},
		{"too little", []time.Duration{20 * time.Second, 20 * time.Second}, 10 * time.Second, false, true},
		{"both", []time.Duration{20 * time.Second, 20 * time.Second}, 20 * time.Second, true, false},
		{"much more", []time.Duration{time.Hour}, time.Hour, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := NewClock()
				begun, called := clock.Now(), 0
				timer := clock.NewTimer(time.Minute)
				function := clock.AfterFunc(time.Minute, func() { called++ })
				for _, d := range c.advance {
					clock.Advance(d)
					synctest.Wait()
				}
				time.Sleep(c.wait)
				synctest.Wait()
				if fired := len(timer.Chan()) == 1; fired != c.fired || called == 1 != c.fired || called > 1 {
					t.Errorf("fired: %t, called %d times, after %s", fired, called, clock.Since(begun))
				}
				if ran := timer.Stop(); ran != c.stopping || function.Stop() != ran || len(timer.Chan()) != 0 {
					t.Errorf("it ran: %t, and %d times are left", ran, len(timer.Chan()))
				}
				clock.Advance(time.Hour)
				if time.Sleep(time.Hour); len(timer.Chan()) != 0 || called > 1 {
					t.Error("a stopped timer has fired")
				}
			})
		})
	}
}

// A timer that is reset leaves no time of before, and counts anew.
func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := NewClock()
		timer := clock.NewTimer(time.Second)
		clock.Advance(time.Second)
		synctest.Wait()
		if ran := timer.Reset(time.Minute); ran || len(timer.Chan()) != 0 {
			t.Errorf("it ran: %t, and %d times are left", ran, len(timer.Chan()))
		}
		clock.Advance(59 * time.Second)
		if synctest.Wait(); len(timer.Chan()) != 0 {
			t.Error("it has fired a second early")
		}
		if !timer.Reset(time.Minute) {
			t.Error("it did not run")
		}
		clock.Advance(time.Second)
		if synctest.Wait(); len(timer.Chan()) != 0 {
			t.Error("it has fired at its former time")
		}
		clock.Advance(59 * time.Second)
		if got := <-timer.Chan(); !got.Equal(clock.Now()) {
			t.Errorf("it has sent %s at %s", got, clock.Now())
		}
	})
}

// A ticker ticks at multiples of its interval; of ticks that are missed one is left.
func TestTicker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := NewClock()
		begun := clock.Now()
		ticker := clock.NewTicker(10 * time.Second)
		defer ticker.Stop()
		for i, step := range []struct {
			advance time.Duration
			ticks   int
		}{{9 * time.Second, 0}, {time.Second, 1}, {37 * time.Second, 1}, {2 * time.Second, 0}, {time.Second, 1}} {
			clock.Advance(step.advance)
			synctest.Wait()
			if n := len(ticker.Chan()); n != step.ticks {
				t.Errorf("step %d, after %s: %d ticks", i, clock.Since(begun), n)
			}
			if step.ticks > 0 {
				<-ticker.Chan()
			}
		}
		ticker.Reset(time.Minute)
		clock.Advance(59 * time.Second)
		if synctest.Wait(); len(ticker.Chan()) != 0 {
			t.Error("it has kept the former interval")
		}
		clock.Advance(time.Second)
		<-ticker.Chan()
	})
}
