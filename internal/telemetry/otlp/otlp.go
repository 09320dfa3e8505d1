// Package otlp pushes the metrics of a registry to a collector by OTLP over HTTP, as the standard variables OTEL_* ask
// for. It does without OpenTelemetry's SDK: see docs/decisions/0052-otlp.md.
package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
)

// lastLimit limits the push at the end, for which the process waits.
const lastLimit = 5 * time.Second

// Attributes of the resource that every push has.
const (
	serviceName     = "service.name"
	serviceVersion  = "service.version"
	serviceInstance = "service.instance.id"
)

// A Registry has the metrics, and those of the pushes themselves.
type Registry interface {
	prometheus.Gatherer
	prometheus.Registerer
}

// Config configures a pusher.
type Config struct {
	Settings *Settings // nil: no push
	Registry Registry
	Version  string // of the program
	Instance string // the node's name
	Clock    clockwork.Clock
	Log      *slog.Logger
}

// A Pusher pushes metrics; nil pushes nothing. Create one with New.
type Pusher struct {
	*Settings
	registry   Registry
	version    string
	attributes map[string]string
	client     *http.Client
	clock      clockwork.Clock
	log        *slog.Logger
	pushes     *prometheus.CounterVec
	logged     map[string]bool // kinds of failures since the last success
	incomplete bool            // the registry failed
}

// New makes a pusher, which Run starts; nil without settings.
func New(c Config) (*Pusher, error) {
	if c.Settings == nil {
		return nil, nil
	}
	pushes, err := Register(c.Registry)
	if err != nil {
		return nil, err
	}
	p := &Pusher{
		Settings: c.Settings, registry: c.Registry, version: c.Version, clock: c.Clock, pushes: pushes,
		log: c.Log.With("endpoint", shown(c.Settings.url)), client: client(c.Settings.tls),
		attributes: map[string]string{
			serviceName: "muster", serviceVersion: c.Version, serviceInstance: c.Instance,
		},
		logged: make(map[string]bool),
	}
	maps.Copy(p.attributes, c.Settings.resource)
	return p, nil
}

// Register registers the metrics of the pushes themselves.
func Register(registry prometheus.Registerer) (*prometheus.CounterVec, error) {
	pushes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "muster_otlp_pushes_total",
		Help: "Pushes of the metrics to an OpenTelemetry collector: sent, partial, rejected or failed.",
	}, []string{"outcome"})
	return pushes, registry.Register(pushes)
}

// Run pushes until ctx is done, and then once more.
func (p *Pusher) Run(ctx context.Context) error {
	if p == nil {
		return nil
	}
	defer p.client.CloseIdleConnections()
	p.log.Info("metrics are pushed by OTLP", "interval", p.interval)
	ticker := p.clock.NewTicker(p.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.Chan():
			p.push(ctx, p.limit)
		case <-ctx.Done():
			p.push(context.WithoutCancel(ctx), min(p.limit, lastLimit))
			return nil
		}
	}
}

// push pushes all metrics once, with retries for as long as limit allows.
func (p *Pusher) push(ctx context.Context, limit time.Duration) {
	limited, cancel := clockwork.WithTimeout(ctx, p.clock, limit)
	defer cancel()
	body, err := p.body()
	if err == nil {
		err = p.send(limited, body)
	}
	if ctx.Err() == nil { // else the last push follows
		p.report(err)
	}
}

func (p *Pusher) body() ([]byte, error) {
	families, err := p.registry.Gather()
	if err != nil && !p.incomplete { // the other metrics are there
		p.log.Warn("some metrics are missing in pushes", "error", err)
	}
	p.incomplete = err != nil
	body, err := proto.Marshal(message(families, p.attributes, p.version, p.clock.Now()))
	if err != nil || !p.gzip {
		return body, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err = w.Write(body)
	err = errors.Join(err, w.Close()) // before the bytes are taken
	return b.Bytes(), err
}

// report counts and logs the outcome of a push.
func (p *Pusher) report(err error) {
	if err == nil {
		p.pushes.WithLabelValues(sent).Inc()
		if len(p.logged) > 0 {
			p.log.Info("metrics push recovered")
			clear(p.logged)
		}
		return
	}
	f, ok := errors.AsType[*failure](err)
	if !ok {
		f = &failure{outcome: failed, kind: "encoding"}
	}
	p.pushes.WithLabelValues(f.outcome).Inc()
	if f.outcome == sent {
		p.logOnce(f.kind, "metrics push has a warning", "warning", err)
		return
	}
	p.logOnce(f.kind, "metrics push failed", "outcome", f.outcome, "error", err)
}

// logOnce logs a kind of failure once, until a push succeeds: a collector that is away would cause a line per push.
func (p *Pusher) logOnce(kind, event string, attributes ...any) {
	if !p.logged[kind] {
		p.logged[kind] = true
		p.log.Warn(event, attributes...)
	}
}
