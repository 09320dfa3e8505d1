package fleet

import (
	"maps"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// AgentLevel is the feature level from which agents report what happens to the processes that they have started.
const AgentLevel = 8

// ForceLevel is the feature level from which rooms know which processes agents run, and which crash, and can have them
// ended at once.
const ForceLevel = 9

// An ExitReason is why a process ended, as its agent reports it. Source: GameLift Agent, ProcessTerminationReason.
type ExitReason string

// The reasons that the service itself gives when it has an agent end a process.
const (
	ExitCrashed         ExitReason = "SERVER_PROCESS_CRASHED"
	ExitUnhealthy       ExitReason = "SERVER_PROCESS_TERMINATED_UNHEALTHY"
	ExitReadyTimeout    ExitReason = "SERVER_PROCESS_PROCESS_READY_TIMEOUT"
	ExitForceTerminated ExitReason = "SERVER_PROCESS_FORCE_TERMINATED"
	ExitTimeout         ExitReason = "SERVER_PROCESS_PROCESS_EXIT_TIMEOUT"
)

// exits are the reasons that agents know, with what they mean for the process. All but the normal ones add a fleet
// event, whose code is the reason.
var exits = map[ExitReason]exit{
	"NORMAL_TERMINATION":                        {EndedItself, true},
	"CUSTOMER_INITIATED":                        {EndedItself, true},
	"COMPUTE_SHUTTING_DOWN":                     {EndedWithCompute, true},
	"SERVER_PROCESS_INVALID_PATH":               {EndedNeverReady, false},
	"SERVER_PROCESS_SDK_INITIALIZATION_TIMEOUT": {EndedNeverReady, false},
	ExitReadyTimeout:                            {EndedNeverReady, false},
	ExitCrashed:                                 {EndedCrashed, false},
	ExitUnhealthy:                               {EndedUnhealthy, false},
	ExitForceTerminated:                         {EndedByForce, false},
	ExitTimeout:                                 {EndedByForce, false},
}

type exit struct {
	end    EndReason
	normal bool
}

// ExitProcess reports that a process has ended, or could not be started: its agent knows. No process with its id may
// connect afterwards, even if none has connected before. It can be repeated.
type ExitProcess struct {
	ProcessKey
	Reason ExitReason `cbor:"3,keyasint,omitzero"`
	Detail string     `cbor:"4,keyasint,omitzero"` // for the fleet event; "": none
}

func (c ExitProcess) decide(r *Room, now event.Time) ([]any, error) {
	how, ok := exits[c.Reason]
	if !ok {
		return nil, errExitReason(c.Reason)
	}
	p, known := r.process(c.ProcessKey)
	if _, registered := r.computes.Get(c.Compute); !known && !registered || known && p.Exited {
		return nil, nil
	}
	var note []any
	if !how.normal {
		note = []any{newFleetEvent(now, string(c.Reason),
			"The agent of compute %s reported that server process %s has ended: %s.%s", c.Compute, c.ID, c.Reason,
			strings.TrimRight(" "+c.Detail, " "))}
	}
	var events []any
	switch {
	case !known:
		events = note
	case p.Status != ProcessEnded:
		events = r.endWith(p, how.end, now, note)
	case p.End == EndedItself && c.Reason == ExitTimeout: // the end of all others has been recorded
		events = note
	}
	return append(events, &ProcessExited{ProcessKey: c.ProcessKey, Reason: how.end, At: now,
		ForgetAt: now.Add(r.settings.ProcessRetention)}), nil
}

func (ExitProcess) answer(*Room) any { return nil }

func errExitReason(reason ExitReason) error {
	var known []string
	for _, r := range slices.Sorted(maps.Keys(exits)) {
		known = append(known, string(r))
	}
	return fault.New(fault.InvalidRequest, "TerminationReason %q is not one of %s", reason, strings.Join(known, ", "))
}

func (e *ProcessExited) apply(r *Room) {
	if _, known := r.process(e.ProcessKey); known {
		r.changeProcess(e.ProcessKey, func(p *Process) { p.Exited = true })
		return
	}
	p := &Process{ProcessKey: e.ProcessKey, Status: ProcessEnded, Created: e.At, Ended: e.At, End: e.Reason,
		ForgetAt: e.ForgetAt, Exited: true}
	r.storeProcess(p)
	r.keepUpWith(nil, p)
}

// SuperviseProcesses reports processes of a compute that an agent runs. It can be repeated.
type SuperviseProcesses struct {
	Compute string   `cbor:"1,keyasint,omitzero"`
	IDs     []string `cbor:"2,keyasint,omitzero"`
}

func (c SuperviseProcesses) decide(r *Room, _ event.Time) (events []any, err error) {
	for _, id := range c.IDs {
		key := ProcessKey{Compute: c.Compute, ID: id}
		if p, ok := r.process(key); ok && !p.Supervised && p.Status != ProcessEnded {
			events = append(events, &ProcessSupervised{key})
		}
	}
	return events, nil
}

func (SuperviseProcesses) answer(*Room) any { return nil }

func (e *ProcessSupervised) apply(r *Room) {
	r.changeProcess(e.ProcessKey, func(p *Process) { p.Supervised = true })
}

// ReportBackoffs reports the programs of a compute that wait after crashes: all of them, at most MaxBackoffs. It can be
// repeated.
type ReportBackoffs struct {
	Compute  string    `cbor:"1,keyasint,omitzero"`
	Backoffs []Backoff `cbor:"2,keyasint,omitzero"`
}

func (c ReportBackoffs) decide(r *Room, _ event.Time) ([]any, error) {
	compute, ok := r.computes.Get(c.Compute)
	switch {
	case !ok:
		return nil, r.noCompute(c.Compute)
	case len(c.Backoffs) > MaxBackoffs:
		return nil, fault.New(fault.InvalidRequest, "There are %d back-offs; at most %d are allowed", len(c.Backoffs),
			MaxBackoffs)
	case compute.HasBackoffs(c.Backoffs):
		return nil, nil
	}
	return []any{&BackoffsChanged{Compute: c.Compute, Backoffs: c.Backoffs}}, nil
}

func (ReportBackoffs) answer(*Room) any { return nil }

// HasBackoffs reports whether the back-offs are those of the compute.
func (c *Compute) HasBackoffs(all []Backoff) bool {
	return slices.EqualFunc(c.Backoffs, all, func(b, o Backoff) bool { return b.isSame(&o) })
}

func (e *BackoffsChanged) apply(r *Room) {
	if old, ok := r.computes.Get(e.Compute); ok {
		next := *old
		next.Backoffs = e.Backoffs
		r.computes.Set(e.Compute, &next)
	}
}

// ForceTerminateGameSession ends a game session with its process, which an agent has to run: the agent ends it at once.
type ForceTerminateGameSession struct {
	ID string `cbor:"1,keyasint,omitzero"`
}

func (c ForceTerminateGameSession) decide(r *Room, now event.Time) ([]any, error) {
	g, err := r.liveSession(c.ID)
	if err != nil {
		return nil, err
	}
	p, err := r.livingProcess(g.Host)
	switch {
	case err != nil:
		return nil, err
	case !p.Supervised:
		return nil, fault.New(fault.InvalidRequest, "FORCE_TERMINATE needs an agent that runs the server process, and "+
			"none has reported process %s of compute %s. Use TRIGGER_ON_PROCESS_TERMINATE. An agent reports a new "+
			"process within a minute.", p.ID, p.Compute)
	}
	events := r.endWith(p, EndedByForce, now, []any{newFleetEvent(now, codeProcessForceTerminated,
		"Server process %s on compute %s was ended with game session %s by FORCE_TERMINATE.", p.ID, p.Compute, g.ID)})
	for _, e := range events {
		if ended, ok := e.(*GameSessionEnded); ok {
			ended.Reason = ForceTerminated
		}
	}
	return events, nil
}

func (c ForceTerminateGameSession) answer(r *Room) any { return r.sessionOrNil(c.ID) }

// StopCompute reports that a compute is being stopped, so its processes are asked to end: with Idle only those without
// a game session; with Stopped, they have ended. The compute stays registered: its agent may start again. It can be
// repeated.
type StopCompute struct {
	Name    string `cbor:"1,keyasint,omitzero"`
	Stopped bool   `cbor:"2,keyasint,omitzero"`
	Idle    bool   `cbor:"3,keyasint,omitzero"` // from catalog.InstanceLevel on
	// Only, if not empty, are the ids of the processes that are meant; from catalog.InstanceLevel on.
	Only []string `cbor:"4,keyasint,omitzero"`
}

func (c StopCompute) decide(r *Room, now event.Time) ([]any, error) {
	if _, ok := r.computes.Get(c.Name); !ok {
		return nil, r.noCompute(c.Name)
	}
	var events []any
	r.processesOf(c.Name, func(p *Process) bool {
		switch {
		case p.Status == ProcessEnded, len(c.Only) > 0 && !slices.Contains(c.Only, p.ID):
		case c.Stopped:
			events = append(events, r.end(p, EndedWithCompute, now)...)
		case p.TerminateBy == 0 && (!c.Idle || !p.Hosts()):
			by := now.Add(r.settings.TerminationGrace)
			events = append(events, &ProcessAskedToEnd{ProcessKey: p.ProcessKey, By: by})
		}
		return true
	})
	return events, nil
}

func (StopCompute) answer(*Room) any { return nil }

// CheckToken rejects a text that is not an auth token of a compute, or has expired, with an AccessDenied fault.
func (r *Room) CheckToken(compute, text string, now event.Time) error {
	c, ok := r.computes.Get(compute)
	if !ok {
		return badToken(compute)
	}
	serial, ok := r.settings.TokenSerial(r.id, c, text)
	if !ok || !tokenHolds(c, serial, now, false) {
		return badToken(compute)
	}
	return nil
}
