package serversdk

import (
	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/fault"
)

const (
	// maxName bounds Action and RequestId in bytes; the SDKs' are at most 36.
	maxName = 128
	// maxPage is how many player sessions a page has at most: the Unreal edition
	// has room for 50.
	maxPage = 50
)

// handle starts what a request asks for. Its reply is sent when it is done.
func (s *socket) handle(r *request) {
	if r.RequestID == "" || r.Action == "" || len(r.RequestID) > maxName || len(r.Action) > maxName {
		s.scold("Action and RequestId must have 1 to 128 bytes", 0)
		return
	}
	x, stored, v := s.memory.begin(s, r.Action, r.RequestID, s.door.clock.Now())
	switch v {
	case carryOut:
		s.carryOut(r, x)
	case repeated:
		s.reply(stored, nil)
	case tooMany:
		f := fault.New(fault.Throttling, "%d requests of this process are pending. Wait for replies.", maxPending)
		refused := reply{action: r.Action, id: r.RequestID, status: statusOf(f.Kind), message: errorMessage(f)}
		s.reply(refused, nil)
		label, _ := classify(r.Action)
		s.door.metrics.Replied(label, refused.status, 0)
	case awaited: // its reply is on the way
	}
}

// carryOut hands a request to the control plane.
func (s *socket) carryOut(r *request, x *exchange) {
	done := func(err error) { s.answer(x, err, nil) }
	if err := r.problem(); err != nil {
		done(err)
		return
	}
	switch r.Action {
	case "HeartbeatServerProcess":
		s.settle()
		s.link.Heartbeat(r.HealthStatus, func(err error) { s.heartbeatDone(x, err) })
	case "AcceptPlayerSession":
		s.link.AcceptPlayerSession(r.GameSessionID, r.PlayerSessionID, done)
	case "RemovePlayerSession":
		s.link.RemovePlayerSession(r.GameSessionID, r.PlayerSessionID, done)
	case "ActivateGameSession":
		s.link.ActivateGameSession(r.GameSessionID, done)
	case "ActivateServerProcess":
		s.hold()
		s.link.Activate(r.ready(), done)
	case "UpdatePlayerSessionCreationPolicy":
		s.link.UpdatePlayerSessionCreationPolicy(r.GameSessionID, r.PlayerSessionPolicy, done)
	case "DescribePlayerSessions":
		s.link.DescribePlayerSessions(r.playerSessionQuery(), func(page control.PlayerSessionPage, err error) {
			s.answer(x, err, playerSessions(page))
		})
	case "GetComputeCertificate":
		s.link.ComputeCertificate(func(path, compute string, err error) { s.answer(x, err, certificate{path, compute}) })
	case "GetFleetRoleCredentials":
		s.answer(x, nil, noCredentials{})
	case "TerminateServerProcess":
		s.link.Terminate(func(err error) { s.terminateDone(x, err) })
	case "StartMatchBackfill":
		s.link.StartMatchBackfill(r.matchBackfill(), func(ticket string, err error) { s.answer(x, err, backfillTicket(ticket)) })
	case "StopMatchBackfill":
		s.link.StopMatchBackfill(r.GameSessionArn, r.ConfigurationArn, r.TicketID, done)
	default:
		done(fault.New(fault.InvalidRequest, "there is no action %q", r.Action))
	}
}

// problem says why a request cannot be carried out, whatever the state of things.
func (r *request) problem() error {
	if r.misfit != "" {
		return fault.New(fault.InvalidRequest, "%s has a value of the wrong type", r.misfit)
	}
	if missing := r.missing(); missing != "" {
		return fault.New(fault.InvalidRequest, "%s must be given", missing)
	}
	return nil
}

// missing is the first field that the action needs and that is not given.
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

// ready is what an ActivateServerProcess request says.
func (r *request) ready() control.ProcessReady {
	return control.ProcessReady{
		SDKVersion: r.SDKVersion, SDKLanguage: r.SDKLanguage, ToolName: r.SDKToolName, ToolVersion: r.SDKToolVersion,
		Port: r.Port, LogPaths: r.LogPaths,
	}
}

// playerSessionQuery is what a DescribePlayerSessions request asks. No limit is
// sent as a missing, null, zero or negative one.
func (r *request) playerSessionQuery() control.PlayerSessionQuery {
	limit := int(r.Limit)
	if limit <= 0 || limit > maxPage {
		limit = maxPage
	}
	return control.PlayerSessionQuery{
		GameSessionID: r.GameSessionID, PlayerSessionID: r.PlayerSessionID, PlayerID: r.PlayerID,
		StatusFilter: r.PlayerSessionStatusFilter, NextToken: r.NextToken, Limit: limit,
	}
}

// heartbeatDone answers a heartbeat. A process that the service no longer knows
// only logs that, so it is cut off too: its way back in is refused and tells it.
func (s *socket) heartbeatDone(x *exchange, err error) {
	s.answer(x, err, nil)
	if fault.Is(err, fault.NotFound) {
		s.finish()
	}
}

// terminateDone answers the last request of a process. The socket stays open for
// the process to close: a Close now would make the Go edition connect again.
func (s *socket) terminateDone(x *exchange, err error) {
	s.answer(x, err, nil)
	if err == nil {
		s.cutLater()
	}
}

// answer ends an exchange: every socket that asked gets the reply.
func (s *socket) answer(x *exchange, err error, res result) {
	r := reply{action: x.action, id: x.id, status: 200}
	if err != nil {
		f := fault.Of(err)
		r.status, r.message = statusOf(f.Kind), errorMessage(f)
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
	s.door.metrics.Replied(label, r.status, s.door.clock.Since(x.began))
}

// reply sends a reply.
func (s *socket) reply(r reply, res result) {
	var room [256]byte // enough for most, and not on the heap
	s.enqueue(websocket.TextMessage, r.appendTo(room[:0], res))
}

// classify gives the action's name for metrics and says whether it changes
// something. Replies to the others are not remembered: asking again does no harm
// and has a newer answer.
func classify(action string) (label string, changes bool) {
	switch action {
	case "ActivateGameSession", "AcceptPlayerSession", "RemovePlayerSession",
		"UpdatePlayerSessionCreationPolicy", "TerminateServerProcess", "StopMatchBackfill":
		return action, true
	case "ActivateServerProcess", // a process that asks again is told again what it ignored before
		"HeartbeatServerProcess", "DescribePlayerSessions", "GetComputeCertificate", "GetFleetRoleCredentials",
		"StartMatchBackfill": // which gives the same ticket to the same request
		return action, false
	}
	return "unknown", false
}
