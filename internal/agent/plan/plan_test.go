package plan

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at is a time in seconds after the first heartbeat.
func at(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }

// noSpread is the random number for a wait of exactly 1, 2, 4 s.
const noSpread = 0.5

// running returns a machine whose compute has had its first heartbeat.
func running(entries ...Entry) *Machine {
	m := New(NewPorts(20000, 20002))
	m.Heartbeat(t0, Initializing, nil, nil)
	m.Configure(entries)
	return m
}

// A clock of a machine performs its actions.
type clock struct {
	*testing.T
	m       *Machine
	now     time.Time
	ids     int
	started []string // id at second
	actions []Action // other than Start
}

func newClock(t *testing.T, m *Machine) *clock { return &clock{T: t, m: m, now: t0} }

// advance moves the time, and ticks whenever the machine asks for it.
func (c *clock) advance(to time.Time) {
	c.Helper()
	for turns := 0; ; turns++ {
		if turns > 10000 {
			c.Fatal("Next does not advance")
		}
		c.ids++
		id := fmt.Sprint("p", c.ids)
		c.do(c.m.Tick(c.now, id))
		next := c.m.Next()
		if next.IsZero() || next.After(to) {
			c.now = to
			return
		}
		if next.After(c.now) {
			c.now = next
		}
	}
}

func (c *clock) do(actions []Action) {
	for _, a := range actions {
		if s, ok := a.(Start); ok {
			c.started = append(c.started, s.ID)
			continue
		}
		c.actions = append(c.actions, a)
	}
}

func (c *clock) wantActions(want ...Action) {
	c.Helper()
	if !reflect.DeepEqual(c.actions, want) {
		c.Errorf("actions\n %+v\nwant\n %+v", c.actions, want)
	}
	c.actions = nil
}

func TestNothingStartsBeforeTheFirstReply(t *testing.T) {
	m := New(NewPorts(0, 0))
	m.Configure([]Entry{{"/s", "", 1}})
	for _, status := range []Status{"", Activating, "Other"} {
		m.Heartbeat(t0, status, nil, nil)
		if m.Status() != Initializing || !m.Next().IsZero() || len(m.Tick(at(1), "p")) > 0 {
			t.Errorf("after %q it is %s and starts", status, m.Status())
		}
	}
	m.Heartbeat(t0, "INITIALIZING", nil, nil)
	if m.Status() != Activating || len(m.Tick(at(1), "p")) != 1 {
		t.Errorf("after the reply it is %s", m.Status())
	}
}

func TestPace(t *testing.T) {
	c := newClock(t, running(Entry{"/s", "", 5}))
	var times []float64
	for s := 0.0; s < 20; s += 0.5 {
		before := len(c.started)
		c.advance(at(s))
		if len(c.started) > before {
			times = append(times, s)
		}
	}
	if want := []float64{0, 3, 5, 6, 7}; !slices.Equal(times, want) {
		t.Errorf("launches at %v, want %v", times, want)
	}
}

// TestHold: nothing is started meanwhile, and no time is asked for.
func TestHold(t *testing.T) {
	c := newClock(t, running(Entry{"/s", "", 2}))
	c.advance(at(10))
	c.m.Hold(true)
	c.m.Registered("p1")
	c.do(c.m.Exited(c.now, "p1", 0, noSpread))
	c.advance(at(60))
	if len(c.started) != 2 || len(c.m.Processes()) != 1 {
		t.Errorf("%v were started, %v run", c.started, c.m.Processes())
	}
	c.m.Hold(false)
	c.advance(at(61))
	if len(c.started) != 3 {
		t.Errorf("%v were started", c.started)
	}
}

