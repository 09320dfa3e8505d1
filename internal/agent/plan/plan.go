package plan

import (
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// initLimit is how long a process may take until the service reports it as registered.
	initLimit = 5 * time.Minute
	// maxUnregistered is in how many heartbeats in a row a process may be unknown to the service.
	maxUnregistered = 8
	// firstPace and lastPace are the waits after a launch.
	firstPace, lastPace, paceStep = 3 * time.Second, time.Second, time.Second

	// killDelay is how long a process may take to end when it is asked to.
	killDelay = 10 * time.Second
	// terminationLimit is how long processes may take to end with their compute.
	terminationLimit = 6 * time.Minute
	// exitLimit is how long the exits of killed processes are awaited at the end.
	exitLimit = 10 * time.Second
)

// A Machine knows the processes of a compute. It is not safe for concurrent use.
type Machine struct {
	status  Status
	entries []Entry
	ports   Leases
	backoff map[program]*backoff
	short   map[program]bool // NoPort was returned

	processes map[string]*process // that run, by id
	requests  []request           // the oldest first
	requested []string            // ids of the last requests, also of those that have ended
	noPort    bool                // the oldest request waits for a port
	pace      time.Duration       // after the next launch
	launched  string              // id of the process whose life decides the pace; "": decided
	next      time.Time           // of the next launch

	deadline time.Time // while terminating: when processes are ended, then when the agent ends without them
	finished bool      // Finish was returned
	held     bool      // nothing is started
}

// A process runs, or is being started.
type process struct {
	entry        Entry
	build        string // see Start
	port         int
	started      time.Time
	known        time.Time // to this agent; differs from started if it was adopted
	registered   bool
	unregistered int       // heartbeats in a row
	reason       Reason    // why it is ended; "": it is not
	killAt       time.Time // zero: it is not to end, or was killed
}

// New returns a machine for a compute that is Initializing. It leases ports for {port}.
func New(ports Leases) *Machine {
	return &Machine{
		status: Initializing, pace: firstPace, processes: map[string]*process{}, backoff: map[program]*backoff{},
		short: map[program]bool{}, ports: ports,
	}
}

// Status returns the state of the compute.
func (m *Machine) Status() Status { return m.status }

// Processes returns the ids of the processes that run, in order.
func (m *Machine) Processes() []string { return slices.Sorted(maps.Keys(m.processes)) }

// Configure sets the runtime configuration.
func (m *Machine) Configure(entries []Entry) { m.entries = slices.Clone(entries) }

// Adopt adds a process that an earlier run of the agent has started, of the fleet's own build (""), or another one. The
// service reports again whether it is registered, so its limit begins anew.
func (m *Machine) Adopt(now time.Time, id string, e Entry, build string, port int, started time.Time) {
	m.processes[id] = &process{entry: e, build: build, port: port, started: started, known: now}
	m.ports.Hold(port)
	if build != "" {
		m.remember(id)
	}
}

// Rest keeps the port of a process that has ended before this run of the agent for the rest of its lease.
func (m *Machine) Rest(port int, ended time.Time) { m.ports.Rest(port, ended) }

// Hold has no process started while held is true.
func (m *Machine) Hold(held bool) { m.held = held }

// Tick returns what is due. It starts at most one process, with the id newID. Call it when Next says, and after each
// change.
func (m *Machine) Tick(now time.Time, newID string) (do []Action) {
	for _, id := range m.Processes() {
		p := m.processes[id]
		if !p.registered && p.reason == "" && !now.Before(p.known.Add(initLimit)) {
			do = append(do, m.end(now, id, InitTimeout)...)
		}
		if !p.killAt.IsZero() && !now.Before(p.killAt) {
			do = append(do, Signal{ID: id, Kill: true})
			p.killAt = time.Time{}
		}
	}
	if m.terminates() {
		return append(do, m.terminate(now)...)
	}
	if len(m.requests) > 0 {
		if e, ok := m.slot(); ok {
			return append(do, m.launchRequest(now, e)...)
		}
	}
	return append(do, m.launch(now, newID)...)
}

