// Package muster is the whole service: Run starts it, and any Go program or
// test can embed it.
package muster

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/gateway/local"
	"github.com/muster-gg/muster/internal/http1"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/localca"
	"github.com/muster-gg/muster/internal/nodes"
	"github.com/muster-gg/muster/internal/operator"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/serversdk"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/telemetry"
	"github.com/muster-gg/muster/internal/webhook"
)

// Run runs a service until ctx is done or it cannot go on. It opens its parts
// in the order in which they need each other and closes them in reverse.
//
// It ends by itself when the journal can no longer write, because the disk is
// full or fails, and does not begin when what is stored is not complete. The
// error says what to do then.
func Run(ctx context.Context, cfg Config) error {
	return advise(run(ctx, cfg), cfg.Data)
}

func run(ctx context.Context, cfg Config) (err error) {
	if err := cfg.Validate(); err != nil {
		return err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = clockwork.NewRealClock()
	}
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if _, _, err := checkIdentity(&cfg); err != nil { // before the journal is opened, which changes files
		return err
	}
	journals, err := cfg.engineConfig()
	if err != nil {
		return err
	}
	engine, err := jetstream.Open(ctx, journals)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer closing(&err, engine.Close)
	own, err := identify(&cfg)
	if err != nil {
		return err
	}
	s := &service{cfg: cfg, engine: engine, metrics: telemetry.New(region.Events.Name), ready: make(chan struct{}), complete: make(chan struct{})}
	if err := s.open(ctx, own); err != nil {
		return err
	}
	return s.run(ctx)
}

// closing closes a part at the end of a function and keeps its error.
func closing(err *error, closePart func() error) { *err = errors.Join(*err, closePart()) }

// service is one run.
type service struct {
	cfg      Config
	engine   *jetstream.Engine
	metrics  *telemetry.Metrics
	nodes    *nodes.Nodes // nil: this service is alone
	plane    *control.Plane
	secret   []byte      // the region's
	tls      *tls.Config // of every port
	limits   *listen.Limits
	listener net.Listener
	caFile   string
	history  journal.History
	feed     journal.Feed
	servers  *serversdk.Door
	operator *operator.Door
	calls    *http1.Server
	http     *http.Server    // for what is no plain API call
	gateway  *sessionGateway // nil when it is off
	ready    chan struct{}   // closed when all shards have served for the first time
	complete chan struct{}   // closed when this node has what it is to keep, or has waited for it long enough
	stopping <-chan struct{} // closed when the service begins to stop
	profiler *http.Server    // nil when it is off
	pprof    net.Listener    // the profiler's
	scrapes  *metricsServer  // nil: the metrics have no address of their own
}

// open makes the parts; none of them works yet.
func (s *service) open(ctx context.Context, own identity) error {
	var err error
	if s.tls, err = s.certificate(); err != nil {
		return err
	}
	journals, err := s.openJournals(ctx, own)
	if err != nil {
		return err
	}
	port, err := net.Listen("tcp", s.cfg.Listen) // not before: who connects to a node that waits for others would wait, too
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.limits = connectionLimits(s.cfg.MaxConnections, s.cfg.MaxConnectionsPerAddress, openFiles(), keptFiles+keptPerShard*s.cfg.Shards, s.cfg.Log)
	s.listener = listen.New(s.limits.Listen(port), s.listening())
	if err := s.openPlane(journals); err != nil {
		return errors.Join(err, s.listener.Close())
	}
	if s.scrapes, err = openMetrics(ctx, s.cfg.MetricsListen, s.limits, s.metrics.Handler(), s.cfg.Log); err != nil {
		return errors.Join(err, s.listener.Close())
	}
	if err := errors.Join(s.openDoors(), s.openGateway(ctx), s.openProfiler()); err != nil {
		return errors.Join(err, s.listener.Close(), s.scrapes.close(), s.gateway.close(ctx))
	}
	s.reportExposure()
	return nil
}

