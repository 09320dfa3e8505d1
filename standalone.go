package muster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/gateway/remote"
	"github.com/muster-gg/muster/internal/listen"
)

// StandaloneGateway says how a session gateway runs in front of a service
// elsewhere. Start from DefaultStandaloneGateway. Credentials are those of the AWS
// SDK's usual sources: the environment, the shared files, a role.
type StandaloneGateway struct {
	Gateway GatewayConfig

	// Endpoint is the URL of the GameLift API: a Muster, or a GameLift Local; "" for
	// that of AWS in the region.
	Endpoint string
	// Legacy is on when the endpoint is a GameLift Local. Default: off.
	Legacy string
	// Region is the AWS region; "" for that of the AWS SDK's usual sources.
	Region string

	// TLSCert and TLSKey are PEM files of the gateway's certificate; without, it
	// speaks plain text.
	TLSCert, TLSKey string
	// Plaintext is allow or refuse, where there is a certificate. Default: allow.
	Plaintext string
	// MetricsListen, MaxConnections, MaxConnectionsPerAddress, LogLevel, LogFormat and
	// ShutdownTimeout are those of Config.
	MetricsListen            string
	MaxConnections           int
	MaxConnectionsPerAddress int
	LogLevel, LogFormat      string
	ShutdownTimeout          time.Duration

	// Secret is what Gateway.SecretFile holds, for programs.
	Secret []byte
	// Log takes the log; nil discards it.
	Log *slog.Logger
	// Ready is called once with the gateway's URL, when it answers. May be nil.
	Ready func(url string)
	// Clock is what every deadline goes by; nil is the system's.
	Clock clockwork.Clock
}

// DefaultStandaloneGateway returns the settings of a gateway that nobody
// configured.
func DefaultStandaloneGateway() StandaloneGateway {
	c := DefaultConfig()
	return StandaloneGateway{
		Gateway: c.Gateway, Legacy: off, Plaintext: c.Plaintext,
		LogLevel: c.LogLevel, LogFormat: c.LogFormat, ShutdownTimeout: c.ShutdownTimeout,
	}
}

// Settings lists the settings of c. They stay bound to c.
func (c *StandaloneGateway) Settings() []Setting {
	const (
		service = "Service"
		running = "Running"
	)
	return append(c.Gateway.Settings(), []Setting{
		{"gateway-endpoint", service, "URL of the GameLift API, a Muster or a GameLift Local; empty for that of AWS in the region", text(&c.Endpoint, optional(webURL))},
		{"gateway-legacy", service, "whether the endpoint is a GameLift Local, which has no locations and no search", choice(&c.Legacy, off, on)},
		{"region", service, "AWS region of the service; empty for that of the AWS SDK's usual sources", text(&c.Region, nil)},
		{"plaintext", running, "whether requests without TLS are answered where there is a certificate", choice(&c.Plaintext, "allow", "refuse")},
		{"tls-cert", running, "PEM file with the certificate chain, which is read again when it changes; empty speaks plain text", text(&c.TLSCert, nil)},
		{"tls-key", running, "PEM file with the key of tls-cert", text(&c.TLSKey, nil)},
		{"max-connections", running, connectionsUsage, number(&c.MaxConnections, 0, mostConnections)},
		{"max-connections-per-address", running, perAddressUsage, number(&c.MaxConnectionsPerAddress, 0, mostConnections)},
		{"metrics-listen", running, "TCP address that answers /metrics, without authentication; empty answers it on the gateway's address to this machine alone", text(&c.MetricsListen, optional(address))},
		{"log-level", running, "least level that is logged", choice(&c.LogLevel, "debug", "info", "warn", "error")},
		{"log-format", running, "form of the log", choice(&c.LogFormat, "text", "json")},
		{"shutdown-timeout", running, "how long a stop waits for requests under way", duration(&c.ShutdownTimeout, 0, time.Hour)},
	}...)
}

// Validate reports what a gateway could not run with, as joined *SettingErrors.
func (c *StandaloneGateway) Validate() error {
	errs := append(check(c.Settings()), c.Gateway.conflicts()...)
	if (c.TLSCert == "") != (c.TLSKey == "") {
		errs = append(errs, &SettingError{Setting: "tls-cert", Problem: "give both tls-cert and tls-key, or neither"})
	}
	if c.Gateway.Listen == "" {
		errs = append(errs, &SettingError{Setting: "gateway-listen", Problem: "must not be empty: there is nothing else to run"})
	}
	if c.Legacy == on && c.Endpoint == "" {
		errs = append(errs, &SettingError{Setting: "gateway-endpoint", Problem: "is missing: name the URL of the GameLift Local"})
	}
	return errors.Join(errs...)
}

