package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/cloudwatch"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/console"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/gateway/local"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/objects/s3"
	"github.com/muster-gg/muster/internal/operator"
	"github.com/muster-gg/muster/internal/serversdk"
	"github.com/muster-gg/muster/internal/serversdk/agent"
	processlogs "github.com/muster-gg/muster/internal/serversdk/logs"
	"github.com/muster-gg/muster/internal/serversdk/machine"
	"github.com/muster-gg/muster/internal/signin"
	"github.com/muster-gg/muster/internal/signin/query"
	"github.com/muster-gg/muster/internal/telemetry"
	"github.com/muster-gg/muster/internal/testkit"
)

// openGateway opens the session gateway, if it is enabled. It is the last part, so no later failure has to close it.
func (s *service) openGateway(ctx context.Context) (err error) {
	plane := local.Service{Plane: s.plane}
	var scrape http.Handler
	if s.scrapes == nil {
		scrape = s.metrics.Handler()
	}
	s.gateway, err = openGateway(ctx, &s.cfg.Gateway, gatewayParts{
		service: plane, queues: plane, matchmaking: plane, region: s.cfg.Region, secret: gatewaySecret(s.secret),
		tls: s.listening(), limits: s.limits,
		metrics: s.metrics.Registry(), scrape: scrape, begun: s.awaitReady, ready: plane.Ready,
		clock: s.cfg.Clock, test: s.kit, log: s.cfg.Log,
	})
	return err
}

func (s *service) openEndpoints(context.Context) error {
	calls := newAdmission(s.cfg.MaxCalls, s.cfg.Clock)
	throttle := newThrottle(s.cfg.Throttle, s.cfg.Clock)
	proxies := listen.Proxies(s.cfg.ProxyNetworks())
	bodies := listen.NewBudget(int64(s.cfg.MaxBodyMemory) << 20)
	handler, err := api.New(api.Config{
		Handlers: append(s.plane.Handlers(), api.Refusals()...), Keys: s.plane, Skew: s.cfg.ClockSkew,
		Open: s.cfg.Local(), Clock: s.cfg.Clock, Log: s.cfg.Log,
		Access: s.plane, Resolver: s.plane, ManagementOnly: s.cfg.AuditCalls == "management",
		Ready: s.awaitReady,
		Attach: func(ctx context.Context, c api.Call) context.Context {
			return control.WithCall(ctx, control.Call{Principal: c.Principal, Invocation: c.Invocation, URL: c.URL,
				Created: c.Created})
		},
		Allow: s.quotas(throttle.allow), Inject: s.injected(), Enter: calls.enter, Leave: calls.leave,
		Bodies: bodies, Observe: s.metrics.Call,
	})
	if err != nil {
		return err
	}
	s.api = handler
	s.watch = cloudwatch.New(cloudwatch.Config{
		Store: s.recorder.Store, Access: s.plane, Account: s.cfg.Account, Skew: s.cfg.ClockSkew, Open: s.cfg.Local(),
		Ready: s.awaitReady, Allow: throttle.allow, Enter: calls.enter, Leave: calls.leave,
		Bodies: bodies, Observe: s.metrics.Call, Clock: s.cfg.Clock, Log: s.cfg.Log,
	})
	s.openS3(bodies)
	s.metrics.Levels(s.levels)
	s.metrics.History(s.historyNumbers)
	s.metrics.Place(s.place)
	s.metrics.Machine(s.machineNumbers)
	s.servers = serversdk.New(serversdk.Config{
		Servers: s.plane.Servers(), ProcessRetention: s.cfg.ProcessRetention,
		Clock: s.cfg.Clock, Log: s.cfg.Log, Metrics: s.metrics.Sockets(),
	})
	s.agents = agent.New(agent.Config{
		Agents: s.plane.Agents(), StoresLogs: s.plane.KeepsLogs(), Clock: s.cfg.Clock, Log: s.cfg.Log,
		Metrics: s.metrics.AgentSockets(),
	})
	s.processLogs = processlogs.New(processlogs.Config{
		Store: s.logs, Authorize: s.plane.AuthorizeLog, Spread: s.plane.SpreadLog, Verify: s.plane.VerifyLogURL,
		Clock: s.cfg.Clock, Log: s.cfg.Log,
	})
	s.machines = machine.New(machine.Config{
		Machines: s.plane.MachineConnector(), Clock: s.cfg.Clock, Log: s.cfg.Log, Metrics: s.metrics.MachineSockets(),
	})
	s.metrics.Machines(s.countMachines)
	var describe func(context.Context) any
	if s.legacy != nil {
		describe = s.legacy.report
	}
	s.operator = operator.New(operator.Config{
		Legacy: describe, Open: s.cfg.Local(),
		Region: s.plane, Feed: s.feed, Backup: s.backup, Nodes: operatedNodes{s}, Keys: s.plane, Skew: s.cfg.ClockSkew,
		Metrics: s.recorder.Store, Access: s.plane.Access, RegionName: s.cfg.Region, Account: s.cfg.Account,
		PublicURL: s.signin.PublicURL, Settings: s.settings(), Ready: s.awaitReady, Clock: s.cfg.Clock, Log: s.cfg.Log,
		Lines: s.lines,
	})
	s.console, err = console.New(console.Config{
		Calls: handler, Requests: s.operator, Region: s.plane, Access: s.plane, Person: s.signin.Person,
		Metrics: s.recorder.Store, Reservation: s.cfg.ReservationTimeout,
		Open: s.cfg.OpenConsole == config.On, Insecure: s.cfg.InsecureSignIn == config.On,
		Operations: offered(), CA: s.caFile, RegionName: s.cfg.Region, Account: s.cfg.Account, Endpoint: s.pagesURL(),
		PublicURL: s.signin.PublicURL, Ready: s.awaitReady, Clock: s.cfg.Clock, Log: s.cfg.Log,
	})
	if err != nil {
		return err
	}
	s.calls = listen.NewServer(listen.ServerConfig{
		Handler: handler, Accepts: isAPICall, Linger: lastCalls, Bodies: bodies, Proxies: proxies,
		Log: s.cfg.Log,
	})
	s.http = newServer(s.routes(handler), s.cfg.Log)
	s.http.ConnContext = proxies.ConnContext
	return nil
}

