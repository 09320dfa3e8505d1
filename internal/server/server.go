// Package server runs the service: it opens its parts in order and closes them in reverse. It also manages data
// directories: preparing the nodes of a cluster, backup and restore.
package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/capacity"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/cloudwatch"
	"github.com/muster-gg/muster/internal/cluster/nodes"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/console"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/localca"
	"github.com/muster-gg/muster/internal/logs"
	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/objects"
	"github.com/muster-gg/muster/internal/objects/s3"
	"github.com/muster-gg/muster/internal/operator"
	"github.com/muster-gg/muster/internal/publish"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/serversdk"
	"github.com/muster-gg/muster/internal/serversdk/agent"
	processlogs "github.com/muster-gg/muster/internal/serversdk/logs"
	"github.com/muster-gg/muster/internal/serversdk/machine"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/signin"
	"github.com/muster-gg/muster/internal/signin/query"
	"github.com/muster-gg/muster/internal/telemetry"
	"github.com/muster-gg/muster/internal/telemetry/logring"
	"github.com/muster-gg/muster/internal/telemetry/otlp"
	"github.com/muster-gg/muster/internal/testkit"
)

// historyIndexDir is the directory of the history's index in the data directory. It can be deleted while no service
// uses it.
const historyIndexDir = "history.index"

// objectsDir is the directory of the bytes of objects and builds in the data directory.
const objectsDir = "objects"

// logsDir is the directory of the logs of processes in the data directory. It can be deleted while no service uses it.
const logsDir = "logs"

// Run runs a service until ctx is done or it fails. It opens its parts in the order of their dependencies and closes
// them in reverse.
//
// It fails when the journal cannot be written, because the disk is full or broken, and at the start when stored data is
// incomplete. The error tells what to do.
func Run(ctx context.Context, cfg config.Config) error {
	return advise(run(ctx, cfg), cfg.Data)
}

func run(ctx context.Context, cfg config.Config) (err error) {
	if err := cfg.Validate(); err != nil {
		return err
	}
	complete(&cfg.Process)
	kit, _ := cfg.Test.(*testkit.Kit)
	if kit != nil {
		cfg.ClockSkew = testSkew
	}
	lines := logring.New(cfg.Clock.Now())
	least := slog.LevelInfo
	if cfg.LogLevel == "debug" { // the handler of muster dev takes these lines whatever the level is
		least = slog.LevelDebug
	}
	cfg.Log = slog.New(lines.Wrap(cfg.Log.Handler(), least))
	pushes, err := otlp.Load(cfg.Environ)
	if err != nil {
		return err
	}
	s := &service{
		cfg: cfg, kit: kit, lines: lines, pushes: pushes, metrics: telemetry.New(region.Events.Name),
		ready: make(chan struct{}), complete: make(chan struct{}),
	}
	defer s.reportStopped(&err)
	defer closing(&err, s.opened.close)
	if err := s.open(ctx); err != nil {
		return err
	}
	return s.serve(ctx)
}

// advise adds to an error that ends a service what its operator can do.
func advise(err error, data string) error {
	switch {
	case err == nil:
		return nil
	case isDiskFull(err): // the log has the failed writes
		return &advice{fmt.Sprintf("the disk is full: free some space for %s and start again; "+
			"everything acknowledged is stored", data), err}
	case strings.Contains(err.Error(), "read-only file system"): // of the engine there may be no more than text
		return fmt.Errorf("the data directory %s is read-only: mount its file system for writing, and start again: %w",
			data, err)
	case errors.Is(err, journal.ErrBroken):
		return fmt.Errorf("the disk of %s fails: repair it and start again: %w", data, err)
	case errors.Is(err, journal.ErrMissing):
		return fmt.Errorf("the data in %s is damaged: move it away, and restore a backup in its place (muster "+
			"restore) or start with an empty directory: %w", data, err)
	}
	return err
}

// An advice is an error with the text for its operator in place of its own.
type advice struct {
	text string
	err  error
}

func (a *advice) Error() string { return a.text }
func (a *advice) Unwrap() error { return a.err }

