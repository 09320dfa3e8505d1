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
			"The agent of compute %s reported that server process %s has ended: %s.", c.Compute, c.ID, c.Reason)}
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
		case p.TerminateBy == 0 && (!c.Idle || p.Status != ProcessHosting):
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