// TestChangeOfCount: the processes of the old count run on, and hold vacancies.
func TestChangeOfCount(t *testing.T) {
	c := newClock(t, running(Entry{"/s", "", 2}))
	c.advance(at(10))
	c.m.Configure([]Entry{{"/s", "", 4}})
	c.advance(at(12))
	if n := len(c.m.Processes()); n != 4 {
		t.Errorf("2 s after 2 became 4, %d processes run", n)
	}
	c.m.Configure([]Entry{{"/s", "", 1}})
	c.advance(at(60))
	if n := len(c.m.Processes()); n != 4 || len(c.actions) > 0 {
		t.Errorf("after a reduction %d processes run, and %v", n, c.actions)
	}
	for len(c.m.Processes()) > 1 {
		id := c.m.Processes()[0]
		c.m.Registered(id)
		c.do(c.m.Exited(c.now, id, 0, noSpread))
		c.advance(c.now.Add(10 * time.Second))
	}
	if n := len(c.started); n != 4 {
		t.Errorf("%d processes were started, want 4: an exit is not replaced beyond the count", n)
	}
	last := c.m.Processes()[0]
	c.m.Registered(last)
	c.do(c.m.Exited(c.now, last, 0, noSpread))
	c.advance(c.now.Add(10 * time.Second))
	if len(c.m.Processes()) != 1 {
		t.Error("the last process is not replaced")
	}
}

func TestBackoff(t *testing.T) {
	other := Entry{"/other", "", 1}
	c := newClock(t, running(Entry{"/s", "", 1}, other))
	c.advance(at(4)) // both run
	c.m.Registered("p2")
	var waits []time.Duration
	for range 9 { // p2 is the other one
		id := c.started[0]
		if len(c.started) > 2 {
			id = c.started[len(c.started)-1]
		}
		c.do(c.m.Exited(c.now, id, 1, noSpread))
		crash := c.actions[len(c.actions)-1].(Crash)
		if crash.Loops() != (len(waits) == 4) {
			t.Errorf("crash %d: loop %v", len(waits)+1, crash.Loops())
		}
		ended, before := c.now, len(c.started)
		for len(c.started) == before {
			c.advance(c.now.Add(250 * time.Millisecond))
		}
		if gap := c.now.Sub(ended); gap < crash.Wait {
			t.Errorf("launched %s after a crash, before %s", gap, crash.Wait)
		}
		waits = append(waits, crash.Wait/time.Second)
	}
	if want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60}; !slices.Equal(waits, want) {
		t.Errorf("waits %v, want %v", waits, want)
	}
	id := c.started[len(c.started)-1]
	c.m.Registered(id)
	c.actions = nil
	c.advance(c.now.Add(goodLife))
	c.do(c.m.Exited(c.now, id, 139, noSpread))
	c.wantActions(Report{id, Crashed})
	c.advance(c.now.Add(time.Second))
	if got := c.started[len(c.started)-1]; got == id {
		t.Error("a crash after a good life delays the next process")
	}
}

// TestBackoffs: an entry is shown from its crash until a later process is registered. Another entry is not slowed.
func TestBackoffs(t *testing.T) {
	crashing, other := Entry{"/crashes", "", 1}, Entry{"/other", "", 3}
	c := newClock(t, running(crashing, other))
	launches, last := 0, ""
	for s := 0.0; s < 300; s += 0.25 {
		c.advance(at(s))
		for id, p := range c.m.processes {
			if p.entry == crashing {
				launches, last = launches+1, id
				c.do(c.m.Exited(c.now, id, 1, noSpread))
			}
		}
		if s == 30 && len(c.m.Processes()) != 3 {
			t.Errorf("after %v s %d processes of the other entry run", s, len(c.m.Processes()))
		}
	}
	if launches < 8 || launches > 12 {
		t.Errorf("%d launches in 5 minutes", launches)
	}
	all := c.m.Backoffs(c.now)
	if len(all) != 1 || all[0].ID != last || all[0].Entry != crashing || all[0].Crashes != launches ||
		all[0].Code != 1 || !all[0].Until.After(c.now) {
		t.Errorf("the back-offs are %+v, want one of %s", all, last)
	}
	c.advance(all[0].Until.Add(firstPace))
	if again := c.m.Backoffs(c.now); len(again) != 1 {
		t.Errorf("while the next process starts: %+v", again)
	}
	for _, id := range c.m.Processes() {
		c.m.Registered(id)
	}
	if after := c.m.Backoffs(c.now); len(after) != 0 {
		t.Errorf("once it is registered: %+v", after)
	}
}

func TestBackoffSpread(t *testing.T) {
	for _, r := range []struct {
		random float64
		want   time.Duration
	}{{0, 800 * time.Millisecond}, {noSpread, time.Second}, {0.999999, 1199 * time.Millisecond}} {
		m := running(Entry{"/s", "", 1})
		m.Tick(t0, "p")
		got := m.StartFailed(at(1), "p", r.random)[1].(Crash)
		if got.Wait.Truncate(time.Millisecond) != r.want {
			t.Errorf("random %v: %s, want %s", r.random, got.Wait, r.want)
		}
	}
}