// isDiskFull checks the text, because the engine may return no more.
func isDiskFull(err error) bool {
	text := err.Error()
	// The second is Windows.
	return strings.Contains(text, "no space left") || strings.Contains(text, "not enough space")
}

// complete sets defaults of optional fields.
func complete(p *config.Process) {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Clock == nil {
		p.Clock = clockwork.NewRealClock()
	}
}

// closing closes a part at the end of a function and joins its error.
func closing(err *error, closePart func() error) { *err = errors.Join(*err, closePart()) }

// closers close opened parts in reverse. A part may be closed already.
type closers []func() error

func (c *closers) add(closePart func() error) { *c = append(*c, closePart) }

func (c *closers) close() (err error) {
	for _, closePart := range slices.Backward(*c) {
		err = errors.Join(err, closePart())
	}
	return err
}

// A service is one run.
type service struct {
	cfg         config.Config
	kit         *testkit.Kit // nil: the service is none for tests
	opened      closers
	lines       *logring.Ring // of the log
	metrics     *telemetry.Metrics
	identity    identity
	engine      *jetstream.Engine
	tls         *tls.Config              // of every port
	certificate func() *x509.Certificate // of tls
	caFile      string
	secret      []byte // the region's
	history     journal.History
	feed        journal.Feed
	objects     *objects.Store
	logs        *logs.Store // of processes that have ended
	journals    []journal.Journal
	timed       []*timedJournal // journals
	disk        diskMeter       // of the data directory
	nodes       *nodes.Nodes    // nil: no cluster
	limits      *listen.Limits
	listener    net.Listener
	plane       *control.Plane
	scrapes     *sidePort  // nil: no separate address for metrics
	changes     []*changes // of the shards, for the log
	pushes      *otlp.Settings
	pusher      *otlp.Pusher // nil: metrics are not pushed
	profiler    *sidePort    // nil: off
	servers     *serversdk.Endpoint
	agents      *agent.Endpoint
	processLogs *processlogs.Handler
	machines    *machine.Endpoint
	legacy      *legacyPorts // nil: off
	recorder    *metrics.Recorder
	trail       *audit.Trail
	grants      journal.Bucket // pending, of signing in
	codes       journal.Bucket // of signing in
	keyUses     journal.Bucket
	tokens      *idp.Verifier
	signin      *signin.Handler
	console     *console.Handler
	query       *query.Handler
	operator    *operator.Handler
	watch       *cloudwatch.Handler
	s3          *s3.Handler
	api         *api.Endpoint
	calls       *listen.Server
	http        *http.Server    // for all but plain API calls
	gateway     *sessionGateway // nil: off
	ready       chan struct{}   // closed when all shards have served for the first time
	complete    chan struct{}   // closed when this node's copies are complete, or after copiesLimit
	stopping    <-chan struct{} // closed when the service begins to stop
	stopped     time.Time       // when it began to
}

// open opens the parts, and starts none. The port is opened after the journals: clients would wait on a node that waits
// for others.
func (s *service) open(ctx context.Context) error {
	for _, open := range []func(context.Context) error{
		s.openEngine, s.openCertificate, s.openJournals, s.openAudit, s.openRecorder, s.openObjects, s.openPort,
		s.openPlane,
		s.openMetrics, s.openPusher, s.openProfiler,
		s.openLegacy, s.openSignIn, s.openEndpoints, s.openGateway,
	} {
		if err := open(ctx); err != nil {
			return err
		}
	}
	s.reportExposure()
	s.reportDisk()
	return nil
}

// openEngine opens the data directory with the engine of the journals.
func (s *service) openEngine(ctx context.Context) error {
	if err := os.MkdirAll(s.cfg.Data, 0o700); err != nil {
		return ExplainData(s.cfg.Data, fmt.Errorf("data directory: %w", err))
	}
	if _, _, err := checkIdentity(&s.cfg); err != nil { // before the journal is opened, which changes files
		return ExplainData(s.cfg.Data, err)
	}
	journals, err := engineConfig(&s.cfg)
	if err != nil {
		return err
	}
	if s.engine, err = jetstream.Open(ctx, journals); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	s.opened.add(s.engine.Close)
	s.identity, err = identify(&s.cfg)
	return err
}

