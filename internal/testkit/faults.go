package testkit

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Fault is what happens to calls that a test wants to go wrong. Exactly one of Exception, LoseAnswer and Delay is
// set.
type Fault struct {
	// Operation is one of the GameLift API (CreateGameSession), or a request of the session gateway by its method and
	// path (POST /create_session); "": all of both.
	Operation string `json:"operation,omitempty"`

	Exception  string  `json:"exception,omitempty"`  // the call is not carried out, and answered with this one
	LoseAnswer bool    `json:"loseAnswer,omitempty"` // it is carried out, and its connection closed without an answer
	Delay      Seconds `json:"delay,omitempty"`      // it is carried out after this time

	Times int `json:"times,omitempty"` // number of calls; 0: one

	met bool // by a call
}

// Seconds is a duration that is a number of seconds in JSON.
type Seconds float64

// Of returns a duration as Seconds.
func Of(d time.Duration) Seconds { return Seconds(d.Seconds()) }

// Duration returns the duration.
func (s Seconds) Duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

const (
	maxFaults = 1000
	maxTimes  = 1_000_000
	maxDelay  = Seconds(600)
)

// check returns an InvalidRequestException that names the field which is wrong.
func (f *Fault) check() error {
	set := 0
	for _, is := range []bool{f.Exception != "", f.LoseAnswer, f.Delay != 0} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return fault.New(fault.InvalidRequest, "Set exactly one of exception, loseAnswer and delay.")
	case !isOperation(f.Operation):
		return fault.New(fault.InvalidRequest, "operation is %.128q: use an operation of the API, such as "+
			"CreateGameSession, a request of the session gateway, such as POST /create_session, or nothing for all.",
			f.Operation)
	case f.Exception != "" && !returns(f.Operation, fault.Kind(f.Exception)):
		return fault.New(fault.InvalidRequest, "exception is %.64q, which %s never returns: use %san exception of "+
			"every operation, such as ThrottlingException.", f.Exception, cmp.Or(f.Operation, "the API"),
			modelled(f.Operation))
	case f.Delay < 0 || f.Delay > maxDelay:
		return fault.New(fault.InvalidRequest, "delay is %g seconds: use at most %g.", f.Delay, maxDelay)
	case f.Times < 0 || f.Times > maxTimes:
		return fault.New(fault.InvalidRequest, "times is %d: use 1 to %d, or 0 for one.", f.Times, maxTimes)
	}
	return nil
}

// isOperation reports whether calls can have the name. A request of the session gateway is not looked up, because paths
// may contain ids.
func isOperation(name string) bool {
	if method, path, gateway := strings.Cut(name, " "); gateway {
		return method == strings.ToUpper(method) && strings.HasPrefix(path, "/")
	}
	_, known := wire.Lookup(name)
	return known || name == ""
}

// returns reports whether an operation can return an exception. Requests of the session gateway derive their status
// from any of them.
func returns(operation string, kind fault.Kind) bool {
	if o, known := wire.Lookup(operation); known && !kind.Common() {
		return slices.Contains(o.Errors, string(kind))
	}
	return kind.Common() || kind.Modelled()
}

// modelled lists the exceptions of an operation for an error.
func modelled(operation string) string {
	var names strings.Builder
	if o, known := wire.Lookup(operation); known {
		for _, name := range o.Errors {
			if !fault.Kind(name).Common() {
				names.WriteString(name + ", ")
			}
		}
	}
	if names.Len() == 0 {
		return ""
	}
	return names.String() + "or "
}

// faults are those that are left, the oldest first.
type faults struct {
	mu   sync.Mutex
	left []Fault
}

func (f *faults) add(a Fault) error {
	if err := a.check(); err != nil {
		return err
	}
	a.Times = max(a.Times, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.left) == maxFaults {
		return fault.New(fault.LimitExceeded, "%d faults wait for their calls: remove them first.", maxFaults)
	}
	f.left = append(f.left, a)
	return nil
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = nil
}

func (f *faults) list() []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Fault{}, f.left...)
}

// unmet returns the faults that no call has met.
func (f *faults) unmet() []Fault {
	return slices.DeleteFunc(f.list(), func(a Fault) bool { return a.met })
}

// take uses the oldest fault for a call.
func (f *faults) take(operation string) (found Fault, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.left, func(a Fault) bool { return a.Operation == "" || a.Operation == operation })
	if i < 0 {
		return Fault{}, false
	}
	f.left[i].met = true
	found = f.left[i]
	if f.left[i].Times--; f.left[i].Times == 0 {
		f.left = slices.Delete(f.left, i, i+1)
	}
	return found, true
}

// apply does to a call what the fault says, before the call is carried out.
func (f *Fault) apply(ctx context.Context, clock clockwork.Clock) (lose bool, err error) {
	switch {
	case f.Exception != "":
		return false, fault.New(fault.Kind(f.Exception), "A test wanted this call to fail.")
	case f.Delay > 0:
		select {
		case <-clock.After(f.Delay.Duration()):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return f.LoseAnswer, nil
}
