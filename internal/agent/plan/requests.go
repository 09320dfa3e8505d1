package plan

import (
	"slices"
	"strings"
	"time"
)

// A request is a process that the service has requested and that has no slot yet.
type request struct{ id, build string }

// keptRequests is how many ids of requests are remembered: the service may repeat one until it knows of the process.
const keptRequests = 100

// Request has a process of another build than the fleet's own started in the next slot of the runtime configuration
// that is free, before those of the own build. Its crash delays nothing: it is requested for one game session. A
// repetition has no effect.
func (m *Machine) Request(id, build string) {
	if m.terminates() || m.processes[id] != nil || slices.Contains(m.requested, id) {
		return
	}
	m.requests = append(m.requests, request{id, build})
	m.remember(id)
}

// remember keeps the id of a request.
func (m *Machine) remember(id string) {
	m.requested = append(m.requested, id)
	if extra := len(m.requested) - keptRequests; extra > 0 {
		m.requested = slices.Delete(m.requested, 0, extra)
	}
}

// withdraw drops a request that has no slot yet.
func (m *Machine) withdraw(id string) {
	m.requests = slices.DeleteFunc(m.requests, func(r request) bool { return r.id == id })
}

// slot returns the entry whose slot a requested process gets: the first one that has fewer processes than its count.
func (m *Machine) slot() (found Entry, ok bool) {
	if m.status != Activating && m.status != Active {
		return found, false
	}
	wanted, running := 0, map[Entry]int{}
	for _, p := range m.processes {
		running[p.entry]++
	}
	for _, e := range slices.Backward(m.entries) {
		if wanted += e.Count; running[e] < e.Count {
			found, ok = e, true
		}
	}
	return found, ok && len(m.processes) < wanted
}

// launchRequest starts the oldest request in the slot of an entry, and reports it, because the service waits for it.
// Without a free port it waits as others do.
func (m *Machine) launchRequest(now time.Time, e Entry) []Action {
	r, port := m.requests[0], 0
	if strings.Contains(e.Parameters, Placeholder) {
		if port = m.ports.Lease(now); port == 0 {
			m.noPort = true
			return nil
		}
	}
	m.noPort = false
	m.requests = slices.Delete(m.requests, 0, 1)
	m.processes[r.id] = &process{entry: e, build: r.build, port: port, started: now, known: now}
	return []Action{Start{ID: r.id, Entry: e, Port: port, Build: r.build}, Beat{}}
}
