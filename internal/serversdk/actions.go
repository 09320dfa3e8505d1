package serversdk

import (
	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// maxName bounds Action and RequestId in bytes; the SDKs' are at most 36.
	maxName = 128
	// maxPage is the maximum of player sessions per page, because the Unreal edition's buffer has 50.
	maxPage = 50
)

// handle starts a request. Its reply is sent when it is done.
func (s *socket) handle(r *request) {
	if r.RequestID == "" || r.Action == "" || len(r.RequestID) > maxName || len(r.Action) > maxName {
		s.logIgnored("Action and RequestId must have 1 to 128 bytes", 0)
		return
	}
	x, stored, v := s.memory.begin(s, r.Action, r.RequestID, s.endpoint.clock.Now())
	switch v {
	case carryOut:
		s.carryOut(r, x)
	case repeated:
		s.reply(stored, nil)
	case tooMany:
		f := fault.New(fault.Throttling, "%d requests of this process are pending. Wait for replies.", maxPending)
		refused := reply{action: r.Action, id: r.RequestID, status: StatusOf(f.Kind), message: ErrorMessage(f)}
		s.reply(refused, nil)
		label, _ := classify(r.Action)
		s.endpoint.metrics.Replied(label, refused.status, 0)
	case awaited: // the reply will go to this socket, too
	}
}

// carryOut passes a request to the control plane.
func (s *socket) carryOut(r *request, x *exchange) {
	done := func(err error) { s.answer(x, err, nil) }
	if err := r.problem(); err != nil {
		done(err)
		return
	}
	switch r.Action {
	case "HeartbeatServerProcess":
		s.releasePushes()
		s.connection.Heartbeat(r.HealthStatus, func(err error) { s.heartbeatDone(x, err) })
	case "AcceptPlayerSession":
		s.connection.AcceptPlayerSession(r.GameSessionID, r.PlayerSessionID, done)
	case "RemovePlayerSession":
		s.connection.RemovePlayerSession(r.GameSessionID, r.PlayerSessionID, done)
	case "ActivateGameSession":
		s.connection.ActivateGameSession(r.GameSessionID, done)
	case "ActivateServerProcess":
		s.delayPushes()
		s.connection.Activate(r.ready(), done)
	case "UpdatePlayerSessionCreationPolicy":
		s.connection.UpdatePlayerSessionCreationPolicy(r.GameSessionID, r.PlayerSessionPolicy, done)
	case "DescribePlayerSessions":
		s.connection.DescribePlayerSessions(r.playerSessionQuery(), func(page processes.PlayerSessionPage, err error) {
			s.answer(x, err, playerSessions(page))
		})
	case "GetComputeCertificate":
		s.connection.ComputeCertificate(func(path, compute string, err error) {
			s.answer(x, err, certificate{path, compute})
		})
	case "GetFleetRoleCredentials":
		s.connection.RoleCredentials(r.RoleArn, r.RoleSessionName, func(k *processes.RoleKeys, err error) {
			s.answer(x, err, roleCredentialsOf(k))
		})
	case "TerminateServerProcess":
		s.connection.Terminate(func(err error) { s.terminateDone(x, err) })
	case "StartMatchBackfill":
		s.connection.StartMatchBackfill(r.matchBackfill(), func(ticket string, err error) {
			s.answer(x, err, backfillTicket(ticket))
		})
	case "StopMatchBackfill":
		s.connection.StopMatchBackfill(r.GameSessionArn, r.ConfigurationArn, r.TicketID, done)
	default:
		done(fault.New(fault.InvalidRequest, "there is no action %q", r.Action))
	}
}

// problem returns an error for a request that is invalid in any state.
func (r *request) problem() error {
	if r.badField != "" {
		return fault.New(fault.InvalidRequest, "%s has a value of the wrong type", r.badField)
	}
	if missing := r.missing(); missing != "" {
		return fault.New(fault.InvalidRequest, "%s must be given", missing)
	}
	if r.Action == "GetFleetRoleCredentials" {
		return processes.CheckRoleSession(r.RoleArn, r.RoleSessionName)
	}
	return nil
}