// RunGateway runs a session gateway until ctx is done or it cannot go on.
func RunGateway(ctx context.Context, c StandaloneGateway) error {
	parts, err := c.parts(ctx)
	if err != nil {
		return err
	}
	scrapes, err := openMetrics(ctx, c.MetricsListen, parts.limits, parts.scrape, parts.log)
	if err != nil {
		return err
	}
	if scrapes != nil {
		parts.scrape = nil
	}
	g, err := openGateway(ctx, &c.Gateway, parts)
	if err != nil {
		return errors.Join(err, scrapes.close())
	}
	reportUnencrypted(parts.log, "gateway-listen", g.listener.Addr(), parts.tls)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(g.run)
	if scrapes != nil {
		reportOpen(parts.log, "metrics-listen", scrapes.listener.Addr())
		group.Go(func() error { return scrapes.run(ctx) })
	}
	group.Go(func() error {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.ShutdownTimeout)
		defer cancel()
		return g.close(last)
	})
	url := g.url(parts.tls.TLS == nil || c.Plaintext == "allow")
	c.Log.Info("session gateway is ready", "gateway", url, "endpoint", c.Endpoint, "region", c.Region)
	if c.Ready != nil {
		c.Ready(url)
	}
	return group.Wait()
}

// A GatewayHandler is a session gateway for a program that has its own way to take
// requests.
type GatewayHandler struct{ handler *gatewayHandler }

// NewGatewayHandler makes a session gateway that takes no port: what c says of
// ports and certificates has no effect. It must be closed.
func NewGatewayHandler(ctx context.Context, c StandaloneGateway) (*GatewayHandler, error) {
	parts, err := c.parts(ctx)
	if err != nil {
		return nil, err
	}
	handler, err := newGatewayHandler(&c.Gateway, &parts)
	if err != nil {
		return nil, err
	}
	return &GatewayHandler{handler}, nil
}

// ServeHTTP implements http.Handler.
func (g *GatewayHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.handler.ServeHTTP(w, r)
}

// Close waits for what is under way, until ctx is done, and cuts the rest.
func (g *GatewayHandler) Close(ctx context.Context) error { return g.handler.close(ctx) }

// parts are what the gateway is made of when the service is elsewhere.
func (c *StandaloneGateway) parts(ctx context.Context) (gatewayParts, error) {
	if err := c.Validate(); err != nil {
		return gatewayParts{}, err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	service, err := c.service(ctx)
	if err != nil {
		return gatewayParts{}, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	p := gatewayParts{
		service: service, region: c.Region, secret: c.Secret, legacy: c.Legacy == on, metrics: registry,
		scrape: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		ready:  service.Ready, clock: c.Clock, log: c.Log,
	}
	p.queues, _ = service.(gateway.Queues)
	p.matchmaking, _ = service.(gateway.Matchmaking)
	files := openFiles()
	p.limits = connectionLimits(c.MaxConnections, c.MaxConnectionsPerAddress, files, files/2, c.Log) // a request needs two connections
	if c.TLSCert != "" {
		given, err := listen.LoadCertificate(c.TLSCert, c.TLSKey, c.Clock.Now, c.Log)
		if err != nil {
			return gatewayParts{}, fmt.Errorf("tls-cert: %w", err)
		}
		p.tls = listen.Config{TLS: given.Server(), RefusePlain: c.Plaintext == "refuse"}
	}
	return p, nil
}

// service is the client of the service elsewhere.
func (c *StandaloneGateway) service(ctx context.Context) (gateway.Service, error) {
	var options []func(*config.LoadOptions) error
	if c.Region != "" {
		options = append(options, config.WithRegion(c.Region))
	}
	if c.Endpoint != "" {
		options = append(options, config.WithBaseEndpoint(c.Endpoint))
	}
	options = append(options, config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(keepConnections)))
	aws, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("AWS settings: %w", err)
	}
	c.Region = aws.Region
	service, err := remote.New(remote.Config{
		AWS: aws, Legacy: c.Legacy == on, LegacyFleet: c.Gateway.LocalFleet, Clock: c.Clock, Log: c.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("service behind the gateway: %w", err)
	}
	return service, nil
}

// keepConnections keeps enough connections to the service for all requests under
// way.
func keepConnections(t *http.Transport) { t.MaxIdleConns, t.MaxIdleConnsPerHost = 512, 512 }
