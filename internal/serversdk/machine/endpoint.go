// Package machine is the endpoint for machine agents, which join a location with a machine. Package protocol describes
// the messages; their effects are behind machines.Connector.
//
// A socket is not authenticated until the machine has answered the challenge of the service. Until then it may take
// joinLimit, and there are at most maxJoining of them, so that clients without a key cannot hold many; a machine that
// is refused for that returns later, with jitter. A socket without a report for protocol.LostAfter is closed.
package machine

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/machines"
	"github.com/muster-gg/muster/internal/serversdk"
	"github.com/muster-gg/muster/internal/serversdk/outbox"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// joinLimit is how long a machine may take to answer the challenge.
	joinLimit = 10 * time.Second
	// callLimit is how long the control plane may take for a join or a report.
	callLimit = 15 * time.Second
	// maxJoining is the maximum number of sockets that are not authenticated.
	maxJoining = 512
)

// Config configures an Endpoint. Machines and Log are required.
type Config struct {
	Machines machines.Connector
	Clock    clockwork.Clock // nil: the real clock
	Log      *slog.Logger
	Metrics  serversdk.Metrics
}

// An Endpoint serves the sockets of machines. It is an http.Handler and safe for concurrent use.
type Endpoint struct {
	machines machines.Connector
	clock    clockwork.Clock
	log      *slog.Logger
	lines    *loglimit.Limiter // limits log lines that unauthenticated clients cause
	metrics  serversdk.Metrics
	upgrader websocket.Upgrader
	sockets  outbox.Sockets[*socket]
	joining  atomic.Int32 // sockets that are not authenticated
}

// New returns an endpoint. It starts nothing; Close closes its sockets.
func New(cfg Config) *Endpoint {
	if cfg.Clock == nil {
		cfg.Clock = clockwork.NewRealClock()
	}
	cfg.Metrics.Fill()
	e := &Endpoint{machines: cfg.Machines, clock: cfg.Clock, log: cfg.Log, metrics: cfg.Metrics,
		lines: loglimit.New(cfg.Clock)}
	e.sockets.Init((*socket).close)
	e.upgrader = serversdk.NewUpgrader(e.refuse)
	return e
}

// Matches reports whether r is the request of a machine for a socket.
func Matches(r *http.Request) bool { return serversdk.EndsIn(r, protocol.Path) }

// ServeHTTP opens a socket with 101, or refuses it with a JSON body and status 400 for a request that is no handshake,
// and 503 with Retry-After for too many at a time. It returns when the socket is open.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !e.sockets.Enter() {
		e.refuse(w, http.StatusServiceUnavailable,
			string(fault.ServiceUnavailable)+": The service is stopping. Try again.")
		return
	}
	defer e.sockets.Running.Done()
	if e.joining.Add(1) > maxJoining {
		e.joining.Add(-1)
		w.Header().Set("Retry-After", "5")
		e.refuse(w, http.StatusServiceUnavailable,
			string(fault.ServiceUnavailable)+": Too many machines join at the moment. Try again.")
		return
	}
	s := &socket{endpoint: e}
	s.out.Init(&e.sockets.Writers, s.slow)
	ws, err := e.upgrader.Upgrade(w, r, nil)
	if err != nil { // Upgrade has written the answer
		e.joining.Add(-1)
		return
	}
	s.open(ws)
}

func (e *Endpoint) refuse(w http.ResponseWriter, status int, message string) {
	e.metrics.Refused(status)
	serversdk.Refuse(w, status, message)
}

// CloseSockets closes all sockets without a Close frame, so that the machines reconnect, to another node if they are
// routed there.
func (e *Endpoint) CloseSockets() { e.sockets.CloseSockets() }

// Close accepts no more machines, closes all sockets, so that the machines reconnect, and waits for all goroutines. The
// error is ctx's.
func (e *Endpoint) Close(ctx context.Context) error { return e.sockets.Close(ctx) }