// listening is what every port answers.
func (s *service) listening() listen.Config {
	return listen.Config{TLS: s.tls, RefusePlain: s.cfg.Plaintext == "refuse"}
}

// openGateway makes the session gateway, if it is wanted.
func (s *service) openGateway(ctx context.Context) (err error) {
	plane := local.Service{Plane: s.plane}
	var scrape http.Handler
	if s.scrapes == nil {
		scrape = s.metrics.Handler()
	}
	s.gateway, err = openGateway(ctx, &s.cfg.Gateway, gatewayParts{
		service: plane, queues: plane, matchmaking: plane, region: s.cfg.Region, secret: gatewaySecret(s.secret), tls: s.listening(), limits: s.limits,
		metrics: s.metrics.Registerer(), scrape: scrape, begun: s.awaitReady, ready: plane.Ready,
		clock: s.cfg.Clock, log: s.cfg.Log,
	})
	return err
}

// certificate is the one that was given, or one of the local authority.
func (s *service) certificate() (*tls.Config, error) {
	if s.cfg.TLSCert != "" {
		given, err := listen.LoadCertificate(s.cfg.TLSCert, s.cfg.TLSKey, s.cfg.Clock.Now, s.cfg.Log)
		if err != nil {
			return nil, fmt.Errorf("tls-cert: %w", err)
		}
		return given.Server(), nil
	}
	local, err := localca.Load(filepath.Join(s.cfg.Data, tlsDir), s.cfg.certificateNames(), s.cfg.Clock.Now())
	if err != nil {
		return nil, fmt.Errorf("local certificate authority: %w", err)
	}
	s.caFile = local.CAFile
	return local.TLSConfig(), nil
}

// certificateNames are the names that the local authority's certificate holds
// besides those of this host.
func (c *Config) certificateNames() []string {
	if u, err := url.Parse(c.PublicURL); err == nil && u.Hostname() != "" {
		return append([]string{u.Hostname()}, c.TLSNames...)
	}
	return c.TLSNames
}

// openJournals opens what is stored. A node of a cluster waits here until a majority of
// the nodes is there.
func (s *service) openJournals(ctx context.Context, own identity) ([]journal.Journal, error) {
	err := s.openSecret(ctx, own)
	if err != nil {
		return nil, err
	}
	if err := s.restore(ctx, own.Restoration); err != nil {
		return nil, fmt.Errorf("restore the cluster: %w", err)
	}
	if s.history, err = s.engine.History(ctx); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	if s.feed, err = s.engine.Feed(ctx); err != nil {
		return nil, fmt.Errorf("event feed: %w", err)
	}
	journals := make([]journal.Journal, s.cfg.Shards)
	for i := range journals {
		if journals[i], err = s.engine.Journal(ctx, i); err != nil {
			return nil, fmt.Errorf("journal of shard %d: %w", i, err)
		}
	}
	if s.cfg.Cluster.alone() {
		return journals, own.raise(s.cfg.Data, region.MaxLevel) // the shards follow when they begin
	}
	return journals, s.joinNodes(ctx)
}

func (s *service) openPlane(journals []journal.Journal) (err error) {
	endpoint := s.cfg.ServerEndpoint(s.listener.Addr())
	config := control.Config{
		Region: s.cfg.Region, Account: s.cfg.Account, Secret: s.secret, Journals: journals, History: s.history, Feed: s.feed, Settings: s.cfg.settings(),
		SDKEndpoint: endpoint, AgentEndpoint: endpoint, ClockSkew: s.cfg.ClockSkew, SessionMemory: s.cfg.SessionMemory,
		SnapshotEvery: shard.SnapshotEvery{Records: s.cfg.SnapshotEvery}, FinalSnapshot: true,
		Clock: s.cfg.Clock, Log: s.cfg.Log, Observe: s.count, Metrics: s.metrics.Shard(),
	}
	webhooks, err := openWebhooks(&s.cfg, s.feed, s.metrics.Webhook)
	if err != nil {
		return err
	}
	if webhooks != nil {
		config.Drivers = append(config.Drivers, func(ctx context.Context) error { return webhook.Run(ctx, *webhooks) })
	}
	if s.nodes != nil {
		config.Cluster = s.nodes
	}
	if s.plane, err = control.New(config); err != nil {
		return err
	}
	if s.nodes != nil {
		s.nodes.Attach(s.plane)
	}
	return nil
}

