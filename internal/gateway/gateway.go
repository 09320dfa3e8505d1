package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/telemetry/loglimit"
)

// A Gateway serves game clients. Close stops it.
type Gateway struct {
	service     Service
	queues      Queues
	matchmaking Matchmaking

	routes map[int32]Target
	def    Target
	fixed  []Target
	first  *firstFleet

	deadline    time.Duration
	fields      Fields
	buildCheck  BuildCheck
	reuse       bool
	findLimit   int
	compat      bool
	development bool
	allowTarget bool
	maxBody     int64
	bodyTime    time.Duration // real time, not of clock
	legacyIDs   bool
	localFleet  string
	region      string
	secret      []byte
	marks       bool // some game sessions have the marker property

	clock   clockwork.Clock
	log     *slog.Logger
	subject func(*http.Request) string
	caller  func(*http.Request) string
	limit   func(player string) (time.Duration, bool)
	observe func(Observation)

	creations inflight
	joins     keyLocks
	slots     slotOrigins
	unused    *unused
	lines     *loglimit.Limiter // for log lines that unauthenticated clients can cause
	streams   streams

	base     context.Context // of work that outlives its request
	stop     context.CancelCauseFunc
	closing  chan struct{} // closed when requests are rejected
	mu       sync.Mutex
	closed   bool           // guarded by mu
	work     sync.WaitGroup // requests and creations; Add needs mu, or a request that is counted
	inFlight atomic.Int64
}

// New returns a gateway and starts nothing. The error names every invalid field of the configuration.
func New(c Config) (*Gateway, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	g := &Gateway{
		service: c.Service, queues: c.Queues, matchmaking: c.Matchmaking,
		routes: c.Routes, def: c.Default, fixed: fixedTargets(&c),
		deadline: cmp.Or(c.Deadline, DefaultDeadline), fields: cmp.Or(c.Fields, FieldsFull),
		buildCheck: cmp.Or(c.BuildCheck, BuildOff),
		reuse:      c.Reuse, findLimit: cmp.Or(c.FindLimit, DefaultFindLimit), compat: c.CompatErrors,
		development: c.Development,
		allowTarget: c.AllowTarget, maxBody: cmp.Or(c.MaxBody, DefaultMaxBody), bodyTime: bodyTime,
		legacyIDs: c.LegacyIDs, localFleet: cmp.Or(c.LocalFleet, DefaultLocalFleet), region: c.Region, secret: c.Secret,
		clock: c.Clock, log: c.Log, subject: c.Subject, caller: c.Caller, limit: c.Limit, observe: c.Observe,
		marks: c.Reuse || c.Queues != nil,
		streams: streams{most: cmp.Or(c.MaxStreams, DefaultMaxStreams),
			mostEach: cmp.Or(c.CallerStreams, DefaultCallerStreams)},
		unused:  newUnused(c.MaxUnused),
		closing: make(chan struct{}),
	}
	if g.clock == nil {
		g.clock = clockwork.NewRealClock()
	}
	g.lines = loglimit.New(g.clock)
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.subject == nil {
		g.subject = playerOf
	}
	if g.caller == nil {
		g.caller = hostOf
	}
	if g.limit == nil {
		g.limit = func(string) (time.Duration, bool) { return 0, true }
	}
	if g.observe == nil {
		g.observe = func(Observation) {}
	}
	g.first = &firstFleet{clock: g.clock, ask: c.Service.Fleet, log: g.log}
	g.base, g.stop = context.WithCancelCause(context.Background())
	return g, nil
}

// InFlight returns the number of requests in progress, streams included.
func (g *Gateway) InFlight() int { return int(g.inFlight.Load()) }

// enter counts a request; it returns false when the gateway is closing.
func (g *Gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.work.Add(1)
	g.inFlight.Add(1)
	return true
}

func (g *Gateway) leave() {
	g.inFlight.Add(-1)
	g.work.Done()
}

// Close rejects new requests, ends the event streams, and waits for the requests and creations in progress. When ctx is
// done, it cancels them and returns ctx's error; cancelled creations still end their game sessions, for which Close
// waits at most undoTime. A client that does not read its answer blocks Close until the server closes its connection.
// Close may be called again.
func (g *Gateway) Close(ctx context.Context) error {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.closing)
	}
	g.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.work.Wait()
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	g.stop(errStopping)
	<-done
	return err
}
