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

	pushRegistered  = "NotifyProcessRegistered"
	pushActivated   = "NotifyGameSessionActivated"
	pushForceExit   = "ForceExitServerProcess"
	pushExit        = "ForceExitProcess" // the older form
	pushTermination = "StartComputeTermination"
	pushRefresh     = "RefreshConnection"
	pushRuntime     = "NotifyRuntimeConfigurationUpdated" // of Muster alone
)

// A request has the fields of all requests.
type request struct {
	Action, RequestId string

	Status              string   `json:",omitempty"`
	ProcessList         []string `json:",omitzero"`
	HeartbeatTimeMillis int64    `json:",omitempty"`

	ProcessId         string  `json:",omitempty"`
	EventCode         *string `json:",omitempty"`
	TerminationReason string  `json:",omitempty"`
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
	GameSessionId                        string
	RefreshConnectionEndpoint, AuthToken string
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
