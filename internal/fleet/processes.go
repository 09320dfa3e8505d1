package fleet

import (
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// ConnectProcess opens a new socket for a server process. Token is the serial of its auth token, 0 if it signed its
// request instead. A new process needs a token that has not expired; a running one may reconnect with the token that it
// used before, because the server SDKs never fetch a new one.
//
// A process that ended itself may reconnect to get the answer that it missed (the SDKs for C# and C++ with a new
// idempotency token), so a socket with its id changes nothing. If it is a new process with the same id, it calls
// ProcessReady: then it is connected with NewRun.
type ConnectProcess struct {
	ProcessKey
	Token       uint64 `cbor:"3,keyasint,omitzero"`
	Proof       string `cbor:"4,keyasint,omitzero"` // the text of a token; if set, it determines Token
	Idempotency string `cbor:"5,keyasint,omitzero"`
	SDKVersion  string `cbor:"6,keyasint,omitzero"`
	SDKLanguage string `cbor:"7,keyasint,omitzero"`
	NewRun      bool   `cbor:"8,keyasint,omitzero"` // not the process that ended itself
	// Legacy is a process on server SDK 3 or 4. Its endpoint chooses the compute, which has no limit of processes, and
	// finds out whether it is new: an ended process with its id is another one.
	Legacy bool `cbor:"9,keyasint,omitzero"`
}

func (c ConnectProcess) decide(r *Room, now event.Time) ([]any, error) {
	compute, ok := r.computes.Get(c.Compute)
	if !ok {
		return nil, fault.New(fault.AccessDenied, "Compute %s is not registered in fleet %s", c.Compute, r.id.Fleet)
	}
	if c.Proof != "" {
		if c.Token, ok = r.settings.TokenSerial(r.id, compute, c.Proof); !ok {
			return nil, badToken(c.Compute)
		}
	}
	old, known := r.process(c.ProcessKey)
	if known && old.Exited && !c.Legacy {
		return nil, hasEnded(c.ID)
	}
	if known && !c.NewRun && !c.Legacy && c.mayRepeatEnding(old, now) && tokenHolds(compute, c.Token, now, true) {
		return nil, nil
	}
	if known && old.Status == ProcessEnded && !c.Legacy && c.reconnectsAfterEnd(old) {
		return nil, hasEnded(c.ID)
	}
	alive := known && old.Status != ProcessEnded
	if !tokenHolds(compute, c.Token, now, alive) {
		return nil, badToken(c.Compute)
	}
	if alive {
		resumed := &ProcessResumed{ProcessKey: c.ProcessKey, Token: c.Token, Idempotency: c.Idempotency}
		if old.Requested {
			resumed.SDKVersion, resumed.SDKLanguage = c.SDKVersion, c.SDKLanguage
		}
		if old.running() {
			resumed.HealthBy = r.settings.healthBy(true, now)
		}
		return []any{resumed}, nil
	}
	if h, ok := r.hosts[c.Compute]; ok && !c.Legacy && h.processes >= r.settings.Processes {
		return nil, fault.New(fault.AccessDenied, "Compute %s already runs %d server processes, which is the limit",
			c.Compute, r.settings.Processes)
	}
	return []any{&ProcessConnected{
		ProcessKey: c.ProcessKey, Token: c.Token, Idempotency: c.Idempotency,
		SDKVersion: c.SDKVersion, SDKLanguage: c.SDKLanguage,
		At: now, ReadyBy: now.Add(r.settings.ReadyTimeout),
	}}, nil
}

// repeatEndingWithin is how long a process that ended itself may reconnect with the same idempotency token to get the
// answer to TerminateServerProcess, which may have been lost.
const repeatEndingWithin = time.Minute

// mayRepeatEnding reports whether the socket may be that of a process that ended itself and waits for the answer.
// Without it the server SDKs retry for minutes before the game server exits.
func (c ConnectProcess) mayRepeatEnding(old *Process, now event.Time) bool {
	return old.Status == ProcessEnded && old.End == EndedItself && c.Idempotency != "" &&
		(c.Idempotency != old.Idempotency || now < old.Ended.Add(repeatEndingWithin))
}

// reconnectsAfterEnd distinguishes an ended process that retries from a new process with the same id. One that ended
// itself is known by its idempotency token; one that the service ended may use any.
func (c ConnectProcess) reconnectsAfterEnd(old *Process) bool {
	return old.End != EndedItself || c.Idempotency == "" || c.Idempotency == old.Idempotency
}

// tokenHolds reports whether a token authenticates a socket.
func tokenHolds(c *Compute, serial uint64, now event.Time, alive bool) bool {
	if serial == 0 { // signed
		return true
	}
	for _, t := range c.Tokens {
		if t.Serial == serial {
			return alive || t.Expires > now
		}
	}
	return false
}

// answer returns the *Process, which has ended if it only repeats its ending.
func (c ConnectProcess) answer(r *Room) any {
	p, _ := r.Process(c.ProcessKey)
	return p
}

func (e *ProcessConnected) apply(r *Room) {
	old, _ := r.process(e.ProcessKey) // an ended one with the same id
	p := &Process{
		ProcessKey: e.ProcessKey, Status: ProcessInitializing, Connected: true, Token: e.Token,
		Idempotency: e.Idempotency,
		SDKVersion:  e.SDKVersion, SDKLanguage: e.SDKLanguage, Created: e.At, ReadyBy: e.ReadyBy,
	}
	r.storeProcess(p)
	r.keepUpWith(old, p)
}

func (e *ProcessResumed) apply(r *Room) {
	r.changeProcess(e.ProcessKey, func(p *Process) {
		p.Connected, p.ReconnectBy = true, 0
		p.Token, p.Idempotency, p.HealthBy = e.Token, e.Idempotency, e.HealthBy
		if p.Requested {
			p.Requested, p.SDKVersion, p.SDKLanguage = false, e.SDKVersion, e.SDKLanguage
		}
	})
}

// LoseProcess reports that the socket of a process closed. The process may reconnect within the grace period, unless it
// has crashed for certain.
type LoseProcess struct {
	ProcessKey
	Crashed bool `cbor:"3,keyasint,omitzero"`
}

func (c LoseProcess) decide(r *Room, now event.Time) ([]any, error) {
	p, ok := r.process(c.ProcessKey)
	switch {
	case !ok || p.Status == ProcessEnded:
		return nil, nil
	case c.Crashed:
		return r.end(p, EndedCrashed, now), nil
	case !p.Connected:
		return nil, nil
	}
	return []any{&ProcessLost{ProcessKey: c.ProcessKey, ReconnectBy: now.Add(r.settings.ProcessGrace)}}, nil
}

func (LoseProcess) answer(*Room) any { return nil }

func (e *ProcessLost) apply(r *Room) {
	r.changeProcess(e.ProcessKey, func(p *Process) { p.Connected, p.ReconnectBy, p.HealthBy = false, e.ReconnectBy, 0 })
}

// ReadyProcess reports that a process can host a game session. It can be repeated.
type ReadyProcess struct {
	ProcessKey
	Port     int32    `cbor:"3,keyasint,omitzero"`
	LogPaths []string `cbor:"4,keyasint,omitzero"`
}

func (c ReadyProcess) decide(r *Room, now event.Time) ([]any, error) {
	p, err := r.livingProcess(c.ProcessKey)
	switch {
	case err != nil:
		return nil, err
	case p.Requested:
		return nil, noProcess(c.ProcessKey)
	case c.Port < 1 || c.Port > 60000:
		return nil, fault.New(fault.InvalidRequest, "Port %d is not between 1 and 60000", c.Port)
	case p.Status != ProcessInitializing:
		return nil, nil
	}
	ready := &ProcessBecameReady{ProcessKey: c.ProcessKey, Port: c.Port, LogPaths: c.LogPaths, At: now,
		HealthBy: r.settings.healthBy(p.Connected, now)}
	if g := r.awaited(p); g != nil {
		return []any{ready, &GameSessionHosted{Ordinal: g.Ordinal, Host: c.ProcessKey, Port: c.Port}}, nil
	}
	return r.unneeded(p, now, ready), nil
}

func (c ReadyProcess) answer(r *Room) any {
	p, _ := r.Process(c.ProcessKey)
	return p
}

func (e *ProcessBecameReady) apply(r *Room) {
	r.changeProcess(e.ProcessKey, func(p *Process) {
		p.Status, p.Session, p.Port, p.LogPaths = ProcessIdle, 0, e.Port, e.LogPaths
		p.Ready, p.ReadyBy, p.HealthBy = e.At, 0, e.HealthBy
	})
}

// ReportHealth is a heartbeat. Too many unhealthy ones in a row end the process.
type ReportHealth struct {
	ProcessKey
	Healthy bool `cbor:"3,keyasint,omitzero"`
}

func (c ReportHealth) decide(r *Room, now event.Time) ([]any, error) {
	p, err := r.livingProcess(c.ProcessKey)
	switch {
	case err != nil:
		return nil, err
	case p.Status == ProcessInitializing:
		return nil, notReady(c.ProcessKey)
	case !c.Healthy && p.Unhealthy+1 >= r.settings.HealthMisses:
		return r.end(p, EndedUnhealthy, now), nil
	}
	return []any{&HealthReported{ProcessKey: c.ProcessKey, Healthy: c.Healthy,
		HealthBy: r.settings.healthBy(p.Connected, now)}}, nil
}

func (ReportHealth) answer(*Room) any { return nil }

func (e *HealthReported) apply(r *Room) {
	r.changeProcess(e.ProcessKey, func(p *Process) {
		p.HealthBy = e.HealthBy
		p.Unhealthy++
		if e.Healthy {
			p.Unhealthy = 0
		}
	})
}

// LegacyLevel is the feature level from which a process can host several game sessions, one after the other, and move
// to another room, as processes on server SDK 3 and 4 do.
const LegacyLevel = 4

// allowsLegacy rejects what replicas of earlier releases would apply in another way.
func (r *Room) allowsLegacy() error {
	if r.Allows(LegacyLevel) {
		return nil
	}
	return fault.New(fault.ServiceUnavailable, "This needs the present release on all nodes. Upgrade them.")
}

// ReleaseProcess ends the game session of a process, which can then host the next one. A process that was asked to end
// keeps its game session's place until it ends.
type ReleaseProcess struct {
	ProcessKey
	GameSession string `cbor:"3,keyasint,omitzero"`
}

func (c ReleaseProcess) decide(r *Room, now event.Time) ([]any, error) {
	if err := r.allowsLegacy(); err != nil {
		return nil, err
	}
	g, err := r.hosted(c.ProcessKey, c.GameSession)
	if err != nil {
		return nil, err
	}
	var events []any
	if !g.HasEnded() {
		events = append(events, endSession(g, now))
	}
	p, _ := r.process(c.ProcessKey)
	if p.TerminateBy != 0 {
		return events, nil
	}
	events = append(events, &ProcessBecameReady{ProcessKey: c.ProcessKey, Port: p.Port, LogPaths: p.LogPaths, At: now,
		HealthBy: p.HealthBy})
	return r.unneeded(p, now, events...), nil
}

func (ReleaseProcess) answer(*Room) any { return nil }

// MoveProcess ends an idle process here, because it will be a process of another room. It is a Conflict if the process
// is not idle any more.
type MoveProcess struct{ ProcessKey }

func (c MoveProcess) decide(r *Room, now event.Time) ([]any, error) {
	if err := r.allowsLegacy(); err != nil {
		return nil, err
	}
	p, ok := r.process(c.ProcessKey)
	if !ok || !p.canHost() {
		return nil, fault.New(fault.Conflict, "Server process %s is not idle", c.ID)
	}
	return r.end(p, EndedByMove, now), nil
}

func (MoveProcess) answer(*Room) any { return nil }

// EndProcess reports that a process ends by itself, with its game session. It can be repeated.
type EndProcess struct{ ProcessKey }

func (c EndProcess) decide(r *Room, now event.Time) ([]any, error) {
	p, ok := r.process(c.ProcessKey)
	switch {
	case !ok:
		return nil, noProcess(c.ProcessKey)
	case p.Status == ProcessEnded:
		return nil, nil
	}
	return r.end(p, EndedItself, now), nil
}

func (EndProcess) answer(*Room) any { return nil }

// end returns the events that end a process and its game session.
func (r *Room) end(p *Process, reason EndReason, now event.Time) []any {
	return r.endWith(p, reason, now, r.endNote(p, reason, now))
}

// endWith is end with other fleet events, at most one: see package metrics.
func (r *Room) endWith(p *Process, reason EndReason, now event.Time, note []any) []any {
	var events []any
	if g, ok := r.sessions.Get(p.Session); ok && !g.HasEnded() {
		events = append(events, endSession(g, now))
	}
	events = append(events, note...)
	return append(events, &ProcessHasEnded{ProcessKey: p.ProcessKey, Reason: reason, At: now,
		ForgetAt: now.Add(r.settings.ProcessRetention)})
}

// endNote returns the fleet event of the end of a process, or nothing.
func (r *Room) endNote(p *Process, reason EndReason, now event.Time) []any {
	switch reason {
	case EndedCrashed:
		return []any{newFleetEvent(now, codeProcessCrashed,
			"Server process %s on compute %s lost its connection and did not come back.", p.ID, p.Compute)}
	case EndedUnhealthy:
		return []any{newFleetEvent(now, codeProcessUnhealthy,
			"Server process %s on compute %s did not report healthy %d times in a row.", p.ID, p.Compute,
			r.settings.HealthMisses)}
	case EndedNeverReady:
		return []any{newFleetEvent(now, codeProcessReadyTimeout,
			"Server process %s on compute %s did not call ProcessReady within %s.", p.ID, p.Compute,
			r.settings.ReadyTimeout)}
	case EndedByForce:
		return []any{newFleetEvent(now, codeProcessForceTerminated,
			"Server process %s on compute %s did not call ProcessEnding within %s of being asked to end.",
			p.ID, p.Compute,
			r.settings.TerminationGrace)}
	}
	return nil
}

func (e *ProcessHasEnded) apply(r *Room) {
	r.changeProcess(e.ProcessKey, func(p *Process) {
		p.Status, p.Connected, p.End, p.Ended, p.ForgetAt = ProcessEnded, false, e.Reason, e.At, e.ForgetAt
	})
}

func (e *ProcessAskedToEnd) apply(r *Room) {
	r.changeProcess(e.ProcessKey, func(p *Process) { p.TerminateBy = e.By })
}

func (e *ProcessForgotten) apply(r *Room) {
	r.processes.Delete(processEntry{key: e.ProcessKey})
	delete(r.byKey, e.ProcessKey)
}

// expireProcess returns the events for the expired deadlines of a process.
func (r *Room) expireProcess(p *Process, now event.Time) []any {
	due := func(t event.Time) bool { return t != 0 && t <= now }
	switch {
	case p.Status == ProcessEnded:
		return []any{&ProcessForgotten{ProcessKey: p.ProcessKey}}
	case due(p.TerminateBy):
		return r.end(p, EndedByForce, now)
	case due(p.ReconnectBy):
		return r.end(p, EndedCrashed, now)
	case due(p.ReadyBy):
		return r.end(p, EndedNeverReady, now)
	default:
		return r.end(p, EndedUnhealthy, now)
	}
}

func (r *Room) process(key ProcessKey) (*Process, bool) {
	if r.live != nil {
		p, ok := r.byKey[key]
		return p, ok
	}
	e, ok := r.processes.Get(processEntry{key: key})
	return e.process, ok
}

func (r *Room) livingProcess(key ProcessKey) (*Process, error) {
	p, ok := r.process(key)
	if !ok || p.Status == ProcessEnded {
		return nil, noProcess(key)
	}
	return p, nil
}

// changeProcess changes a process, or a copy of it if others may have seen it.
func (r *Room) changeProcess(key ProcessKey, change func(*Process)) {
	p, ok := r.process(key)
	if !ok {
		return
	}
	old := *p
	if p.record != r.generation {
		next := old
		p = &next
		r.storeProcess(p)
	}
	change(p)
	r.keepUpWith(&old, p)
}

// processesOf calls visit with the processes of a compute, by id.
func (r *Room) processesOf(compute string, visit func(*Process) bool) {
	r.processes.Ascend(processEntry{key: ProcessKey{Compute: compute}}, func(e processEntry) bool {
		return e.key.Compute == compute && visit(e.process)
	})
}

// Process finds a server process.
func (r *Room) Process(key ProcessKey) (*Process, bool) {
	p, ok := r.process(key)
	return r.shownProcess(p), ok
}

// ProcessesOf calls visit with the server processes of a compute, by id, until it returns false.
func (r *Room) ProcessesOf(compute string, visit func(*Process) bool) {
	r.processesOf(compute, func(p *Process) bool { return visit(r.shownProcess(p)) })
}

// LastHealthReport returns when a process has last reported its health, or has called ProcessReady; zero if it has
// not, or has no socket. A change of the settings shifts it until the next report.
func (r *Room) LastHealthReport(p *Process) event.Time {
	if p.HealthBy == 0 {
		return 0
	}
	return p.HealthBy.Add(-r.settings.healthWindow())
}

// Processes calls visit with all server processes, by compute and id, until it returns false.
func (r *Room) Processes(visit func(*Process) bool) {
	r.processes.Scan(func(e processEntry) bool { return visit(r.shownProcess(e.process)) })
}

func noProcess(key ProcessKey) error {
	return fault.New(fault.NotFound, "Server process %s on compute %s is not known, or has ended", key.ID, key.Compute)
}

func badToken(compute string) error {
	return fault.New(fault.AccessDenied, "The auth token is not one of compute %s, or has expired. Call "+
		"GetComputeAuthToken.", compute)
}

func hasEnded(process string) error {
	return fault.New(fault.AccessDenied,
		"Process %s has ended. Process ids must be unique between executions.", process)
}

func notReady(key ProcessKey) error {
	return fault.New(fault.InvalidRequest, "Server process %s has not called ProcessReady", key.ID)
}
