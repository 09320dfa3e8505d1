package agent

import (
	"encoding/json"
	"net/http"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/serversdk"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A reply is the envelope of an answer. Agents need Action to find the handler of a heartbeat's reply, and StatusCode
// in all replies.
type reply struct {
	Action       string
	RequestId    string
	StatusCode   int
	ErrorMessage string `json:",omitempty"`
}

func replyTo(r *request, err error) reply {
	if err == nil {
		return reply{Action: r.Action, RequestId: r.RequestId, StatusCode: http.StatusOK}
	}
	f := fault.Of(err)
	return reply{Action: r.Action, RequestId: r.RequestId, StatusCode: serversdk.StatusOf(f.Kind),
		ErrorMessage: serversdk.ErrorMessage(f)}
}

// heartbeatReply has both lists even after an error: an agent fails on null.
type heartbeatReply struct {
	reply
	Status                                    processes.ComputeStatus `json:",omitempty"`
	UnhealthyProcesses, UnregisteredProcesses []string
}

func heartbeatReplyTo(to reply, h processes.AgentHealth) heartbeatReply {
	return heartbeatReply{to, h.Status, append([]string{}, h.Unhealthy...), append([]string{}, h.Unregistered...)}
}

type runtimeReply struct {
	reply
	ServerProcesses                     []serverProcess
	MaxConcurrentGameSessionActivations int32 `json:",omitempty"`
	GameSessionActivationTimeoutSeconds int32 `json:",omitempty"`
}

type serverProcess struct {
	LaunchPath           string
	Parameters           string `json:",omitempty"`
	ConcurrentExecutions int32
}

func runtimeReplyTo(to reply, c *wire.RuntimeConfiguration) runtimeReply {
	r := runtimeReply{
		reply: to, ServerProcesses: []serverProcess{},
		MaxConcurrentGameSessionActivations: c.MaxConcurrentGameSessionActivations.Or(0),
		GameSessionActivationTimeoutSeconds: c.GameSessionActivationTimeoutSeconds.Or(0),
	}
	for _, p := range c.ServerProcesses {
		r.ServerProcesses = append(r.ServerProcesses,
			serverProcess{p.LaunchPath, p.Parameters, p.ConcurrentExecutions.Or(1)})
	}
	return r
}

// credentialsReply answers GetFleetRoleCredentials, as it does game servers: with empty ones of a fleet without a role.
type credentialsReply struct {
	reply
	AssumedRoleUserArn, AssumedRoleId, AccessKeyId, SecretAccessKey, SessionToken string

	Expiration int64 // in milliseconds since 1970
}

func credentialsReplyTo(to reply, k *processes.RoleKeys) credentialsReply {
	if k == nil {
		return credentialsReply{reply: to}
	}
	return credentialsReply{to, k.AssumedRoleUserArn, k.AssumedRoleID, k.AccessKeyID, k.SecretAccessKey,
		k.SessionToken, k.Expires.UnixMilli()}
}

// encodePush encodes a push and returns its action.
func encodePush(p processes.AgentPush) (action string, data []byte) {
	message := struct {
		Action            string
		ProcessId         string   `json:",omitempty"`
		LogPaths          []string `json:",omitempty"`
		GameSessionId     string   `json:",omitempty"`
		TerminationReason string   `json:",omitempty"`
		StreamId          string   `json:",omitempty"`
		TailBytes         int64    `json:",omitempty"`
		Once              bool     `json:",omitempty"`
		BuildId           string   `json:",omitempty"`
	}{}
	switch p := p.(type) {
	case processes.ProcessRegisteredPush:
		message.Action, message.ProcessId, message.LogPaths = "NotifyProcessRegistered", p.ProcessID, p.LogPaths
	case processes.SessionActivatedPush:
		message.Action, message.ProcessId = "NotifyGameSessionActivated", p.ProcessID
		message.GameSessionId = p.GameSessionID
	case processes.ForceExitPush:
		message.Action, message.ProcessId = "ForceExitServerProcess", p.ProcessID
		message.TerminationReason = string(p.Reason)
	case processes.StartTerminationPush:
		message.Action = "StartComputeTermination"
	case processes.RuntimeUpdatedPush:
		message.Action = "NotifyRuntimeConfigurationUpdated"
	case processes.StartProcessPush:
		message.Action, message.ProcessId, message.BuildId = "StartServerProcess", p.ProcessID, p.BuildID
	case processes.FollowLogPush:
		message.Action, message.ProcessId = "FollowServerProcessLog", p.ProcessID
		message.StreamId, message.TailBytes, message.Once = p.StreamID, p.TailBytes, p.Once
	}
	return message.Action, encode(message)
}

// encode encodes one of the messages above, which cannot fail.
func encode(message any) []byte {
	data, _ := json.Marshal(message)
	return data
}