// Next returns when Tick has something to do; zero: nothing, until something changes.
func (m *Machine) Next() (at time.Time) {
	earliest := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	for _, p := range m.processes {
		earliest(p.killAt)
		if !p.registered && p.reason == "" {
			earliest(p.known.Add(initLimit))
		}
	}
	if m.terminates() {
		if !m.finished {
			earliest(m.deadline)
		}
		return at
	}
	if _, ok := m.slot(); ok && len(m.requests) > 0 {
		if m.noPort {
			earliest(m.ports.Free())
		} else {
			earliest(time.Unix(0, 0)) // at once
		}
	}
	for _, e := range m.missing() {
		t := m.next
		if b := m.backoff[programOf(e)]; b != nil && b.until.After(t) {
			t = b.until
		}
		if m.short[programOf(e)] {
			free := m.ports.Free()
			if free.IsZero() {
				continue
			}
			if free.After(t) {
				t = free
			}
		}
		if t.IsZero() {
			t = time.Unix(0, 0) // at once
		}
		earliest(t)
	}
	return at
}

// Loop returns the last crash of an entry that is in a crash loop; false if none is. An entry with a registered process
// is not.
func (m *Machine) Loop() (Crash, bool) {
	for _, e := range m.entries {
		key := programOf(e)
		if b := m.backoff[key]; b != nil && b.last.Crashes >= crashLoop && !m.runs(key) {
			return b.last, true
		}
	}
	return Crash{}, false
}

// Backoffs returns the entries that wait after crashes, or whose program has no registered process since the last one.
// Each program is in it once.
func (m *Machine) Backoffs(now time.Time) (all []Backoff) {
	seen := map[program]bool{}
	for _, e := range m.entries {
		key := programOf(e)
		b := m.backoff[key]
		if b == nil || seen[key] || m.terminates() || !now.Before(b.until) && m.runs(key) {
			continue
		}
		seen[key] = true
		all = append(all, Backoff{b.last, b.until})
	}
	return all
}

// runs reports whether a program has a registered process.
func (m *Machine) runs(key program) bool {
	for _, p := range m.processes {
		if p.registered && p.build == "" && programOf(p.entry) == key {
			return true
		}
	}
	return false
}

// missing returns the entries that have fewer processes than their count, while there are vacancies.
func (m *Machine) missing() (entries []Entry) {
	if m.held || m.status != Activating && m.status != Active {
		return nil
	}
	wanted := 0
	for _, e := range m.entries {
		wanted += e.Count
	}
	if len(m.processes)+len(m.requests) >= wanted {
		return nil
	}
	running := map[Entry]int{}
	for _, p := range m.processes {
		running[p.entry]++
	}
	for _, e := range m.entries {
		if running[e] < e.Count {
			entries = append(entries, e)
		}
	}
	return entries
}

// launch starts a process, if one is missing and nothing holds it back.
func (m *Machine) launch(now time.Time, id string) []Action {
	if now.Before(m.next) {
		return nil
	}
	m.setPace()
	var short []Action
	for _, e := range m.missing() {
		key := programOf(e)
		if b := m.backoff[key]; b != nil && now.Before(b.until) {
			continue
		}
		port := 0
		if strings.Contains(e.Parameters, Placeholder) {
			if port = m.ports.Lease(now); port == 0 {
				if !m.short[key] {
					short = append(short, NoPort{e})
				}
				m.short[key] = true
				continue
			}
			delete(m.short, key)
		}
		m.processes[id] = &process{entry: e, port: port, started: now, known: now}
		m.launched, m.next = id, now.Add(m.pace)
		return append(short, Start{ID: id, Entry: e, Port: port})
	}
	return short
}

// setPace sets the wait after the next launch by the life of the last process.
func (m *Machine) setPace() {
	if m.launched == "" {
		return
	}
	if p := m.processes[m.launched]; p != nil {
		m.pace = max(lastPace, m.pace-paceStep)
	} else {
		m.pace = firstPace
	}
	m.launched = ""
}

// Placeholder in Parameters is replaced by a leased port.
const Placeholder = "{port}"

// Forgive forgets crashes: the programs are others now.
func (m *Machine) Forgive() { clear(m.backoff) }