// openS3 opens the endpoint of buckets and objects.
func (s *service) openS3(bodies *listen.Budget) {
	keys := control.ObjectKeys{Plane: s.plane}
	c := s3.Config{
		Store: s.objects, Uploads: s.plane.Uploads(), Catalog: control.ObjectCatalog{Plane: s.plane}, Keys: keys,
		Region: s.cfg.Region,
		Skew:   max(s.cfg.ClockSkew, s3.DefaultSkew),
		Ready:  s.awaitReady, Bodies: bodies, Observe: s.metrics.Call, Clock: s.cfg.Clock, Log: s.cfg.Log,
		Attach: func(ctx context.Context, r *listen.Request, requestID string) context.Context {
			return access.WithOrigin(ctx, access.Origin{Address: r.Client.Address, TLS: r.Client.TLS,
				UserAgent: r.Header.Get("User-Agent"), RequestID: requestID})
		},
		Refused: func(ctx context.Context, accessKey, action string, err error) {
			s.plane.Refused(accessKey, access.OriginOf(ctx), action, err)
		},
	}
	if s.cfg.Local() {
		c.Anyone = keys.Anyone()
	}
	s.s3 = s3.New(c)
}

// offered returns the operations that are offered, by family.
func offered() (groups []console.OperationGroup) {
	for _, f := range api.Families {
		g := console.OperationGroup{Name: f.Name}
		for _, o := range f.Offers {
			if o.Support != api.No {
				g.Operations = append(g.Operations, o.Info.Name)
			}
		}
		if len(g.Operations) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// settings returns the settings for operators.
func (s *service) settings() (all []operator.Setting) {
	for _, each := range s.cfg.Settings() {
		shown := each.Redacted()
		source, ok := s.cfg.SettingOrigins[shown.Name]
		if !ok && each.String() == each.Default {
			source = "default"
		}
		all = append(all, operator.Setting{Name: shown.Name, Group: shown.Group, Value: shown.String(), Source: source,
			Usage: shown.Usage})
	}
	return all
}

// isAPICall reports whether a request is a call of GameLift, which the fast reader of calls takes.
func isAPICall(r *listen.Request) bool { return api.Matches(r) && !cloudwatch.Matches(r) }

// lastCalls is how long a stopping service answers calls on kept-alive connections, so that clients receive an answer
// and not a failed call.
const lastCalls = 500 * time.Millisecond

// scrapeLimit is the time-out of the shards' numbers for a scrape.
const scrapeLimit = 5 * time.Second

// historyNumbers returns the size of the history for the metrics.
func (s *service) historyNumbers() (telemetry.History, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit)
	defer cancel()
	now, err := s.plane.HistoryState(ctx)
	h := telemetry.History{Bytes: now.Bytes, IndexBytes: now.IndexBytes, Behind: now.Behind, Entries: now.Entries,
		Overdue: now.Overdue}
	if !now.Oldest.IsZero() {
		h.Age = s.cfg.Clock.Since(now.Oldest)
	}
	return h, err == nil
}

// levels returns the region's numbers for the metrics.
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

// countMachines returns the numbers of machines for the metrics.
func (s *service) countMachines() []telemetry.MachineCount {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit)
	defer cancel()
	counts := map[telemetry.MachineCount]int{}
	for _, m := range s.plane.AllMachines(ctx) {
		counts[telemetry.MachineCount{Location: m.Location, Status: string(m.Status)}]++
	}
	var all []telemetry.MachineCount
	for of, n := range counts {
		of.Machines = n
		all = append(all, of)
	}
	return all
}