// openCertificate loads the configured certificate, or one of the local CA.
func (s *service) openCertificate(context.Context) error {
	cert, key := s.cfg.TLSCert, s.cfg.TLSKey
	if cert == "" {
		local, err := localca.Load(filepath.Join(s.cfg.Data, tlsDir), certificateNames(&s.cfg), s.cfg.Clock.Now())
		if err != nil {
			return err // names the local CA
		}
		cert, key, s.caFile = local.CertificateFile, local.KeyFile, local.CAFile
	}
	loaded, err := listen.LoadCertificate(cert, key, s.cfg.Clock.Now, s.cfg.Log)
	if err != nil {
		return fmt.Errorf("tls-cert: %w", err)
	}
	s.tls, s.certificate = loaded.Server(), loaded.Leaf
	return nil
}

// certifier returns what issues certificates of instances; nil if there is no local CA.
func (s *service) certifier() (func(request []byte, names []string) (certificate, root []byte, err error), error) {
	dir := filepath.Join(s.cfg.Data, tlsDir)
	if has, err := localca.HasCA(dir); !has {
		return nil, err
	}
	return func(request []byte, names []string) (certificate, root []byte, err error) {
		return localca.Certify(dir, request, names, s.cfg.Clock.Now())
	}, nil
}

// certificateNames returns the additional names of the local CA's certificate.
func certificateNames(c *config.Config) []string {
	if u, err := url.Parse(c.PublicURL); err == nil && u.Hostname() != "" {
		return append([]string{u.Hostname()}, c.TLSNames...)
	}
	return c.TLSNames
}

// openPort listens on the port of the AWS API and the game servers.
func (s *service) openPort(ctx context.Context) error {
	port, err := new(net.ListenConfig).Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	kept := keptFiles + keptPerShard*s.cfg.Shards
	s.limits = connectionLimits(s.cfg.MaxConnections, s.cfg.MaxConnectionsPerAddress, openFiles(), kept, s.cfg.Log)
	s.listener = listen.New(s.limits.Listen(port), s.listening())
	s.opened.add(s.listener.Close)
	return nil
}

// listening returns the configuration of every port.
func (s *service) listening() listen.Config {
	return listen.Config{TLS: s.tls, RefusePlain: s.cfg.Plaintext == "refuse"}
}

// openObjects opens the stores of the bytes of objects, and of logs.
func (s *service) openObjects(context.Context) (err error) {
	s.objects, err = objects.Open(objects.Config{Dir: filepath.Join(s.cfg.Data, objectsDir), Clock: s.cfg.Clock,
		Log: s.cfg.Log})
	if err != nil {
		return err
	}
	s.logs, err = logs.Open(logs.Config{Dir: filepath.Join(s.cfg.Data, logsDir),
		MaxSize: int64(s.cfg.MaxProcessLogs) << 20, Clock: s.cfg.Clock, Log: s.cfg.Log})
	return err
}

