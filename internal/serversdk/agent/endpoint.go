package agent

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/serversdk"
	"github.com/muster-gg/muster/internal/serversdk/outbox"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// logsHeader announces in a handshake that the agent is Muster's own and sends lines of its processes, and in the
// answer that the region stores their logs.
const logsHeader = "Muster-Logs"

// reportsHeader announces in the answer to a handshake that the service reads what only Muster's agent reports: the
// programs that wait after crashes, and details of the end of a process.
const reportsHeader = "Muster-Reports"

// Path is the path of agents, below that of the service's public URL.
const Path = "/agent"

const (
	// callLimit is how long the control plane may take to accept an agent, or for one request. An agent gives up after
	// 60 s. Source: GameLift Agent, WebSocketConnectionProvider and AgentWebSocket.
	callLimit = 15 * time.Second
	// maxID is the maximum length of ids in a query, in bytes. Source: API reference, FleetId and ComputeName.
	maxID = 512
)

// Config configures an Endpoint. Agents and Log are required.
type Config struct {
	Agents processes.AgentConnector
	// StoresLogs is announced to agents: package serversdk/logs accepts the logs of their processes.
	StoresLogs bool
	Clock      clockwork.Clock // nil: the real clock
	Log        *slog.Logger
	Metrics    serversdk.Metrics
}

// An Endpoint serves the sockets of agents. It is an http.Handler and safe for concurrent use.
type Endpoint struct {
	agents   processes.AgentConnector
	answer   http.Header // of handshakes
	clock    clockwork.Clock
	log      *slog.Logger
	refusals *loglimit.Limiter // limits log lines
	metrics  serversdk.Metrics
	upgrader websocket.Upgrader
	sockets  outbox.Sockets[*socket]
}

// New returns an endpoint. It starts nothing; Close closes its sockets.
func New(cfg Config) *Endpoint {
	if cfg.Clock == nil {
		cfg.Clock = clockwork.NewRealClock()
	}
	cfg.Metrics.Fill()
	e := &Endpoint{agents: cfg.Agents, clock: cfg.Clock, log: cfg.Log, metrics: cfg.Metrics,
		refusals: loglimit.New(cfg.Clock), answer: http.Header{reportsHeader: {"1"}}}
	if cfg.StoresLogs {
		e.answer.Set(logsHeader, "1")
	}
	e.sockets.Init((*socket).close)
	e.upgrader = serversdk.NewUpgrader(e.refuse)
	return e
}

// Matches reports whether r is the request of an agent for a socket.
func Matches(r *http.Request) bool { return serversdk.EndsIn(r, Path) }

// ServeHTTP accepts an agent with 101 and a socket, or refuses it with a JSON body and status 400 for an incomplete
// request, 403 for invalid credentials, and 500 otherwise. It returns when the socket is open.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !e.sockets.Enter() {
		e.refuse(w, http.StatusServiceUnavailable,
			string(fault.ServiceUnavailable)+": The service is stopping. Try again.")
		return
	}
	defer e.sockets.Running.Done()
	q := r.URL.Query()
	s := &socket{endpoint: e, fleet: q.Get("FleetId"), compute: q.Get("ComputeName")}
	s.out.Init(&e.sockets.Writers, s.slow)
	connection, err := e.connect(r, s, q.Get("Authorization"))
	if err != nil {
		e.refuseFault(w, s, err)
		return
	}
	ws, err := e.upgrader.Upgrade(w, r, e.answer)
	if err != nil { // Upgrade has written the answer
		connection.Disconnected()
		s.logger().Info("handshake of an agent failed", "error", err)
		return
	}
	s.logger().Info("agent connected")
	s.open(ws, connection)
}

func (e *Endpoint) connect(r *http.Request, s *socket, token string) (processes.AgentConnection, error) {
	switch {
	case !websocket.IsWebSocketUpgrade(r):
		return nil, fault.New(fault.InvalidRequest, "this address is for WebSocket connections of agents")
	case len(s.fleet) > maxID || len(s.compute) > maxID:
		return nil, fault.New(fault.InvalidRequest, "FleetId and ComputeName may have at most %d bytes each", maxID)
	}
	ctx, cancel := context.WithTimeout(r.Context(), callLimit)
	defer cancel()
	return e.agents.ConnectAgent(ctx, processes.AgentRequest{
		FleetID: s.fleet, ComputeName: s.compute, Authorization: token, Push: s.push,
		Muster: r.Header.Get(logsHeader) != "",
	})
}

// refuseFault answers a handshake with an error. Lines that unauthenticated clients can cause are limited to one per
// second.
func (e *Endpoint) refuseFault(w http.ResponseWriter, s *socket, err error) {
	f := fault.Of(err)
	status := serversdk.StatusOf(f.Kind)
	level, message, reason := slog.LevelWarn, "agent refused", f.Message
	if status >= http.StatusInternalServerError {
		level, message, reason = slog.LevelError, "agent not accepted", err.Error()
	}
	if suppressed, ok := e.refusals.Allow(message); ok {
		e.log.Log(context.Background(), level, message, "fleet", loglimit.Clip(s.fleet),
			"compute", loglimit.Clip(s.compute), "status", status, "reason", loglimit.Clip(reason),
			"suppressed", suppressed)
	}
	e.refuse(w, status, serversdk.ErrorMessage(f))
}

func (e *Endpoint) refuse(w http.ResponseWriter, status int, message string) {
	e.metrics.Refused(status)
	serversdk.Refuse(w, status, message)
}

// CloseSockets closes all sockets without a Close frame, so that the agents reconnect, to another node if they are
// routed there.
func (e *Endpoint) CloseSockets() { e.sockets.CloseSockets() }

// Close accepts no more agents, closes all sockets, so that the agents reconnect, and waits for all goroutines. The
// error is ctx's.
func (e *Endpoint) Close(ctx context.Context) error { return e.sockets.Close(ctx) }
