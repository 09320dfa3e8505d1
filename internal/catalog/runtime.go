package catalog

import (
	"math"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxProcesses is the maximum number of server processes of a runtime configuration. Source: API reference,
// RuntimeConfiguration.
const maxProcesses = 50

// defaultActivationTimeout is the default, which is also the maximum. Source: API model,
// GameSessionActivationTimeoutSeconds.
const defaultActivationTimeout = 600 * time.Second

// RuntimeConfiguration specifies the server processes on each compute of a fleet, and limits of activations.
type RuntimeConfiguration struct {
	ServerProcesses          []ServerProcess `cbor:"1,keyasint,omitempty"`
	MaxConcurrentActivations int32           `cbor:"2,keyasint,omitempty"` // 0: not set
	ActivationTimeoutSeconds int32           `cbor:"3,keyasint,omitempty"` // 0: not set
}

// A ServerProcess is a program of a runtime configuration.
type ServerProcess struct {
	LaunchPath           string `cbor:"1,keyasint,omitempty"`
	Parameters           string `cbor:"2,keyasint,omitempty"`
	ConcurrentExecutions int32  `cbor:"3,keyasint,omitempty"`
}

// UpdateRuntimeConfiguration replaces a fleet's runtime configuration, whatever the fleet's status. NotFound;
// InvalidRequest for more than 50 server processes, and for an EC2-type fleet also as at its creation.
type UpdateRuntimeConfiguration struct {
	Fleet   string               `cbor:"1,keyasint,omitzero"`
	Runtime RuntimeConfiguration `cbor:"2,keyasint"`
}

// RuntimeConfigurationUpdated follows UpdateRuntimeConfiguration.
type RuntimeConfigurationUpdated struct {
	Fleet   string                `cbor:"1,keyasint,omitempty"`
	Runtime *RuntimeConfiguration `cbor:"2,keyasint,omitempty"`
}

func (c UpdateRuntimeConfiguration) decide(s *State, _ event.Time) ([]Event, error) {
	f, err := s.LiveFleet(c.Fleet)
	if err != nil {
		return nil, err
	}
	if f.Managed != nil {
		err = f.Managed.checkRuntime(&c.Runtime)
	} else {
		err = c.Runtime.check()
	}
	if err != nil {
		return nil, err
	}
	return []Event{&RuntimeConfigurationUpdated{Fleet: c.Fleet, Runtime: c.Runtime.clone()}}, nil
}

func (e *RuntimeConfigurationUpdated) apply(s *State) {
	s.changeFleet(e.Fleet, func(f *Fleet) { f.Runtime = e.Runtime })
	s.raiseGenerations(e.Fleet)
}

// check rejects a runtime configuration with too many server processes.
func (r *RuntimeConfiguration) check() error {
	sum := r.Processes()
	if sum > maxProcesses {
		return fault.New(fault.InvalidRequest, "RuntimeConfiguration asks for %d server processes on each compute; at "+
			"most %d are allowed", sum, maxProcesses)
	}
	return nil
}

// Processes returns the number of server processes on each compute; 0 without a configuration.
func (r *RuntimeConfiguration) Processes() (sum int) {
	if r == nil {
		return 0
	}
	for _, p := range r.ServerProcesses {
		sum += int(p.ConcurrentExecutions)
	}
	return sum
}

func (r *RuntimeConfiguration) clone() *RuntimeConfiguration {
	if r == nil {
		return nil
	}
	c := *r
	c.ServerProcesses = slices.Clone(r.ServerProcesses)
	return &c
}

// ActivationTimeout is how long a game session of the fleet may be ACTIVATING: ten minutes by default.
func (f *Fleet) ActivationTimeout() time.Duration {
	if f.Runtime == nil || f.Runtime.ActivationTimeoutSeconds == 0 {
		return defaultActivationTimeout
	}
	return time.Duration(f.Runtime.ActivationTimeoutSeconds) * time.Second
}

// MaxConcurrentActivations is the maximum number of ACTIVATING game sessions on one compute of the fleet: practically
// unlimited by default.
func (f *Fleet) MaxConcurrentActivations() int32 {
	if f.Runtime == nil || f.Runtime.MaxConcurrentActivations == 0 {
		return math.MaxInt32
	}
	return f.Runtime.MaxConcurrentActivations
}
