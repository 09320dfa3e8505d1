package serversdk

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/loglimit"
)

const (
	// connectLimit is how long the control plane may take to let a process in.
	// The C++ edition gives up on a handshake after 20 s.
	connectLimit = 10 * time.Second
	// handshakeLimit is how long sending the 101 answer may take.
	handshakeLimit = 5 * time.Second
	// readBuffer is the size in bytes of a socket's read buffer: a heartbeat and
	// most requests fit, and tens of thousands of idle sockets cost little.
	readBuffer = 512
)

// Config is what a Door needs. Servers and Log are required.
type Config struct {
	Servers control.ServerConnector
	Clock   clockwork.Clock // nil for the real clock
	Log     *slog.Logger
	Metrics Metrics

	// ProcessMemory is how long the service knows processes that have ended; 0 is
	// for ever. What they asked is remembered for no longer.
	ProcessMemory time.Duration
}

// A Door serves the sockets of server processes. It is an http.Handler; its
// methods may be called at the same time.
type Door struct {
	servers   control.ServerConnector
	clock     clockwork.Clock
	log       *slog.Logger
	refusals  *loglimit.Limiter // of the log
	metrics   Metrics
	upgrader  websocket.Upgrader
	processes registry
	writers   writers

	mu      sync.Mutex
	closed  bool
	sockets map[*socket]struct{}
	running sync.WaitGroup // handshakes, readers and writers
}

// New makes a door. It starts nothing; Close ends the sockets it has let in.
func New(cfg Config) *Door {
	if cfg.Clock == nil {
		cfg.Clock = clockwork.NewRealClock()
	}
	cfg.Metrics.fill()
	keep := keptAfter
	if cfg.ProcessMemory > 0 {
		keep = min(keep, cfg.ProcessMemory)
	}
	d := &Door{
		servers: cfg.Servers, clock: cfg.Clock, log: cfg.Log, metrics: cfg.Metrics, refusals: loglimit.New(cfg.Clock),
		processes: registry{clock: cfg.Clock, keep: keep, known: make(map[processKey]*process)},
		sockets:   make(map[*socket]struct{}),
	}
	d.writers.running = &d.running
	d.upgrader = websocket.Upgrader{
		HandshakeTimeout: handshakeLimit,
		ReadBufferSize:   readBuffer,
		WriteBufferPool:  &sync.Pool{}, // the door writes its own frames; a pool spares each socket a buffer
		// Nothing is trusted for where a page comes from: the token is the proof.
		CheckOrigin: func(*http.Request) bool { return true },
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			d.refuse(w, status, string(fault.InvalidRequest)+": "+reason.Error())
		},
	}
	return d
}

// Matches reports whether r is the request of a server process for a socket: a
// GET, on any path, whose query names a process. The path is free because the
// C++ edition adds a slash to the one it was given.
func Matches(r *http.Request) bool {
	return r.Method == http.MethodGet && parseQuery(r.URL.RawQuery)["pID"] != ""
}

// ServeHTTP lets a server process in: 101 and a socket, or a JSON body that says
// why not, with status 400 for an incomplete request, 403 for a bad credential
// or a process id that was used before, 429 when there are too many requests,
// and 500 else. It returns as soon as the socket is open.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !d.enter() {
		d.refuse(w, http.StatusServiceUnavailable, string(fault.ServiceUnavailable)+": The service is stopping. Try again.")
		return
	}
	defer d.running.Done()

	about := parseQuery(r.URL.RawQuery).connect()
	about.Endpoint = dialed(r)
	s := &socket{door: d, process: processKey{about.FleetID, about.ComputeName, about.ProcessID}}
	if err := incomplete(r, s.process); err != nil {
		d.refuseFault(w, s, err)
		return
	}
	about.Push, about.Replaced = s.push, s.replaced
	ctx, cancel := context.WithTimeout(r.Context(), connectLimit)
	defer cancel()
	link, err := d.servers.Connect(ctx, about)
	if err != nil {
		d.refuseFault(w, s, err)
		return
	}
	// No response header: an answer that names a sub-protocol or an extension
	// fails the handshake of the C# edition.
	ws, err := d.upgrader.Upgrade(w, r, nil)
	if err != nil { // Upgrade has answered
		link.Disconnected()
		s.note("handshake of a server process failed", "error", err)
		return
	}
	s.note("server process connected", "sdk_language", about.SDKLanguage, "sdk_version", about.SDKVersion)
	s.open(ws, link)
}

// incomplete says what a request lacks to become a socket, before the control
// plane is asked.
func incomplete(r *http.Request, p processKey) error {
	switch {
	case !websocket.IsWebSocketUpgrade(r):
		return fault.New(fault.InvalidRequest, "this address takes the WebSocket connections of game server processes")
	case p.fleet == "" || p.compute == "" || p.id == "":
		return fault.New(fault.InvalidRequest, "the query must name pID, FleetId and ComputeId")
	case len(p.fleet) > maxID || len(p.compute) > maxID || len(p.id) > maxID:
		return fault.New(fault.InvalidRequest, "pID, FleetId and ComputeId may have at most %d bytes each", maxID)
	}
	return nil
}

// enter counts a handshake, unless the door is closed.
func (d *Door) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.running.Add(1)
	return true
}

// add notes an open socket; false when the door was closed in the meantime.
func (d *Door) add(s *socket) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.sockets[s] = struct{}{}
	return true
}

// remove forgets a socket that is gone.
func (d *Door) remove(s *socket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sockets, s)
}

// Cut cuts all sockets without a Close frame, so that the processes come back, to
// another node if they are led there.
func (d *Door) Cut() {
	d.mu.Lock()
	open := slices.Collect(maps.Keys(d.sockets))
	d.mu.Unlock()
	for _, s := range open {
		s.cut()
	}
}

// Close lets nobody in any more, cuts all sockets without a Close frame, so that
// the processes come back, and waits until nothing runs. The error is ctx's.
func (d *Door) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.Cut()
	ended := make(chan struct{})
	go func() {
		d.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