// routes returns the handler of all requests but plain API calls. It is no http.ServeMux, which redirects paths with
// two slashes: the C++ edition of the server SDK adds one to any URL, and does not follow redirects.
func (s *service) routes(calls http.Handler) http.Handler {
	pages := map[string]http.Handler{
		"/metrics": localMetrics(s.metrics.Handler()),
		"/healthz": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }),
		"/readyz":  http.HandlerFunc(s.readiness),
	}
	if s.scrapes != nil {
		pages["/metrics"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "metrics are at the address of the setting metrics-listen", http.StatusNotFound)
		})
	}
	var tests http.Handler
	if s.kit != nil {
		tests = s.kit.Handler()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		switch {
		case s3.Is(r): // a bucket may have the name of a page
			s.s3.ServeHTTP(w, r)
		case ok && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			page.ServeHTTP(w, r)
		case cloudwatch.MatchesHTTP(r):
			s.watch.ServeHTTP(w, r)
		case signin.Matches(r):
			s.signin.ServeHTTP(w, r)
		case console.Matches(r):
			s.console.ServeHTTP(w, r)
		case query.Matches(r):
			s.query.ServeHTTP(w, r)
		case tests != nil && testkit.Matches(r):
			tests.ServeHTTP(w, r)
		case operator.Matches(r):
			s.operator.ServeHTTP(w, r)
		case processlogs.Matches(r):
			s.processLogs.ServeHTTP(w, r)
		case control.MatchesFile(r):
			if s.awaitReady(r.Context()) {
				s.plane.ServeFile(w, r)
				return
			}
			w.Header().Set("Retry-After", "1")
			http.Error(w, "recovering", http.StatusServiceUnavailable)
		case !serversdk.Matches(r) && !agent.Matches(r) && !machine.Matches(r):
			calls.ServeHTTP(w, r)
		case !s.awaitReady(r.Context()):
			w.Header().Set("Retry-After", "1")
			http.Error(w, "recovering", http.StatusServiceUnavailable)
		case agent.Matches(r):
			s.agents.ServeHTTP(w, r)
		case machine.Matches(r):
			s.machines.ServeHTTP(w, r)
		default:
			s.servers.ServeHTTP(w, r)
		}
	})
}

// startLimit is how long a request waits for a starting service. Clients wait longer for an answer.
const startLimit = 15 * time.Second

// awaitReady holds a request until the service has its state. Earlier answers would be that keys, tokens and fleets do
// not exist, which clients treat as final. A disconnected node does not know its state either.
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
	case <-s.stopping: // it will not become ready
		return false
	case <-ctx.Done():
		return false
	}
}

// readiness answers load balancers. A stopping node is not ready before it stops.
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

// serverEndpoint returns the URL for game servers: PublicURL, else the listen address, with the host name instead of a
// wildcard address. The scheme is wss as in the managed service: the C++ server SDK supports TLS only.
func serverEndpoint(c *config.Config, listening net.Addr) string {
	if c.PublicURL != "" {
		return strings.TrimSuffix(c.PublicURL, "/")
	}
	return (&url.URL{Scheme: "wss", Host: dialable(listening)}).String()
}

// dialable converts a listen address to one that others can dial.
func dialable(listening net.Addr) string {
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return listening.String()
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return net.JoinHostPort(host, port)
	}
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "localhost"
	}
	return net.JoinHostPort(name, port)
}