// openSecret gets the region's secret, which other nodes have too if there are any.
func (s *service) openSecret(ctx context.Context, own identity) (err error) {
	path := filepath.Join(s.cfg.Data, "region.secret")
	if s.cfg.Cluster.alone() {
		s.secret, err = loadSecret(path)
		return err
	}
	if s.secret, err = os.ReadFile(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s, which all nodes have in common: make the data directories of all nodes with muster cluster init", path)
	}
	if err != nil {
		return err
	}
	if err := s.agree(ctx, own); err != nil {
		return fmt.Errorf("agree with the other nodes: %w", err)
	}
	return nil
}

// count counts what has become durable: each fact on the one node that owns its shard.
func (s *service) count(shard int, facts []event.Fact) {
	if s.plane.Shard(shard).Owned() {
		s.metrics.Facts(shard, facts)
	}
}

// settings are what the core goes by.
func (c *Config) settings() region.Settings {
	f := fleet.DefaultSettings(c.Region)
	f.TokenLifetime = c.AuthTokenLifetime
	f.Reservation = c.ReservationTimeout
	f.ProcessGrace = c.ProcessGrace
	f.ProcessMemory = c.ProcessMemory
	f.ReadyTimeout = c.ReadyTimeout
	f.HealthInterval = c.HealthInterval
	f.HealthMisses = c.HealthMisses
	f.TerminationGrace = c.TerminationGrace
	return region.Settings{Fleet: f, Catalog: catalog.DefaultLimits()}
}

func (s *service) openDoors() error {
	calls := newAdmission(s.cfg.MaxCalls, s.cfg.Clock)
	bodies := http1.NewBudget(int64(s.cfg.MaxBodyMemory) << 20)
	door, err := api.New(api.Config{
		Handlers: s.plane.Handlers(), Keys: s.plane, Skew: s.cfg.ClockSkew, Clock: s.cfg.Clock, Log: s.cfg.Log,
		Ready: s.awaitReady,
		Attach: func(ctx context.Context, c api.Call) context.Context {
			return control.WithCall(ctx, control.Call{Principal: c.Principal, Invocation: c.Invocation})
		},
		Allow: newThrottle(s.cfg.Throttle, s.cfg.Clock).allow, Enter: calls.enter, Leave: calls.leave, Bodies: bodies, Observe: s.metrics.Call,
	})
	if err != nil {
		return err
	}
	s.metrics.Levels(s.levels)
	s.metrics.Place(s.place)
	s.servers = serversdk.New(serversdk.Config{
		Servers: s.plane, Clock: s.cfg.Clock, Log: s.cfg.Log, Metrics: s.metrics.Sockets(), ProcessMemory: s.cfg.ProcessMemory,
	})
	s.operator = operator.New(operator.Config{
		Region: s.plane, Feed: s.feed, Backup: s.backup, Nodes: operatedNodes{s}, Keys: s.plane, Skew: s.cfg.ClockSkew,
		Ready: s.awaitReady, Clock: s.cfg.Clock, Log: s.cfg.Log,
	})
	s.calls = http1.New(http1.Config{Handler: door, Linger: lastCalls, Bodies: bodies, Log: s.cfg.Log})
	s.http = newServer(s.routes(door), s.cfg.Log)
	s.http.ConnContext = serversdk.ConnContext
	return nil
}

// lastCalls is how long a service that stops answers what comes over connections that
// clients keep: they hear that it stops by an answer, and not by a call that fails.
const lastCalls = 500 * time.Millisecond

