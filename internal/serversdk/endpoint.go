package serversdk

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/serversdk/outbox"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// connectLimit is how long the control plane may take to accept a process. The C++ edition's time-out for a
	// handshake is 20 s.
	connectLimit = 10 * time.Second
	// handshakeLimit is how long writing the 101 answer may take.
	handshakeLimit = 5 * time.Second
	// readBuffer is the size of a socket's read buffer in bytes. Most requests fit, and idle sockets are cheap.
	readBuffer = 512
)

// Config configures an Endpoint. Servers and Log are required.
type Config struct {
	Servers processes.Connector
	Clock   clockwork.Clock // nil: the real clock
	Log     *slog.Logger
	Metrics Metrics

	// ProcessRetention is how long the service keeps ended processes; 0: without limit. It also limits how long their
	// replies are stored.
	ProcessRetention time.Duration
}

// An Endpoint serves the sockets of server processes. It is an http.Handler and safe for concurrent use.
type Endpoint struct {
	servers   processes.Connector
	clock     clockwork.Clock
	log       *slog.Logger
	refusals  *loglimit.Limiter // limits log lines
	metrics   Metrics
	upgrader  websocket.Upgrader
	processes registry
	sockets   outbox.Sockets[*socket]
}

// New returns an endpoint. It starts nothing; Close closes its sockets.
func New(cfg Config) *Endpoint {
	if cfg.Clock == nil {
		cfg.Clock = clockwork.NewRealClock()
	}
	cfg.Metrics.Fill()
	keep := keptAfter
	if cfg.ProcessRetention > 0 {
		keep = min(keep, cfg.ProcessRetention)
	}
	e := &Endpoint{
		servers: cfg.Servers, clock: cfg.Clock, log: cfg.Log, metrics: cfg.Metrics, refusals: loglimit.New(cfg.Clock),
		processes: registry{clock: cfg.Clock, keep: keep, known: make(map[processKey]*process)},
	}
	e.sockets.Init((*socket).close)
	e.upgrader = NewUpgrader(e.refuse)
	return e
}

// NewUpgrader returns what accepts WebSocket connections of peers that authenticate with a token and write through an
// outbox. refuse answers a request that is no valid handshake.
func NewUpgrader(refuse func(w http.ResponseWriter, status int, message string)) websocket.Upgrader {
	return websocket.Upgrader{
		HandshakeTimeout: handshakeLimit,
		ReadBufferSize:   readBuffer,
		WriteBufferPool:  &sync.Pool{}, // frames are written in outbox.go: sockets need no buffer
		// Peers authenticate with a token, so the origin does not matter.
		CheckOrigin: func(*http.Request) bool { return true },
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			refuse(w, status, string(fault.InvalidRequest)+": "+reason.Error())
		},
	}
}

// Matches reports whether r is the request of a server process for a socket: a GET whose query has a process id. Any
// path is accepted because the C++ edition adds a slash to the configured one.
func Matches(r *http.Request) bool {
	return r.Method == http.MethodGet && parseQuery(r.URL.RawQuery)["pID"] != ""
}

// EndsIn reports whether r is a request for a socket at a path that ends in path, and not one of a server process,
// whose URL may end so too.
func EndsIn(r *http.Request, path string) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(strings.TrimRight(r.URL.Path, "/"), path) && !Matches(r)
}

// ServeHTTP accepts a server process with 101 and a socket, or refuses it with a JSON body and status 400 for an
// incomplete request, 403 for invalid credentials or a process id used before, 429 for too many requests, and 500
// otherwise. It returns when the socket is open.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !e.sockets.Enter() {
		e.refuse(w, http.StatusServiceUnavailable,
			string(fault.ServiceUnavailable)+": The service is stopping. Try again.")
		return
	}
	defer e.sockets.Running.Done()

	about := parseQuery(r.URL.RawQuery).connect()
	about.Endpoint = dialed(r)
	s := &socket{endpoint: e, process: processKey{about.FleetID, about.ComputeName, about.ProcessID}}
	if err := incomplete(r, s.process); err != nil {
		e.refuseFault(w, s, err)
		return
	}
	s.out.Init(&e.sockets.Writers, s.slow)
	about.Push, about.Replaced = s.push, s.replaced
	ctx, cancel := context.WithTimeout(r.Context(), connectLimit)
	defer cancel()
	connection, err := e.servers.Connect(ctx, about)
	if err != nil {
		e.refuseFault(w, s, err)
		return
	}
	// No response header: the C# edition fails if the answer has a sub-protocol or an extension.
	ws, err := e.upgrader.Upgrade(w, r, nil)
	if err != nil { // Upgrade has written the answer
		connection.Disconnected()
		s.logInfo("handshake of a server process failed", "error", err)
		return
	}
	s.logInfo("server process connected", "sdk_language", about.SDKLanguage, "sdk_version", about.SDKVersion)
	s.open(ws, connection)
}

// incomplete checks a request before the control plane is called.
func incomplete(r *http.Request, p processKey) error {
	switch {
	case !websocket.IsWebSocketUpgrade(r):
		return fault.New(fault.InvalidRequest, "this address is for WebSocket connections of game server processes")
	case p.fleet == "" || p.compute == "" || p.id == "":
		return fault.New(fault.InvalidRequest, "the query must have pID, FleetId and ComputeId")
	case len(p.fleet) > maxID || len(p.compute) > maxID || len(p.id) > maxID:
		return fault.New(fault.InvalidRequest, "pID, FleetId and ComputeId may have at most %d bytes each", maxID)
	}
	return nil
}

// CloseSockets closes all sockets without a Close frame, so that the processes reconnect, to another node if they are
// routed there.
func (e *Endpoint) CloseSockets() { e.sockets.CloseSockets() }

// Close accepts no more processes, closes all sockets without a Close frame, so that the processes reconnect, and waits
// for all goroutines. The error is ctx's.
func (e *Endpoint) Close(ctx context.Context) error { return e.sockets.Close(ctx) }

// dialed returns the URL that a server process dialed, without the query; "" without a Host header. Behind a proxy that
// terminates TLS the scheme is that of X-Forwarded-Proto. The client can forge all of it, but only this client is sent
// to it.
func dialed(r *http.Request) string {
	if r.Host == "" {
		return ""
	}
	u := url.URL{Scheme: "ws", Host: r.Host, Path: strings.TrimRight(r.URL.Path, "/")} // the C++ edition adds slashes
	forwarded := r.Header.Get("X-Forwarded-Proto")
	if listen.Encrypted(r) || strings.EqualFold(forwarded, "https") || strings.EqualFold(forwarded, "wss") {
		u.Scheme = "wss"
	}
	return u.String()
}