func (s *service) openPlane(context.Context) (err error) {
	s.changes = newChanges(s.cfg.Log, len(s.journals))
	endpoint := serverEndpoint(&s.cfg, s.listener.Addr())
	certify, err := s.certifier()
	if err != nil {
		return err
	}
	plane := control.Config{
		Region: s.cfg.Region, Account: s.cfg.Account, Secret: s.secret,
		Journals: s.journals, History: s.history, Feed: s.feed, Settings: coreSettings(&s.cfg),
		SDKEndpoint: endpoint, AgentEndpoint: endpoint + agent.Path,
		ClockSkew: s.cfg.ClockSkew, SessionRetention: s.cfg.SessionRetention,
		Trail: s.trail, KeyUses: s.keyUses, Tokens: s.tokens, Lifetimes: lifetimes(&s.cfg),
		Argon2id:    s.argon2id(),
		HistoryKept: s.cfg.HistoryRetention, HistoryDir: filepath.Join(s.cfg.Data, historyIndexDir),
		Objects: s.objects, Copies: s.copiesOfObjects(), Logs: s.logs, MaxBuildSize: int64(s.cfg.MaxBuildSize) << 20,
		InstanceDomain: s.cfg.InstanceDomain, Certify: certify,
		ActivationTimeout: s.cfg.FleetActivationTimeout, ReplaceAfter: s.cfg.MachineLossTimeout,
		InstanceTypes: instanceTypes(&s.cfg),
		SnapshotEvery: shard.SnapshotEvery{Records: s.cfg.SnapshotEvery}, FinalSnapshot: true,
		Clock: s.cfg.Clock, Log: s.cfg.Log, Observe: s.count, Metrics: s.metrics.Shard,
	}
	if s.cfg.Legacy == config.On {
		plane.Legacy = &control.Legacy{Fleet: s.cfg.LegacyFleet, Address: s.cfg.LegacyAddress, AnyFleet: s.cfg.Local()}
	}
	webhooks, err := openWebhooks(&s.cfg, s.feed, s.metrics.Webhook)
	if err != nil {
		return err
	}
	if webhooks != nil {
		plane.Drivers = append(plane.Drivers, webhooks.Run)
	}
	if s.nodes != nil {
		plane.Cluster = s.nodes
	}
	if s.plane, err = control.New(plane); err != nil {
		return err
	}
	if s.nodes != nil {
		s.nodes.Attach(s.plane)
	}
	return nil
}

// instanceTypes returns the needs of the types that the settings name.
func instanceTypes(c *config.Config) capacity.Types {
	types := capacity.Types{}
	for _, text := range c.InstanceTypes {
		if t, err := config.ParseInstanceType(text); err == nil { // the settings are checked before
			types[t.Name] = capacity.Need{MilliCPUs: t.MilliCPUs, MemoryMiB: t.MemoryMiB}
		}
	}
	return types
}

// count counts durable facts; only the node that owns their shard does.
func (s *service) count(c *router.Commit) {
	owned := s.plane.Shard(c.Shard).Owned()
	if owned {
		s.metrics.Facts(c.Shard, c.Facts)
	}
	s.recorder.Observe(c)
	s.changes[c.Shard].observe(c, owned)
}

func coreSettings(c *config.Config) region.Settings {
	f := fleet.DefaultSettings(c.Region)
	f.TokenLifetime = c.AuthTokenLifetime
	f.Reservation = c.ReservationTimeout
	f.ProcessGrace = c.ProcessGrace
	f.ProcessRetention = c.ProcessRetention
	f.ReadyTimeout = c.ReadyTimeout
	f.HealthInterval = c.HealthInterval
	f.HealthMisses = c.HealthMisses
	f.TerminationGrace = c.TerminationGrace
	limits := catalog.DefaultLimits()
	if c.Test != nil && c.Test.EmulatesQuotas() {
		limits = catalog.GameLiftLimits()
	}
	return region.Settings{Fleet: f, Catalog: limits}
}

// openWebhooks returns the configuration of webhooks; nil if there are none.
func openWebhooks(c *config.Config, feed journal.Feed, observe func(outcome string)) (*publish.Webhooks, error) {
	if len(c.Webhooks) == 0 {
		return nil, nil
	}
	w := &publish.Webhooks{
		Feed: feed, Clock: c.Clock, Log: c.Log,
		Observe: func(how publish.Outcome) { observe(string(how)) },
	}
	for _, text := range c.Webhooks {
		to := config.ParseWebhook(text)
		w.Targets = append(w.Targets, publish.Target{Topic: to.Topic, URL: to.URL, Shown: config.ShownURL(to.URL)})
	}
	if c.WebhookSecretFile == "" {
		c.Log.Warn("webhooks are not signed: receivers cannot authenticate them", "fix", "webhook-secret-file")
		return w, nil
	}
	secret, err := os.ReadFile(c.WebhookSecretFile)
	if err == nil {
		w.Secret, err = publish.ParseSecret(string(secret))
	}
	if err != nil {
		return nil, fmt.Errorf("webhook-secret-file: %w", err)
	}
	return w, nil
}