// missing returns the first required field that is missing.
func (r *request) missing() string {
	switch r.Action {
	case "ActivateGameSession", "AcceptPlayerSession", "RemovePlayerSession", "UpdatePlayerSessionCreationPolicy":
		if r.GameSessionID == "" {
			return "GameSessionId"
		}
	case "StartMatchBackfill", "StopMatchBackfill":
		switch {
		case r.GameSessionArn == "":
			return "GameSessionArn"
		case r.ConfigurationArn == "":
			return "MatchmakingConfigurationArn"
		}
	}
	switch r.Action {
	case "AcceptPlayerSession", "RemovePlayerSession":
		if r.PlayerSessionID == "" {
			return "PlayerSessionId"
		}
	case "StopMatchBackfill":
		if r.TicketID == "" {
			return "TicketId"
		}
	}
	return ""
}

// ready converts an ActivateServerProcess request.
func (r *request) ready() processes.ProcessReady {
	return processes.ProcessReady{
		SDKVersion: r.SDKVersion, SDKLanguage: r.SDKLanguage, ToolName: r.SDKToolName, ToolVersion: r.SDKToolVersion,
		Port: r.Port, LogPaths: r.LogPaths,
	}
}

// playerSessionQuery converts a DescribePlayerSessions request. SDKs without a limit send none, null, zero or a
// negative one.
func (r *request) playerSessionQuery() processes.PlayerSessionQuery {
	limit := int(r.Limit)
	if limit <= 0 || limit > maxPage {
		limit = maxPage
	}
	return processes.PlayerSessionQuery{
		GameSessionID: r.GameSessionID, PlayerSessionID: r.PlayerSessionID, PlayerID: r.PlayerID,
		StatusFilter: r.PlayerSessionStatusFilter, NextToken: r.NextToken, Limit: limit,
	}
}

// heartbeatDone answers a heartbeat. The SDKs only log the error for an unknown process, so the socket is closed, too:
// the refused reconnection informs the process.
func (s *socket) heartbeatDone(x *exchange, err error) {
	s.answer(x, err, nil)
	if fault.Is(err, fault.NotFound) {
		s.out.Finish()
	}
}

// terminateDone answers the last request of a process. The socket stays open for the process to close, because the Go
// edition reconnects after a Close frame.
func (s *socket) terminateDone(x *exchange, err error) {
	s.answer(x, err, nil)
	if err == nil {
		s.closeLater()
	}
}

// answer completes an exchange: every socket that sent the request gets the reply.
func (s *socket) answer(x *exchange, err error, res result) {
	r := reply{action: x.action, id: x.id, status: 200}
	if err != nil {
		f := fault.Of(err)
		r.status, r.message = StatusOf(f.Kind), ErrorMessage(f)
		res = nil
		if r.status >= 500 {
			s.logger().Error("request of a server process failed", "action", x.action, "error", err)
		}
	}
	label, changes := classify(x.action)
	if s.memory.finish(x, r, changes) {
		x.socket.reply(r, res)
		for _, other := range x.others {
			other.reply(r, res)
		}
	}
	s.endpoint.metrics.Replied(label, r.status, s.endpoint.clock.Since(x.began))
}

func (s *socket) reply(r reply, res result) {
	var room [256]byte // on the stack, enough for most
	s.out.Enqueue(websocket.TextMessage, r.appendTo(room[:0], res))
}

// classify returns the action's label for metrics and whether it changes state. Replies to other actions are not
// stored: repeating them is harmless and returns newer data.
func classify(action string) (label string, changes bool) {
	switch action {
	case "ActivateGameSession", "AcceptPlayerSession", "RemovePlayerSession",
		"UpdatePlayerSessionCreationPolicy", "TerminateServerProcess", "StopMatchBackfill":
		return action, true
	case "ActivateServerProcess", // a repetition pushes again what the process ignored before
		"HeartbeatServerProcess", "DescribePlayerSessions", "GetComputeCertificate", "GetFleetRoleCredentials",
		"StartMatchBackfill": // returns the same ticket for the same request
		return action, false
	}
	return "unknown", false
}
