package agent

import (
	"context"
	"io"
	"log/slog"

	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/serversdk/outbox"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The actions of agents. Source: GameLift Agent, WebSocketActions.
const (
	actionHeartbeat     = "SendHeartbeat"
	actionRuntime       = "DescribeRuntimeConfiguration"
	actionCredentials   = "GetFleetRoleCredentials"
	actionProcessExited = "NotifyServerProcessTermination"
	actionPutLines      = "PutServerProcessLog" // of Muster's own agent
)

// A socket is one connection of an agent. One goroutine reads and carries out requests; the shared writers write.
type socket struct {
	endpoint       *Endpoint
	fleet, compute string
	connection     processes.AgentConnection // set by open, then read only, as is ws
	ws             *websocket.Conn
	out            outbox.Outbox

	// Of the reader.
	replies       replies
	loggedIgnored bool // an invalid message has been logged
}

// open starts serving the socket. Pushes may have been queued before.
func (s *socket) open(ws *websocket.Conn, connection processes.AgentConnection) {
	s.connection, s.ws = connection, ws
	s.endpoint.metrics.Opened()
	s.endpoint.sockets.Start(s, &s.out, ws)
	go s.read()
}

// read receives messages until the socket is closed.
func (s *socket) read() {
	defer s.endpoint.sockets.Running.Done()
	defer s.leave()
	for {
		kind, message, err := s.ws.NextReader()
		switch {
		case err != nil:
			return
		case kind != websocket.TextMessage:
			s.logIgnored("binary message")
		case !s.receive(message):
			return
		}
	}
}

// receive reads and answers one message; false ends the socket.
func (s *socket) receive(message io.Reader) bool {
	buf := outbox.NewBuffer()
	defer buf.Free()
	if err := buf.ReadMessage(message, maxMessage); err != nil {
		return false
	}
	if len(buf.Bytes) > maxMessage {
		s.logger().Warn("socket closed: message too long", "limit_bytes", maxMessage)
		return false
	}
	r, ignored, invalid := decodeRequest(buf.Bytes)
	if ignored != nil {
		s.logIgnored(ignored.Error())
		return true
	}
	s.answer(&r, invalid)
	return true
}

// answer carries out a request, unless it was answered before, and sends its reply.
func (s *socket) answer(r *request, invalid error) {
	if data, ok := s.replies.find(r); ok {
		s.out.Enqueue(websocket.TextMessage, data)
		return
	}
	began := s.endpoint.clock.Now()
	message, err := any(nil), invalid
	if err == nil {
		message, err = s.carryOut(r)
	}
	if err != nil {
		message = refusal(r, err)
	}
	status := replyTo(r, err).StatusCode
	if status >= 500 {
		s.logger().Error("request of an agent failed", "action", r.Action, "error", err)
	}
	data := encode(message)
	if err == nil && r.Action == actionProcessExited {
		s.replies.keep(r, data)
	}
	s.endpoint.metrics.Replied(label(r.Action), status, s.endpoint.clock.Since(began))
	s.out.Enqueue(websocket.TextMessage, data)
}

// carryOut passes a request to the control plane, and returns the reply.
func (s *socket) carryOut(r *request) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	done := replyTo(r, nil)
	switch r.Action {
	case actionHeartbeat:
		h, err := s.connection.Heartbeat(ctx, processes.AgentHeartbeat{Status: processes.ComputeStatus(r.Status),
			Processes: r.ProcessList, Backoffs: backoffsFrom(r.Backoffs), Builds: r.Builds})
		return heartbeatReplyTo(done, h), err
	case actionRuntime:
		runtime, err := s.connection.RuntimeConfiguration()
		if err != nil {
			return nil, err
		}
		return runtimeReplyTo(done, runtime), nil
	case actionCredentials:
		if err := processes.CheckRoleSession("", r.RoleSessionName); err != nil {
			return nil, err
		}
		keys, err := s.connection.RoleCredentials(r.RoleSessionName)
		if err != nil {
			return nil, err
		}
		return credentialsReplyTo(done, keys), nil
	case actionProcessExited:
		return done, s.connection.ProcessExited(ctx, r.ProcessId, r.TerminationReason, r.Detail)
	case actionPutLines:
		return done, s.connection.PutLines(r.StreamId, processes.LogLines{Lines: r.Lines, Skipped: r.Skipped,
			Problem: r.Problem, Ended: r.Ended})
	default:
		return nil, fault.New(fault.InvalidRequest, "there is no action %q", r.Action)
	}
}

// refusal is the reply without a result.
func refusal(r *request, err error) any {
	if r.Action == actionHeartbeat {
		return heartbeatReplyTo(replyTo(r, err), processes.AgentHealth{})
	}
	return replyTo(r, err)
}

// label returns the action for metrics.
func label(action string) string {
	switch action {
	case actionHeartbeat, actionRuntime, actionCredentials, actionProcessExited, actionPutLines:
		return action
	}
	return "unknown"
}

// keptReplies is how many replies are stored. An agent repeats a report up to twice, after others.
const keptReplies = 64

// replies are the last replies to reports.
type replies struct {
	kept [keptReplies]struct {
		id   string
		data []byte
	}
	next int
}

func (k *replies) find(r *request) (data []byte, ok bool) {
	for i := range k.kept {
		if k.kept[i].id == r.RequestId && r.Action == actionProcessExited {
			return k.kept[i].data, true
		}
	}
	return nil, false
}

func (k *replies) keep(r *request, data []byte) {
	k.kept[k.next].id, k.kept[k.next].data = r.RequestId, data
	k.next = (k.next + 1) % keptReplies
}

// push sends a push.
func (s *socket) push(p processes.AgentPush) {
	if action, data := encodePush(p); s.out.Enqueue(websocket.TextMessage, data) {
		s.endpoint.metrics.Pushed(action)
	}
}

// leave cleans up after the reader has ended.
func (s *socket) leave() {
	if !s.out.Finishing() { // else the writer closes
		s.close()
	}
	s.connection.Disconnected()
	s.endpoint.sockets.Remove(s)
	s.endpoint.metrics.Closed()
	s.logger().Info("agent disconnected")
}

// close closes the TCP connection without a Close frame.
func (s *socket) close() { s.out.Close() }

// slow is called when the agent does not read.
func (s *socket) slow() {
	s.endpoint.metrics.Slow()
	s.logger().Warn("socket closed: agent does not read", "limit_bytes", outbox.MaxQueued)
}

// logIgnored logs a message that cannot be answered, as a warning for the first of a socket.
func (s *socket) logIgnored(reason string) {
	level := slog.LevelWarn
	if s.loggedIgnored {
		level = slog.LevelDebug
	}
	s.loggedIgnored = true
	s.logger().Log(context.Background(), level, "message of an agent ignored", "reason", reason)
}

// logger returns a logger with the ids of the compute. The query must not be logged: it has the token.
func (s *socket) logger() *slog.Logger {
	return s.endpoint.log.With("fleet", s.fleet, "compute", s.compute)
}
