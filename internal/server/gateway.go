package server

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/gateway/guard"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/telemetry"
	"github.com/muster-gg/muster/internal/testkit"
)

// A GatewayHandler is the session gateway without a port.
type GatewayHandler struct {
	http.Handler
	gateway *gateway.Gateway
	guard   *guard.Guard
}

// A sessionGateway is the session gateway on its port, in a service or alone.
type sessionGateway struct {
	*GatewayHandler
	listener net.Listener
	server   *http.Server
}

// gatewayParts configure a session gateway besides its settings.
type gatewayParts struct {
	service     gateway.Service
	queues      gateway.Queues      // may be nil
	matchmaking gateway.Matchmaking // may be nil
	region      string
	secret      []byte
	legacy      bool          // the service returns ids in the style of the local paths
	tls         listen.Config // TLS nil: unencrypted only
	limits      *listen.Limits
	metrics     *prometheus.Registry
	scrape      http.Handler               // serves /metrics for this machine; nil: served elsewhere
	begun       func(context.Context) bool // waits until requests can be answered; may be nil
	ready       func(context.Context) error
	clock       clockwork.Clock
	test        *testkit.Kit // nil: the service is none for tests
	log         *slog.Logger
}

// newGatewayHandler returns a session gateway without a port. Nothing is started.
func newGatewayHandler(c *config.Gateway, p *gatewayParts) (*GatewayHandler, error) {
	g := &GatewayHandler{}
	var err error
	if g.guard, err = newGuard(c, p); err != nil {
		return nil, fmt.Errorf("session gateway: %w", err)
	}
	counters, err := telemetry.NewGateway(p.metrics)
	if err != nil {
		return nil, fmt.Errorf("session gateway: %w", err)
	}
	if g.gateway, err = newSessionGateway(c, p, g.guard, counters); err != nil {
		return nil, fmt.Errorf("session gateway: %w", err)
	}
	g.Handler = g.guard.Wrap(whenReady(p.begun, injecting(p.test, forPlayer(g.gateway.Handler()))))
	return g, nil
}

// openGateway opens a session gateway on its port; nil if it is off.
func openGateway(ctx context.Context, c *config.Gateway, p gatewayParts) (*sessionGateway, error) {
	if c.Listen == "" {
		return nil, nil
	}
	handler, err := newGatewayHandler(c, &p)
	if err != nil {
		return nil, err
	}
	var listening net.ListenConfig
	port, err := listening.Listen(ctx, "tcp", c.ListenAddress())
	if err != nil {
		return nil, fmt.Errorf("gateway-listen: %w", err)
	}
	reportOpenness(c, port.Addr(), p.log)
	g := &sessionGateway{GatewayHandler: handler, listener: p.limits.Listen(port), server: newServer(handler, p.log)}
	if p.tls.TLS != nil {
		g.listener = listen.New(g.listener, p.tls)
	}
	g.server.ReadTimeout = c.Deadline + 30*time.Second // bodies are small
	g.server.WriteTimeout = c.Deadline + time.Minute
	g.server.IdleTimeout = 2 * time.Minute
	return g, nil
}

// reportOpenness logs what a gateway without authentication means for its address.
func reportOpenness(c *config.Gateway, listening net.Addr, log *slog.Logger) {
	switch {
	case c.Authenticates():
	case !isLoopback(listening):
		log.Warn("session gateway runs without authentication", "listen", listening.String(),
			"fix", "gateway-keys-file or gateway-jwt-issuer")
	case c.Listen == config.AutoListen:
		log.Info("session gateway listens on loopback only", "listen", listening.String(),
			"reason", "no keys and no issuer", "to_open_it", "gateway-keys-file, gateway-jwt-issuer or gateway-listen")
	}
}

// newGuard returns the handler that authenticates and limits requests.
func newGuard(c *config.Gateway, p *gatewayParts) (*guard.Guard, error) {
	keys, err := apiKeys(c)
	if err != nil {
		return nil, err
	}
	g := guard.Config{
		AddressRate: guard.Rate{PerSecond: float64(c.AddressRate)},
		PlayerRate:  guard.Rate{PerSecond: float64(c.PlayerRate)},
		Keys:        keys, Origins: c.Origins, Routes: gateway.Patterns(), TrustedProxies: c.ProxyNetworks(),
		Registerer: p.metrics, Scrape: p.scrape, Ready: p.ready,
		AccessLog: c.AccessLog == config.On, Log: p.log, Clock: p.clock,
		Refuse: func(w http.ResponseWriter, _ *http.Request, f guard.Refusal) {
			gateway.WriteError(w, gateway.Code(f.Code), f.Message)
		},
	}
	if c.JWTIssuer != "" {
		g.Tokens = &guard.Tokens{Issuer: c.JWTIssuer, KeysURL: c.JWTKeys, Audience: c.JWTAudience, Scope: c.JWTScope}
	}
	return guard.New(g)
}