// scrapeLimit is how long a scrape of the metrics waits for the shards.
const scrapeLimit = 5 * time.Second

// levels are the region's numbers, for the metrics.
func (s *service) levels() (telemetry.Levels, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit)
	defer cancel()
	c, err := s.plane.Counts(ctx)
	return telemetry.Levels{
		Computes: c.Computes, ServerProcesses: c.Processes, IdleServerProcesses: c.Idle,
		ActivatingGameSessions: c.Activating, ActiveGameSessions: c.Active,
		PlayerSessions: c.Players, MaximumPlayerSessions: c.MaximumPlayers,
	}, err == nil
}

// routes says which door a request goes to that is no plain API call. It is no http.ServeMux, which
// redirects paths with two slashes: the C++ edition of the server SDK adds one
// to whatever URL it was given, and follows no redirects.
func (s *service) routes(calls http.Handler) http.Handler {
	pages := map[string]http.Handler{
		"/metrics": localMetrics(s.metrics.Handler()),
		"/healthz": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }),
		"/readyz":  http.HandlerFunc(s.readiness),
	}
	if s.scrapes != nil {
		delete(pages, "/metrics")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		switch {
		case ok && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			page.ServeHTTP(w, r)
		case operator.Matches(r):
			s.operator.ServeHTTP(w, r)
		case !serversdk.Matches(r):
			calls.ServeHTTP(w, r)
		case !s.awaitReady(r.Context()):
			w.Header().Set("Retry-After", "1")
			http.Error(w, "recovering", http.StatusServiceUnavailable)
		default:
			s.servers.ServeHTTP(w, r)
		}
	})
}

// startLimit is how long a request waits for a service that starts. Clients wait
// longer for an answer.
const startLimit = 15 * time.Second