// Registered records that the service knows a process as ready. The first time it is followed by a heartbeat, from
// which the service knows that this agent runs it.
func (m *Machine) Registered(id string) []Action {
	p := m.processes[id]
	if p == nil || p.registered {
		return nil
	}
	p.registered = true
	return []Action{Beat{}}
}

// ForceExit ends a process for the service: at once if it is ForceTerminated. An unknown reason is NormalTermination.
func (m *Machine) ForceExit(now time.Time, id string, reason Reason) []Action {
	if !reason.known() {
		reason = NormalTermination
	}
	p := m.processes[id]
	if p == nil {
		m.withdraw(id)
		return nil
	}
	if reason != ForceTerminated {
		return m.end(now, id, reason)
	}
	p.killAt = time.Time{}
	if p.reason == "" {
		p.reason = reason
	}
	return []Action{Signal{ID: id, Kill: true}}
}

// end asks a process to end, unless it was asked before.
func (m *Machine) end(now time.Time, id string, reason Reason) []Action {
	p := m.processes[id]
	if p == nil || p.reason != "" {
		return nil
	}
	p.reason, p.killAt = reason, now.Add(killDelay)
	return []Action{Signal{ID: id}}
}

// Heartbeat applies the answer to a heartbeat. A process that the service does not know cannot be asked to end with its
// compute, and has no game session: it is ended here.
func (m *Machine) Heartbeat(now time.Time, status Status, unhealthy, unregistered []string) (do []Action) {
	for _, id := range unhealthy {
		do = append(do, m.end(now, id, Unhealthy)...)
	}
	for _, id := range m.Processes() {
		p := m.processes[id]
		if !slices.Contains(unregistered, id) {
			p.unregistered = 0
			continue
		}
		if m.terminates() {
			do = append(do, m.end(now, id, ComputeShuttingDown)...)
		} else if p.unregistered++; p.unregistered >= maxUnregistered {
			do = append(do, m.end(now, id, InitTimeout)...)
		}
	}
	return append(do, m.move(now, status)...)
}

// move changes the state of the compute as the service reports it.
func (m *Machine) move(now time.Time, status Status) []Action {
	if m.terminates() {
		return nil
	}
	is := func(s Status) bool { return strings.EqualFold(string(status), string(s)) }
	switch {
	case is(Initializing) && m.status == Initializing:
		m.status = Activating
	case is(Active):
		m.status = Active
	case is(Terminating):
		return m.Terminate(now, false, now.Add(terminationLimit))
	case is(Terminated):
		m.status, m.deadline = Terminated, now.Add(exitLimit)
		return m.killAll()
	}
	return nil
}

// TerminateCompute stops the compute because the service asks for it.
func (m *Machine) TerminateCompute(now time.Time) []Action {
	return m.Terminate(now, false, now.Add(terminationLimit))
}

// Terminate starts nothing more, and has the service ask the processes to end. Those that are left at the deadline are
// ended. It has an effect once.
func (m *Machine) Terminate(now time.Time, interrupted bool, deadline time.Time) []Action {
	if m.terminates() {
		return nil
	}
	m.status, m.deadline = Terminating, deadline
	if interrupted {
		m.status = Interrupted
	}
	if deadline.Before(now) {
		m.deadline = now
	}
	return []Action{Beat{}}
}

func (m *Machine) terminates() bool {
	return m.status == Terminating || m.status == Interrupted || m.status == Terminated
}

// terminate proceeds with the end of the compute.
func (m *Machine) terminate(now time.Time) (do []Action) {
	over := !now.Before(m.deadline)
	if m.status != Terminated && (over || len(m.processes) == 0) {
		m.status, m.deadline = Terminated, now.Add(killDelay+exitLimit)
		for _, id := range m.Processes() {
			do = append(do, m.end(now, id, ComputeShuttingDown)...)
		}
		over = false
	}
	if m.status == Terminated && (over || len(m.processes) == 0) && !m.finished {
		m.finished = true
		do = append(do, Finish{})
	}
	return do
}

func (m *Machine) killAll() (do []Action) {
	for _, id := range m.Processes() {
		p := m.processes[id]
		if p.reason == "" {
			p.reason = ComputeShuttingDown
		}
		p.killAt = time.Time{}
		do = append(do, Signal{ID: id, Kill: true})
	}
	return do
}