// TestShortSession: a process that was registered and exits with 0 is no crash.
func TestShortSession(t *testing.T) {
	c := newClock(t, running(Entry{"/s", "", 1}))
	c.advance(t0)
	c.m.Registered("p1")
	c.advance(at(5))
	c.do(c.m.Exited(c.now, "p1", 0, noSpread))
	c.wantActions(Report{"p1", NormalTermination})
	c.advance(c.now)
	if len(c.started) != 2 {
		t.Error("the next process waits")
	}
}

func TestLimits(t *testing.T) {
	end := func(reason Reason, act func(c *clock)) func(t *testing.T) {
		return func(t *testing.T) {
			c := newClock(t, running(Entry{"/s", "", 1}))
			c.advance(t0)
			c.m.Registered("p1")
			act(c)
			c.wantActions(Signal{ID: "p1"})
			c.advance(c.now.Add(killDelay - time.Millisecond))
			c.wantActions()
			c.advance(c.now.Add(time.Millisecond))
			c.wantActions(Signal{ID: "p1", Kill: true})
			c.do(c.m.Exited(c.now, "p1", -1, noSpread)[:1])
			c.wantActions(Report{"p1", reason})
		}
	}
	t.Run("init", end(InitTimeout, func(c *clock) {
		c.m.processes["p1"].registered = false
		c.advance(at(300 - 0.001))
		c.wantActions()
		c.advance(at(300))
	}))
	t.Run("unhealthy", end(Unhealthy, func(c *clock) {
		c.do(c.m.Heartbeat(c.now, Active, []string{"p1", "other"}, nil))
		c.do(c.m.ForceExit(c.now, "p1", Crashed)) // it ends already
	}))
	t.Run("force", end("SERVER_PROCESS_PROCESS_EXIT_TIMEOUT", func(c *clock) {
		c.do(c.m.ForceExit(c.now, "other", Crashed))
		c.do(c.m.ForceExit(c.now, "p1", "SERVER_PROCESS_PROCESS_EXIT_TIMEOUT"))
	}))
	t.Run("unknown reason", end(NormalTermination, func(c *clock) { c.do(c.m.ForceExit(c.now, "p1", "")) }))
	t.Run("unregistered", end(InitTimeout, func(c *clock) {
		for i := range 14 {
			if i != 6 {
				c.do(c.m.Heartbeat(c.now, Active, nil, []string{"p1"}))
				continue
			}
			c.do(c.m.Heartbeat(c.now, Active, nil, nil)) // begins the count anew
		}
		c.wantActions()
		c.do(c.m.Heartbeat(c.now, Active, nil, []string{"p1"}))
	}))
}

// TestForceTerminated: a process is killed at once, also after it was asked to end.
func TestForceTerminated(t *testing.T) {
	c := newClock(t, running(Entry{"/s", "", 2}))
	c.advance(at(3))
	if beat := c.m.Registered("p1"); !reflect.DeepEqual(beat, []Action{Beat{}}) {
		t.Errorf("after the registration: %v, want a heartbeat", beat)
	}
	if again := c.m.Registered("p1"); again != nil {
		t.Errorf("after another one: %v", again)
	}
	for i, id := range slices.Clone(c.started) {
		if i > 0 {
			c.do(c.m.ForceExit(c.now, id, Unhealthy))
			c.wantActions(Signal{ID: id})
		}
		c.do(c.m.ForceExit(c.now, id, ForceTerminated))
		c.wantActions(Signal{ID: id, Kill: true})
	}
	c.do(c.m.Exited(c.now, c.started[0], -9, noSpread))
	c.wantActions(Report{ID: c.started[0], Reason: ForceTerminated})
	c.do(c.m.Exited(c.now, c.started[1], -9, noSpread))
	c.advance(at(30)) // nothing is killed again
	if last := c.actions[0]; last != (Report{ID: c.started[1], Reason: Unhealthy}) {
		t.Errorf("got %v", last)
	}
}

