package plan

import (
	"slices"
	"testing"
	"time"
)

// starts performs what is due, and returns the processes that are started with their builds.
func starts(m *Machine, now time.Time, id string) (started []string, others []Action) {
	for _, a := range m.Tick(now, id) {
		if s, ok := a.(Start); ok {
			started = append(started, s.ID+"/"+s.Build)
			continue
		}
		others = append(others, a)
	}
	return started, others
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: started %v, want %v", what, got, want)
	}
}

// TestRequest: a requested process gets the next slot at once, the own build waits for it, and gets the slot back.
func TestRequest(t *testing.T) {
	m := running(Entry{"/s", "", 1}, Entry{"/t", "", 1})
	first, _ := starts(m, at(0), "p1")
	second, _ := starts(m, at(3), "p2")
	want(t, "own build", append(first, second...), "p1/", "p2/")
	m.Request("r1", "build-1")
	m.Request("r1", "build-1")
	got, _ := starts(m, at(10), "p3")
	want(t, "without a slot", got)
	m.Registered("p2")
	m.Exited(at(11), "p2", 0, noSpread)
	if next := m.Next(); next.After(at(11)) {
		t.Errorf("a request with a slot waits until %v", next)
	}
	got, others := starts(m, at(11), "p4")
	want(t, "with a slot", got, "r1/build-1")
	if len(others) != 1 || others[0] != (Beat{}) {
		t.Errorf("the start is followed by %v", others)
	}
	if e := m.processes["r1"].entry; e.LaunchPath != "/t" {
		t.Errorf("it is of the entry %v, whose slot it has not got", e)
	}
	got, _ = starts(m, at(60), "p5")
	want(t, "while it runs", got)
	crash := m.Exited(at(61), "r1", 3, noSpread)
	if len(crash) != 2 || crash[0] != (Report{"r1", Crashed}) || len(m.Backoffs(at(61))) != 0 {
		t.Errorf("its crash is %v, with the back-offs %v", crash, m.Backoffs(at(61)))
	}
	m.Request("r1", "build-1") // the service has not received the report yet
	got, _ = starts(m, at(62), "p6")
	want(t, "after its end", got, "p6/")
}

// TestRequestWithdrawn: one that has ended for the service is not started.
func TestRequestWithdrawn(t *testing.T) {
	m := running(Entry{"/s", "", 1})
	m.Request("r1", "build-1")
	got, _ := starts(m, at(0), "p1")
	want(t, "the first process", got, "r1/build-1")
	m.Request("r2", "build-1")
	if do := m.ForceExit(at(1), "r2", ForceTerminated); len(do) != 0 {
		t.Errorf("withdrawn with %v", do)
	}
	m.Exited(at(2), "r1", 0, noSpread)
	got, _ = starts(m, at(9), "p2")
	want(t, "afterwards", got, "p2/")
}

// TestRequestAdopted: one whose process an earlier run of the agent has started is not started again, also when that
// has ended.
func TestRequestAdopted(t *testing.T) {
	m := running(Entry{"/s", "", 1})
	m.Adopt(at(0), "r1", Entry{"/s", "", 1}, "build-1", 0, at(-60))
	m.Request("r1", "build-1")
	m.Exited(at(1), "r1", 1, noSpread)
	m.Request("r1", "build-1") // the service has not received the report yet
	got, _ := starts(m, at(9), "p1")
	want(t, "after its end", got, "p1/")
}

// TestRequestFails: a requested process that cannot be started is reported, because the service waits for it.
func TestRequestFails(t *testing.T) {
	for name, fail := range map[string]func(m *Machine) []Action{
		"no file":    func(m *Machine) []Action { return m.StartFailed(at(1), "r1", noSpread) },
		"a disk":     func(m *Machine) []Action { return m.NotStarted(at(1), "r1") },
		"not ending": func(m *Machine) []Action { return m.Exited(at(1), "r1", 0, noSpread)[:1] },
	} {
		m := running(Entry{"/s", "", 1})
		m.Request("r1", "build-1")
		starts(m, at(0), "p1")
		if do := fail(m); len(do) != 1 || do[0].(Report).ID != "r1" || len(m.Backoffs(at(1))) != 0 {
			t.Errorf("%s: %v", name, do)
		}
	}
}

// TestRequestWaitsForPort: without a free port a request waits until one is free.
func TestRequestWaitsForPort(t *testing.T) {
	m := New(NewPorts(20000, 20000))
	m.Heartbeat(t0, Initializing, nil, nil)
	m.Configure([]Entry{{"/s", "{port}", 2}})
	starts(m, at(0), "p1")
	m.Request("r1", "build-1")
	got, _ := starts(m, at(1), "p2")
	want(t, "without a port", got)
	if next := m.Next(); !next.IsZero() && next.Before(at(2)) {
		t.Errorf("it is tried again at %v", next)
	}
	m.Exited(at(2), "p1", 0, noSpread)
	got, _ = starts(m, at(2+portRest.Seconds()), "p3")
	want(t, "with a port", got, "r1/build-1")
}
