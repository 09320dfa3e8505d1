package agent

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// maxMessage is the maximum size of a message from an agent, in bytes.
	maxMessage = 1 << 20
	// maxName bounds Action, RequestId and other names in bytes; those of agents are at most 41.
	maxName = 128
	// maxProcesses is the maximum number of processes in a heartbeat. A compute runs 50.
	maxProcesses = 1000
	// maxLines is the maximum size of the lines in a message, in bytes. An agent sends at most 96 KiB.
	maxLines = 128 << 10
	// maxProblem is the maximum size of the reason for which there are no lines, in bytes.
	maxProblem = 512
	// maxPath bounds launch paths and parameters in bytes. Source: API reference, ServerProcess: 1024 characters.
	maxPath = 4096
	// maxOutput is the maximum size of the output of a back-off in bytes.
	maxOutput = 2 << 10
	// maxWaitMillis bounds the wait of a back-off, which is a minute or has passed.
	maxWaitMillis = 7 * 24 * 3600 * 1000
)

// A request is a message of an agent: the envelope and the fields of all actions together. A missing or null field has
// its zero value, names match in any case, and unknown fields are ignored, as agents do with replies.
type request struct {
	Action, RequestId string

	Status            string
	ProcessList       []string
	ProcessId         string
	TerminationReason string
	RoleSessionName   string

	// Of Muster's own agent.
	StreamId, Lines, Problem string
	Skipped, Ended           bool
	Backoffs                 []backoff
	Builds                   []string // ids
	Detail                   string   // of the end of a process
}

// A backoff is a program that waits after crashes.
type backoff struct {
	LaunchPath, Parameters, ProcessId string
	Crashes                           int32
	ExitCode, WaitMillis              int64
	Output                            string
}

// problem returns an error for a back-off that is invalid.
func (b *backoff) problem() error {
	switch {
	case b.LaunchPath == "" || len(b.LaunchPath) > maxPath || len(b.Parameters) > maxPath:
		return fault.New(fault.InvalidRequest, "LaunchPath and Parameters of a back-off may have at most %d bytes, "+
			"and LaunchPath is required", maxPath)
	case !isName(b.ProcessId):
		return fault.New(fault.InvalidRequest, "ProcessId of a back-off must have 1 to %d bytes", maxName)
	case b.Crashes < 1:
		return fault.New(fault.InvalidRequest, "Crashes of a back-off must be at least 1")
	case b.WaitMillis > maxWaitMillis || b.WaitMillis < -maxWaitMillis:
		return fault.New(fault.InvalidRequest, "WaitMillis of a back-off must be between -%d and %d", maxWaitMillis,
			maxWaitMillis)
	case len(b.Output) > maxOutput:
		return fault.New(fault.InvalidRequest, "Output of a back-off may have at most %d bytes", maxOutput)
	}
	return nil
}

// backoffsFrom converts back-offs; nil if they are not reported.
func backoffsFrom(all []backoff) []processes.AgentBackoff {
	if all == nil {
		return nil
	}
	out := make([]processes.AgentBackoff, len(all))
	for i, b := range all {
		out[i] = processes.AgentBackoff{Wait: time.Duration(b.WaitMillis) * time.Millisecond, Backoff: fleet.Backoff{
			LaunchPath: b.LaunchPath, Parameters: b.Parameters, Process: b.ProcessId, ExitCode: b.ExitCode,
			Crashes: b.Crashes, Output: b.Output}}
	}
	return out
}

// decodeRequest reads a message. ignored is why it cannot be answered: it is no JSON object, or has no valid envelope.
// invalid is why the request is refused.
func decodeRequest(data []byte) (r request, ignored, invalid error) {
	err := json.Unmarshal(data, &r)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		// the other fields were read
		invalid = fault.New(fault.InvalidRequest, "%s has a value of the wrong type", wrong.Field)
	} else if err != nil {
		return r, errors.New("it is no JSON object"), nil
	}
	if !isName(r.Action) || !isName(r.RequestId) {
		return r, errors.New("it needs Action and RequestId of 1 to 128 bytes"), nil
	}
	if invalid == nil {
		invalid = r.problem()
	}
	return r, nil, invalid
}

// problem returns an error for a request that is invalid in any state.
func (r *request) problem() error {
	switch r.Action {
	case actionHeartbeat:
		if len(r.ProcessList) > maxProcesses {
			return fault.New(fault.InvalidRequest, "ProcessList has %d elements; the maximum is %d", len(r.ProcessList),
				maxProcesses)
		}
		for _, id := range r.ProcessList {
			if !isName(id) {
				return fault.New(fault.InvalidRequest, "ProcessList has an element without 1 to %d bytes", maxName)
			}
		}
		if len(r.Backoffs) > fleet.MaxBackoffs {
			return fault.New(fault.InvalidRequest, "Backoffs has %d elements; the maximum is %d", len(r.Backoffs),
				fleet.MaxBackoffs)
		}
		for i := range r.Backoffs {
			if err := r.Backoffs[i].problem(); err != nil {
				return err
			}
		}
		if len(r.Builds) > fleet.MaxBuilds || !all(r.Builds, isName) {
			return fault.New(fault.InvalidRequest, "Builds may have %d elements of 1 to %d bytes", fleet.MaxBuilds,
				maxName)
		}
	case actionProcessExited:
		if !isName(r.ProcessId) {
			return fault.New(fault.InvalidRequest, "ProcessId must have 1 to %d bytes", maxName)
		}
		if !isName(r.TerminationReason) {
			return fault.New(fault.InvalidRequest, "TerminationReason must have 1 to %d bytes", maxName)
		}
		if len(r.Detail) > maxProblem {
			return fault.New(fault.InvalidRequest, "Detail must have at most %d bytes", maxProblem)
		}
	case actionPutLines:
		if !isName(r.StreamId) {
			return fault.New(fault.InvalidRequest, "StreamId must have 1 to %d bytes", maxName)
		}
		if len(r.Problem) > maxProblem || len(r.Lines) > maxLines {
			return fault.New(fault.InvalidRequest, "Problem must have at most %d bytes, Lines at most %d", maxProblem,
				maxLines)
		}
	}
	return nil
}

func all(list []string, is func(string) bool) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !is(s) })
}

func isName(s string) bool { return s != "" && len(s) <= maxName }