// whenReady holds requests until they can be answered. Earlier answers would be that fleets and sessions do not exist.
func whenReady(begun func(context.Context) bool, next http.Handler) http.Handler {
	if begun == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !begun(r.Context()) {
			gateway.WriteError(w, gateway.Unavailable, "The service is starting. Try again.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// forPlayer passes the player of a token to the gateway.
func forPlayer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subject := guard.Subject(r.Context()); subject != "" {
			r = r.WithContext(gateway.WithPlayer(r.Context(), subject))
		}
		next.ServeHTTP(w, r)
	})
}

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// newSessionGateway returns the gateway behind the guard.
func newSessionGateway(
	c *config.Gateway, p *gatewayParts, before *guard.Guard, counters *telemetry.Gateway,
) (*gateway.Gateway, error) {
	secret, err := idSecret(c, p.secret)
	if err != nil {
		return nil, err
	}
	g := gateway.Config{
		Service: p.service, Queues: p.queues, Matchmaking: p.matchmaking,
		Routes: map[int32]gateway.Target{}, Default: gatewayTarget(c.Target()), AllowTarget: c.AllowTarget == config.On,
		LegacyIDs: !p.legacy, LocalFleet: c.LocalFleet, Region: p.region, Deadline: c.Deadline,
		Fields: gateway.Fields(c.Fields), BuildCheck: gateway.BuildCheck(c.BuildCheck), Reuse: c.Reuse == config.On,
		FindLimit: c.FindLimit, CompatErrors: c.CompatErrors == config.On, Development: c.Messages == "api",
		Secret: secret, MaxUnused: c.MaxUnused,
		Caller: func(r *http.Request) string { return guard.Caller(r.Context()) },
		Limit:  before.Players().Take, Clock: p.clock, Log: p.log,
		Observe: func(o gateway.Observation) { counters.Answered(o.Waited, o.Retries, o.Replayed || o.Shared) },
	}
	for build, target := range c.Routes() {
		g.Routes[build] = gatewayTarget(target)
	}
	for _, target := range c.SearchTargets() {
		g.Search = append(g.Search, gatewayTarget(target))
	}
	return gateway.New(g)
}

func gatewayTarget(t config.Target) gateway.Target {
	return gateway.Target{FleetID: t.Fleet, AliasID: t.Alias, Queue: t.Queue, Location: t.Location}
}

// gatewaySecret derives the key of the hashes in game session ids, the same for every gateway of a region.
func gatewaySecret(regionSecret []byte) []byte {
	mac := hmac.New(sha256.New, regionSecret)
	mac.Write([]byte("session gateway"))
	return mac.Sum(nil)
}

// run serves until the gateway is closed.
func (g *sessionGateway) run() error {
	if err := g.server.Serve(listen.Unambiguous(g.server, g.listener)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("session gateway: %w", err)
	}
	return nil
}

// close waits for requests in progress until ctx is done, and then closes their connections.
func (g *sessionGateway) close(ctx context.Context) error {
	if g == nil {
		return nil
	}
	// The gateway waits for all its requests, so connections that read no answer are closed.
	stop := context.AfterFunc(ctx, func() { _ = g.server.Close() })
	defer stop()
	err := g.Close(ctx)
	if g.server.Shutdown(ctx) != nil {
		return errors.Join(err, g.server.Close())
	}
	return err
}

// Close waits for requests in progress, until ctx is done.
func (g *GatewayHandler) Close(ctx context.Context) error {
	err := g.gateway.Close(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // expected
	}
	return errors.Join(err, g.guard.Close())
}

// url returns the base URL of the gateway; "" if it is off.
func (g *sessionGateway) url(plaintext bool) string {
	switch {
	case g == nil:
		return ""
	case plaintext:
		return "http://" + dialable(g.listener.Addr())
	default:
		return "https://" + dialable(g.listener.Addr())
	}
}

// apiKeys returns the keys of the file and of the configuration, by name.
func apiKeys(c *config.Gateway) (map[string]string, error) {
	keys := maps.Clone(c.Keys)
	if c.KeysFile == "" {
		return keys, nil
	}
	data, err := os.ReadFile(c.KeysFile)
	if err != nil {
		return nil, fmt.Errorf("gateway-keys-file: %w", err)
	}
	if keys == nil {
		keys = map[string]string{}
	}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, key, ok := strings.Cut(line, ":")
		name, key = strings.TrimSpace(name), strings.TrimSpace(key)
		if _, again := keys[name]; !ok || name == "" || len(key) < minKey || again {
			return nil, fmt.Errorf("gateway-keys-file: line %d must be name:key with a unique name and a key of "+
				"at least %d "+
				"characters", number, minKey)
		}
		keys[name] = key
	}
	if len(keys) == 0 {
		return nil, errors.New("gateway-keys-file: the file has no keys")
	}
	return keys, nil
}

// idSecret returns the secret of the file, or else own.
func idSecret(c *config.Gateway, own []byte) ([]byte, error) {
	if c.SecretFile == "" {
		return own, nil
	}
	data, err := os.ReadFile(c.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("gateway-secret-file: %w", err)
	}
	if data = bytes.TrimSpace(data); len(data) < minKey {
		return nil, fmt.Errorf("gateway-secret-file: the file has %d characters; use at least %d random ones",
			len(data), minKey)
	}
	return data, nil
}

// minKey is the minimum length of a key that cannot be guessed.
const minKey = 16