// awaitReady holds a request until the service knows its state. Before that it
// would tell its callers that their keys, tokens and fleets do not exist, which
// they take for final. A node that has lost the others knows it no more.
func (s *service) awaitReady(ctx context.Context) bool {
	select {
	case <-s.ready:
		return s.present(ctx)
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	select {
	case <-s.ready:
		return s.present(ctx)
	case <-s.stopping: // it will not get ready any more
		return false
	case <-ctx.Done():
		return false
	}
}

// readiness says whether requests are to be sent here. A node that stops says no before
// it does.
func (s *service) readiness(w http.ResponseWriter, _ *http.Request) {
	select {
	case <-s.stopping:
		http.Error(w, "stopping", http.StatusServiceUnavailable)
		return
	default:
	}
	if !s.plane.Serving() || s.nodes != nil && !s.inCluster() {
		http.Error(w, "recovering", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// run starts the parts, says when they answer, and stops them: other nodes take the
// shards, then the doors are closed, then the node leaves, and the plane, whose last
// batch answers the last callers, ends.
func (s *service) run(ctx context.Context) error {
	planeCtx, stopPlane := context.WithCancel(context.WithoutCancel(ctx))
	defer stopPlane()
	group, ctx := errgroup.WithContext(ctx)
	s.stopping = ctx.Done()
	group.Go(func() error { return s.plane.Run(planeCtx) })
	if s.nodes != nil {
		group.Go(func() error { return s.nodes.Run(planeCtx) })
		group.Go(func() error { return s.watchPresence(ctx) })
	}
	group.Go(func() error {
		err := s.engine.Broken(ctx)
		if err != nil {
			stopPlane() // at once: it answers those who wait for what cannot be written
		}
		return err
	})
	group.Go(func() error {
		if err := s.calls.Serve(s.listener); err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		if err := s.http.Serve(listen.Unambiguous(s.http, s.calls.Rest())); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	if s.gateway != nil {
		group.Go(s.gateway.run)
	}
	if s.scrapes != nil {
		group.Go(func() error { return s.scrapes.run(ctx) })
	}
	if s.profiler != nil {
		group.Go(func() error { return s.serveProfiler(ctx) })
	}
	group.Go(func() error { return s.announce(ctx) })
	group.Go(func() error {
		<-ctx.Done()
		defer stopPlane()
		s.handOver()
		err := s.closeDoors()
		s.leave()
		return err
	})
	return group.Wait()
}

// announce says how the service is reached, once it answers.
func (s *service) announce(ctx context.Context) error {
	if s.plane.WaitReady(ctx) != nil {
		return nil // stopped before
	}
	if s.nodes != nil && s.nodes.Open(ctx) != nil {
		return nil // stopped before, or the owner of the catalog has
	}
	close(s.ready)
	key, created, err := s.plane.RootKey(ctx)
	if err != nil {
		return err
	}
	e := s.endpoints(key)
	s.cfg.Log.Info("muster is ready", "http", e.HTTP, "gateway", e.Gateway, "region", e.Region, "access_key", e.AccessKey, "access_key_is_new", created)
	if s.cfg.Ready != nil {
		s.cfg.Ready(e)
	}
	return nil
}

func (s *service) endpoints(key control.AccessKey) Endpoints {
	host := dialable(s.listener.Addr())
	e := Endpoints{
		HTTP: "http://" + host, WS: "ws://" + host, WSS: "wss://" + host,
		CAFile: s.caFile, AccessKey: key.ID, SecretKey: key.Secret, Region: s.cfg.Region,
		Gateway: s.gateway.url(s.cfg.Plaintext != "refuse"), Metrics: s.scrapes.url(),
	}
	if s.cfg.Plaintext == "refuse" {
		e.HTTP, e.WS = "https://"+host, ""
	}
	if s.pprof != nil {
		e.Pprof = "http://" + dialable(s.pprof.Addr()) + "/debug/pprof/"
	}
	return e
}

// closeDoors lets requests that are under way finish and cuts the sockets of
// the server processes, which then connect again elsewhere or later. The session
// gateway comes first and has half of the time: its requests wait for server
// processes.
func (s *service) closeDoors() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownTimeout)
	defer cancel()
	first, cancelFirst := context.WithTimeout(ctx, s.cfg.ShutdownTimeout/2)
	defer cancelFirst()
	s.operator.Stop()
	err := errors.Join(s.gateway.close(first), s.servers.Close(ctx))
	var stopping errgroup.Group
	for _, server := range []interface {
		Shutdown(context.Context) error
		Close() error
	}{s.calls, s.http} {
		stopping.Go(func() error {
			if server.Shutdown(ctx) != nil {
				return server.Close()
			}
			return nil
		})
	}
	return errors.Join(err, stopping.Wait())
}

// profileTime is how long a profile may take.
const profileTime = 10 * time.Minute

// openProfiler makes Go's profiler, if it is wanted.
func (s *service) openProfiler() (err error) {
	if s.cfg.PprofListen == "" {
		return nil
	}
	if s.pprof, err = net.Listen("tcp", s.cfg.PprofListen); err != nil {
		return fmt.Errorf("pprof-listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	s.profiler = newServer(mux, s.cfg.Log)
	s.profiler.ReadTimeout, s.profiler.WriteTimeout = profileTime, profileTime
	return nil
}

// serveProfiler serves the profiler until ctx is done.
func (s *service) serveProfiler(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.profiler.Close() })
	defer stop()
	if err := s.profiler.Serve(listen.Unambiguous(s.profiler, s.pprof)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("profiler: %w", err)
	}
	return nil
}

// loadSecret reads the region's secret, and draws it at the first start.
func loadSecret(path string) ([]byte, error) {
	secret, err := os.ReadFile(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	secret = make([]byte, control.SecretSize)
	rand.Read(secret)
	if err := writeDurably(path, secret); err != nil {
		return nil, fmt.Errorf("region's secret: %w", err)
	}
	return secret, nil
}
