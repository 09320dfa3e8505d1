package legacy

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/serversdk"
	"github.com/muster-gg/muster/internal/serversdk/outbox"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
)

const (
	// maxMessage is the maximum size of a frame or a body, in bytes.
	maxMessage = 1 << 20
	// maxPID is the maximum length of a pID, in bytes.
	maxPID = 64
	// maxSockets is the maximum number of sockets of one game server. The SDKs open two, and again after a loss that
	// the service has not noticed yet.
	maxSockets = 8
	// maxPending is the maximum number of pending requests of one game server.
	maxPending = 256
	// connectLimit is how long the control plane may take to accept a game server.
	connectLimit = 10 * time.Second
	// callLimit is how long a request by HTTP waits for its answer.
	callLimit = 20 * time.Second
	// readBuffer is the size of a socket's read buffer in bytes.
	readBuffer = 512
	// keptAfter is how long a game server without sockets is remembered. Its process may reconnect for less.
	keptAfter = 10 * time.Minute
)

// Config configures an Endpoint. Servers and Log are required.
type Config struct {
	Servers processes.LegacyConnector
	Ready   func(context.Context) bool // waits until game servers can be served; nil: always
	Clock   clockwork.Clock            // nil: the real clock
	Log     *slog.Logger
	Metrics serversdk.Metrics

	// Verbose logs each step with the words of GameLift Local, which scripts look for, at the level INFO; else DEBUG.
	Verbose bool

	// Certificate returns the files for GetInstanceCertificate; nil: there are none.
	Certificate func() (Certificate, error)

	PingInterval, PingTimeout time.Duration // of socket.io; 0: 25 s and 60 s
	StartTimeout              time.Duration // for a game server to accept a game session; 0: 30 s
	RepeatAfter               time.Duration // see server.hold; 0: 10 s
}

// An Endpoint serves old game servers. Its handlers are SocketIO, Calls and Pushes. It is safe for concurrent use.
type Endpoint struct {
	Config
	lines    *loglimit.Limiter
	upgrader websocket.Upgrader
	sockets  outbox.Sockets[*socket] // Running has the requests, too

	mu      sync.Mutex
	servers map[serverKey]*server
	swept   time.Time
	sweepAt int // number of servers
}

// A serverKey identifies a game server. Number is 0, or distinguishes another one with the same pID.
type serverKey struct {
	address, pid string
	number       int
}

// New returns an endpoint. It starts nothing; Close closes its sockets.
func New(c Config) *Endpoint {
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	if c.Ready == nil {
		c.Ready = func(context.Context) bool { return true }
	}
	c.Metrics.Fill()
	// Source: GameLift Local, the defaults of its socket.io server.
	for d, fallback := range map[*time.Duration]time.Duration{&c.PingInterval: 25 * time.Second,
		&c.PingTimeout: 60 * time.Second, &c.StartTimeout: 30 * time.Second, &c.RepeatAfter: 10 * time.Second} {
		if *d == 0 {
			*d = fallback
		}
	}
	e := &Endpoint{
		Config: c, lines: loglimit.New(c.Clock),
		servers: map[serverKey]*server{}, swept: c.Clock.Now(), sweepAt: 1000,
	}
	e.sockets.Init((*socket).close)
	e.upgrader = websocket.Upgrader{
		HandshakeTimeout: 5 * time.Second,
		ReadBufferSize:   readBuffer,
		WriteBufferPool:  &sync.Pool{},                             // frames are written by the outbox
		CheckOrigin:      func(*http.Request) bool { return true }, // checked in admitted
	}
	return e
}

// admitted rejects requests of browsers, which could come from any web page, and requests to a service that is not
// ready.
func (e *Endpoint) admitted(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case fromWebPage(r.Header.Get("Origin")):
		e.refuse(w, http.StatusForbidden, "Web pages may not connect here: the request has the Origin of one.")
	case !e.sockets.Enter():
		e.refuse(w, http.StatusServiceUnavailable, "The service is stopping. Try again.")
	case !e.Ready(r.Context()):
		e.sockets.Running.Done()
		e.refuse(w, http.StatusServiceUnavailable, "The service is starting or recovering. Try again.")
	default:
		return true
	}
	return false
}

// fromWebPage reports whether a browser has sent an Origin. The SDK for C# 3.x sends one, too: that of the URL that it
// dials, ws://127.0.0.1:5757, or a host alone. Source: WebSocket4Net 0.15, the handshake.
func fromWebPage(origin string) bool {
	scheme, _, ok := strings.Cut(origin, "://")
	return origin == "null" || ok && scheme != "ws" && scheme != "wss"
}

func (e *Endpoint) refuse(w http.ResponseWriter, status int, message string) {
	e.Metrics.Refused(status)
	if suppressed, ok := e.lines.Allow("refused"); ok {
		e.Log.Warn("old game server refused", "status", status, "reason", message, "suppressed", suppressed)
	}
	http.Error(w, message, status)
}

// say logs a step with the words of GameLift Local.
func (e *Endpoint) say(message string, args ...any) {
	level := slog.LevelDebug
	if e.Verbose {
		level = slog.LevelInfo
	}
	e.Log.Log(context.Background(), level, message, args...)
}

// join returns the server with a key, created on first use.
func (e *Endpoint) join(key serverKey, about about) *server {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sweep()
	s := e.servers[key]
	if s == nil {
		s = &server{endpoint: e, key: key, left: e.Clock.Now(), requests: map[string]int{}}
		e.servers[key] = s
	}
	s.learn(about)
	return s
}

// sweep forgets servers that have ended, or have had no socket for long: once a minute, and whenever their number has
// doubled.
func (e *Endpoint) sweep() {
	now := e.Clock.Now()
	if now.Sub(e.swept) < keptAfter/10 && len(e.servers) < e.sweepAt {
		return
	}
	e.swept = now
	maps.DeleteFunc(e.servers, func(_ serverKey, s *server) bool { return s.leftBefore(now.Add(-keptAfter)) })
	e.sweepAt = max(1000, 2*len(e.servers))
}

// forget forgets a server that could not be connected.
func (e *Endpoint) forget(s *server) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.servers[s.key] == s && s.leftBefore(e.Clock.Now().Add(time.Nanosecond)) {
		delete(e.servers, s.key)
	}
}

// Close accepts no more game servers, closes all sockets without a Close frame, so that the game servers reconnect, and
// waits for all goroutines. The error is ctx's.
func (e *Endpoint) Close(ctx context.Context) error { return e.sockets.Close(ctx) }

// addressOf returns the address of the machine of a client. All addresses of this machine are the same: the SDK for C#
// may use IPv4 for one port and IPv6 for the other.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() {
		return "127.0.0.1"
	}
	return host
}
