package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/gateway/remote"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/telemetry/otlp"
)

// RunGateway runs a session gateway until ctx is done or it fails.
func RunGateway(ctx context.Context, c config.StandaloneGateway) error {
	pushes, err := otlp.Load(c.Environ)
	if err != nil {
		return err
	}
	parts, err := standaloneParts(ctx, &c)
	if err != nil {
		return err
	}
	pusher, err := openPusher(pushes, parts.metrics, "", &c.Process)
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
	group.Go(func() error { return pusher.Run(ctx) })
	if scrapes != nil {
		reportOpen(parts.log, scrapes.setting, scrapes.listener.Addr())
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

// NewGatewayHandler returns a session gateway without a port: settings of ports and certificates have no effect. It
// must be closed.
func NewGatewayHandler(ctx context.Context, c config.StandaloneGateway) (*GatewayHandler, error) {
	parts, err := standaloneParts(ctx, &c)
	if err != nil {
		return nil, err
	}
	return newGatewayHandler(&c.Gateway, &parts)
}

// standaloneParts returns the parts of a gateway for a service elsewhere.
func standaloneParts(ctx context.Context, c *config.StandaloneGateway) (gatewayParts, error) {
	if err := c.Validate(); err != nil {
		return gatewayParts{}, err
	}
	complete(&c.Process)
	service, err := serviceElsewhere(ctx, c)
	if err != nil {
		return gatewayParts{}, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	p := gatewayParts{
		service: service, region: c.Region, secret: c.Secret, legacy: c.Legacy == config.On, metrics: registry,
		scrape: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		ready:  service.Ready, clock: c.Clock, log: c.Log,
	}
	p.queues, _ = service.(gateway.Queues)
	p.matchmaking, _ = service.(gateway.Matchmaking)
	files := openFiles() // half of them for connections to the service, one per request
	p.limits = connectionLimits(c.MaxConnections, c.MaxConnectionsPerAddress, files, files/2, c.Log)
	if c.TLSCert != "" {
		given, err := listen.LoadCertificate(c.TLSCert, c.TLSKey, c.Clock.Now, c.Log)
		if err != nil {
			return gatewayParts{}, fmt.Errorf("tls-cert: %w", err)
		}
		p.tls = listen.Config{TLS: given.Server(), RefusePlain: c.Plaintext == "refuse"}
	}
	return p, nil
}

// serviceElsewhere returns a client of the service.
func serviceElsewhere(ctx context.Context, c *config.StandaloneGateway) (gateway.Service, error) {
	aws, err := remote.LoadAWS(ctx, c.Region, c.Endpoint)
	if err != nil {
		return nil, err
	}
	c.Region = aws.Region
	service, err := remote.New(remote.Config{
		AWS: aws, Legacy: c.Legacy == config.On, LegacyFleet: c.Gateway.LocalFleet, Clock: c.Clock, Log: c.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("service behind the gateway: %w", err)
	}
	return service, nil
}
