package agent

import (
	"encoding/json"
	"errors"
)

// The actions of the protocol.
const (
	actionHeartbeat     = "SendHeartbeat"
	actionRuntime       = "DescribeRuntimeConfiguration"
	actionProcessExited = "NotifyServerProcessTermination"
	actionPutLines      = "PutServerProcessLog" // of Muster alone, as are those below

	pushRegistered  = "NotifyProcessRegistered"
	pushActivated   = "NotifyGameSessionActivated"
	pushForceExit   = "ForceExitServerProcess"
	pushExit        = "ForceExitProcess" // the older form
	pushTermination = "StartComputeTermination"
	pushRefresh     = "RefreshConnection"
	pushRuntime     = "NotifyRuntimeConfigurationUpdated" // of Muster alone
	pushFollow      = "FollowServerProcessLog"            // likewise
	pushStart       = "StartServerProcess"                // likewise
)

// logsHeader announces in the handshake that the agent sends lines of running processes, and in its answer that the
// service stores logs. logsVersion is its value.
const logsHeader, logsVersion = "Muster-Logs", "1"

// reportsHeader announces in the answer to a handshake that the service is Muster, which reads Backoffs and Detail.
const reportsHeader = "Muster-Reports"

// noLogs is the log path that the service sends for a process without any, because the official agent needs one.
const noLogs = "/local/game/.no-logs"

// A request has the fields of all requests.
type request struct {
	Action, RequestId string

	Status              string   `json:",omitempty"`
	ProcessList         []string `json:",omitzero"`
	HeartbeatTimeMillis int64    `json:",omitempty"`

	Backoffs []backoffReport `json:",omitzero"` // of heartbeats, to Muster alone: all that there are
	Builds   []string        `json:",omitzero"` // likewise

	ProcessId         string  `json:",omitempty"`
	EventCode         *string `json:",omitempty"`
	TerminationReason string  `json:",omitempty"`

	Detail string `json:",omitempty"` // why, for people; to Muster alone

	StreamId string `json:",omitempty"` // from here on of PutServerProcessLog
	Lines    string `json:",omitempty"` // each with its time, stream and line end
	Skipped  bool   `json:",omitempty"` // lines before these were not read
	Problem  string `json:",omitempty"` // why there are no lines
	Ended    bool   `json:",omitempty"` // these are the last lines
}

// A backoffReport is an entry of the runtime configuration that waits after crashes.
type backoffReport struct {
	LaunchPath string
	Parameters string `json:",omitempty"`
	ProcessId  string // of the last crash
	ExitCode   int
	Crashes    int    // in a row
	WaitMillis int64  // from now on
	Output     string `json:",omitempty"` // its last lines
}

// A message has the fields of all replies and pushes. Names match in any case, and unknown ones are ignored.
type message struct {
	Action, RequestId string
	StatusCode        int
	ErrorMessage      string

	Status                                    string
	UnhealthyProcesses, UnregisteredProcesses []string
	ServerProcesses                           []serverProcess

	ProcessId, TerminationReason         string
	LogPaths                             []string
	GameSessionId                        string
	RefreshConnectionEndpoint, AuthToken string
	StreamId                             string
	TailBytes                            int64
	Once                                 bool
	BuildId                              string
}

var errNoMessage = errors.New("it is no JSON object with an Action or a RequestId")

func decode(data []byte) (m message, err error) {
	if err := json.Unmarshal(data, &m); err != nil {
		return m, err
	}
	if m.Action == "" && m.RequestId == "" {
		return m, errNoMessage
	}
	return m, nil
}