func TestTermination(t *testing.T) {
	c := newClock(t, running(Entry{"/s", "", 2}))
	c.advance(at(10))
	c.m.Registered("p2")
	c.do(c.m.TerminateCompute(c.now))
	c.do(c.m.TerminateCompute(c.now))
	c.wantActions(Beat{})
	c.do(c.m.Exited(c.now, "p1", 0, noSpread))
	c.advance(at(10 + 359))
	c.wantActions(Report{"p1", NormalTermination})
	c.advance(at(10 + 360))
	c.wantActions(Signal{ID: "p2"})
	if c.m.Status() != Terminated {
		t.Errorf("it is %s", c.m.Status())
	}
	c.advance(at(10 + 370))
	c.wantActions(Signal{ID: "p2", Kill: true})
	c.do(c.m.Exited(c.now, "p2", -1, noSpread))
	c.advance(c.now)
	c.wantActions(Report{"p2", ComputeShuttingDown}, Finish{})
	c.advance(at(1000))
	c.wantActions()
	if len(c.started) != 2 {
		t.Errorf("processes started: %v", c.started)
	}
}

// TestTerminationOfUnknownProcesses: the service cannot ask processes to end that have never connected to it.
func TestTerminationOfUnknownProcesses(t *testing.T) {
	c := newClock(t, running(Entry{"/s", "", 2}))
	c.advance(at(10))
	c.do(c.m.Heartbeat(c.now, Terminating, nil, []string{"p1"})) // the service has not asked yet
	c.wantActions(Beat{})
	c.do(c.m.Heartbeat(c.now, Terminating, nil, []string{"p1"}))
	c.do(c.m.Heartbeat(c.now, Terminating, nil, []string{"p1"}))
	c.wantActions(Signal{ID: "p1"})
	c.do(c.m.Exited(c.now, "p1", -15, noSpread))
	c.do(c.m.Exited(c.now, "p2", 0, noSpread)) // the service has asked it
	c.advance(c.now)
	c.wantActions(Report{"p1", ComputeShuttingDown}, Report{"p2", NormalTermination}, Finish{})
}

func TestTerminatedAtOnce(t *testing.T) {
	c := newClock(t, running(Entry{"/s", "", 1}))
	c.advance(at(1))
	c.do(c.m.Heartbeat(c.now, Terminated, nil, nil))
	c.wantActions(Signal{ID: "p1", Kill: true})
	c.advance(at(12)) // it cannot be killed
	c.wantActions(Finish{})
}

func TestInterruptedWithoutProcesses(t *testing.T) {
	c := newClock(t, running())
	c.do(c.m.Terminate(t0, true, t0.Add(-time.Second)))
	c.do(c.m.Heartbeat(t0, Active, nil, nil)) // the state is not the service's any more
	if c.m.Status() != Interrupted {
		t.Errorf("it is %s", c.m.Status())
	}
	c.advance(t0)
	c.wantActions(Beat{}, Finish{})
}

func TestPorts(t *testing.T) {
	c := newClock(t, running(Entry{"/s", "-port={port}", 3}, Entry{"/t", "-p {port}", 1}))
	c.advance(at(60))
	c.wantActions(NoPort{Entry{"/t", "-p {port}", 1}})
	seen := map[int]bool{}
	for _, p := range c.m.processes {
		seen[p.port] = true
	}
	if len(seen) != 3 || !seen[20000] || !seen[20001] || !seen[20002] {
		t.Errorf("ports %v", seen)
	}
	port := c.m.processes["p1"].port
	c.m.Registered("p1")
	c.do(c.m.Exited(c.now, "p1", 0, noSpread))
	c.advance(at(60 + 59))
	if len(c.started) != 3 {
		t.Error("a port is leased again too soon")
	}
	c.advance(at(60 + 60))
	if id := c.started[len(c.started)-1]; len(c.started) != 4 || c.m.processes[id].port != port {
		t.Errorf("started %v", c.started)
	}
}

func TestAdopt(t *testing.T) {
	e := Entry{"/s", "-port={port}", 2}
	m := running(e)
	m.Adopt(t0, "old", e, "", 20000, at(-3600))
	m.Rest(20001, at(-1))
	c := newClock(t, m)
	c.advance(at(1))
	if ids := m.Processes(); !slices.Equal(ids, []string{"old", "p1"}) || m.processes["p1"].port != 20002 {
		t.Errorf("processes %v", ids)
	}
	c.wantActions() // its limit begins anew
	c.do(m.Exited(c.now, "old", 0, noSpread))
	c.wantActions(Report{"old", NormalTermination})
}
