package plan

import "time"

// An Entry is an entry of a runtime configuration: Count processes of a program.
type Entry struct {
	LaunchPath string
	Parameters string // separated by single spaces; "" for none
	Count      int    // ConcurrentExecutions
}

// A Status is the state of a compute. Source: GameLift Agent, ComputeStatus.
type Status string

// The states. Interrupted is Terminating because the machine is taken away.
const (
	Initializing Status = "Initializing"
	Activating   Status = "Activating"
	Active       Status = "Active"
	Terminating  Status = "Terminating"
	Interrupted  Status = "Interrupted"
	Terminated   Status = "Terminated"
)

// A Reason is why a process ended. Source: GameLift Agent, ProcessTerminationReason.
type Reason string

// The reasons that an agent itself gives; the service sends others.
const (
	NormalTermination   Reason = "NORMAL_TERMINATION"
	Crashed             Reason = "SERVER_PROCESS_CRASHED"
	InvalidPath         Reason = "SERVER_PROCESS_INVALID_PATH"
	InitTimeout         Reason = "SERVER_PROCESS_SDK_INITIALIZATION_TIMEOUT"
	Unhealthy           Reason = "SERVER_PROCESS_TERMINATED_UNHEALTHY"
	ComputeShuttingDown Reason = "COMPUTE_SHUTTING_DOWN"
	ForceTerminated     Reason = "SERVER_PROCESS_FORCE_TERMINATED" // of the service alone
)

// EventCode returns the code of the fleet event for a reason; "" if it has none.
func (r Reason) EventCode() string {
	switch r {
	case NormalTermination, ComputeShuttingDown, "CUSTOMER_INITIATED":
		return ""
	}
	return string(r)
}

// known reports whether r is a reason of the protocol.
func (r Reason) known() bool {
	switch r {
	case NormalTermination, Crashed, InvalidPath, InitTimeout, Unhealthy, ComputeShuttingDown, "CUSTOMER_INITIATED",
		ForceTerminated, "SERVER_PROCESS_PROCESS_EXIT_TIMEOUT", "SERVER_PROCESS_PROCESS_READY_TIMEOUT":
		return true
	}
	return false
}

// An Action is to be performed by the caller: Start, Signal, Report, Crash, NoPort, Beat or Finish.
type Action interface{ action() }

// Start starts a process. The caller then calls StartFailed or, when the process ends, Exited.
type Start struct {
	ID    string
	Entry Entry
	Port  int    // for the placeholder {port}; 0: the parameters have none
	Build string // id of the build from which it is started; "": the fleet's own
}

// Signal asks a process to end or, with Kill, ends it and its process group at once.
type Signal struct {
	ID   string
	Kill bool
}

// Report reports the end of a process to the service.
type Report struct {
	ID     string
	Reason Reason
}

// Crash is for the log: processes of an entry have crashed, the last one with a code, and the entry waits.
type Crash struct {
	ID      string
	Entry   Entry
	Code    int // exit code
	Crashes int // in a row
	Wait    time.Duration
}

// Loops reports whether this is the crash that makes a crash loop.
func (c Crash) Loops() bool { return c.Crashes == crashLoop }

// A Backoff is an entry that waits after crashes.
type Backoff struct {
	Crash           // the last one
	Until time.Time // its next process is not started before
}

// NoPort is for the log: all ports are leased, so an entry waits.
type NoPort struct{ Entry Entry }

// Beat sends a heartbeat at once.
type Beat struct{}

// Finish ends the agent: no process is left, or the time for them to exit has passed.
type Finish struct{}

func (Start) action()  {}
func (Signal) action() {}
func (Report) action() {}
func (Crash) action()  {}
func (NoPort) action() {}
func (Beat) action()   {}
func (Finish) action() {}
