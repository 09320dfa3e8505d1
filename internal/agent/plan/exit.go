package plan

import "time"

const (
	// crashLife is the life after which an exit code other than 0 does not delay the next process.
	crashLife = time.Minute
	// goodLife is the life after which earlier crashes are forgotten.
	goodLife = 5 * time.Minute
	// firstWait and maxWait are the waits after the first crash and after many.
	firstWait, maxWait = time.Second, time.Minute
	// crashLoop is how many crashes in a row are a crash loop.
	crashLoop = 5
	// spread is the share by which a wait is longer or shorter.
	spread = 0.2
)

// A program is an entry without its count, so that a change of the count keeps the wait after crashes.
type program struct{ path, parameters string }

func programOf(e Entry) program { return program{e.LaunchPath, e.Parameters} }

// A backoff delays the launches of a program that crashes.
type backoff struct {
	last  Crash
	until time.Time
}

// Exited records the end of a process with its exit code, which is negative if a signal has ended it. random, in
// [0, 1), spreads the wait after a crash.
func (m *Machine) Exited(now time.Time, id string, code int, random float64) []Action {
	p := m.processes[id]
	if p == nil {
		return nil
	}
	life, reason := now.Sub(p.started), p.reason
	if reason == "" {
		if reason = NormalTermination; code != 0 {
			reason = Crashed
		}
	}
	m.remove(id, now)
	do := []Action{Report{ID: id, Reason: reason}}
	if m.terminates() {
		return do
	}
	if p.build != "" {
		if reason == Crashed {
			do = append(do, Crash{ID: id, Entry: p.entry, Code: code, Crashes: 1})
		}
		return do
	}
	key := programOf(p.entry)
	if life >= goodLife {
		delete(m.backoff, key)
	}
	own := p.reason == "" && code != 0 && life < crashLife // nothing else has ended it
	if !own && (p.registered || p.known.After(p.started)) {
		delete(m.backoff, key)
		return do
	}
	return append(do, m.crashed(now, id, p.entry, code, random))
}

// StartFailed records that a process could not be started, because its file is missing or is no program.
func (m *Machine) StartFailed(now time.Time, id string, random float64) []Action {
	p := m.processes[id]
	if p == nil {
		return nil
	}
	m.remove(id, now)
	if p.build != "" {
		return []Action{Report{ID: id, Reason: InvalidPath}}
	}
	return []Action{Report{ID: id, Reason: InvalidPath}, m.crashed(now, id, p.entry, noProgram, random)}
}

// NotStarted records that a process was not started for a reason of the agent's own. It is reported only if the service
// has requested it, because else the service has never seen it.
func (m *Machine) NotStarted(now time.Time, id string) (do []Action) {
	if p := m.processes[id]; p != nil {
		m.remove(id, now)
		if p.build != "" {
			do = []Action{Report{ID: id, Reason: InvalidPath}}
		}
	}
	return do
}

// noProgram is the exit code of a process that was not started. Source: GameLift Agent, GameProcessManager.
const noProgram = 2

func (m *Machine) remove(id string, now time.Time) {
	m.ports.Release(m.processes[id].port, now)
	delete(m.processes, id)
}

// crashed makes an entry wait.
func (m *Machine) crashed(now time.Time, id string, e Entry, code int, random float64) Crash {
	key := programOf(e)
	b := m.backoff[key]
	if b == nil {
		b = new(backoff)
		m.backoff[key] = b
	}
	wait := min(firstWait<<min(b.last.Crashes, 10), maxWait)
	wait = time.Duration(float64(wait) * (1 - spread + 2*spread*random))
	b.until = now.Add(wait)
	b.last = Crash{ID: id, Entry: e, Code: code, Crashes: b.last.Crashes + 1, Wait: wait}
	return b.last
}
