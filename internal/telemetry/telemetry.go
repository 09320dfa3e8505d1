// Package telemetry provides metrics for Prometheus.
//
// Events are counted by their types, endpoints and shards are measured by hooks; package metrics measures fleets,
// queues and matchmaking. Names are muster_<noun>_<what>_<unit>. Labels are from closed sets, or names of resources
// that an operator creates: never ids of game sessions, players, tickets or computes.
package telemetry

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/serversdk"
	"github.com/muster-gg/muster/internal/shard"
)

// A Namer returns the name of an event's type.
type Namer func(body any) string

// A Definition describes one metric, for the reference.
type Definition struct {
	Name, Kind, Help string
	Labels           []string
}

// Metrics holds the metrics of one service.
type Metrics struct {
	registry    *prometheus.Registry
	definitions []Definition
	name        Namer

	calls       *prometheus.CounterVec
	callSeconds *prometheus.HistogramVec
	callBytes   *prometheus.CounterVec
	events      *prometheus.CounterVec

	batchSeconds    prometheus.Histogram
	batchRequests   prometheus.Histogram
	journalBytes    prometheus.Counter
	recoverySeconds prometheus.Gauge
	recoveries      *prometheus.CounterVec
	snapshots       *prometheus.CounterVec
	refusals        prometheus.Counter

	servers, agents, machines serversdk.Metrics // sockets

	webhooks      *prometheus.CounterVec
	auditDropped  prometheus.Counter
	framesDropped prometheus.Counter
}

// Levels are the numbers of the whole region at one time.
type Levels struct {
	Computes, ServerProcesses, IdleServerProcesses int
	ActivatingGameSessions, ActiveGameSessions     int
	PlayerSessions, MaximumPlayerSessions          int
}

// seconds are the buckets of durations, from a tenth of a millisecond, as for a cheap read, to ten seconds.
var seconds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// New returns the metrics of a service.
func New(name Namer) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), name: name}
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.makeCalls()
	m.makeShards()
	m.makeSockets()
	return m
}

func (m *Metrics) makeCalls() {
	m.calls = m.counters("muster_api_calls_total", "Answered API calls.", "operation", "exception")
	m.callSeconds = m.histograms("muster_api_call_seconds", "Time from the head of a request to its answer.",
		seconds, "operation")
	m.callBytes = m.counters("muster_api_bytes_total", "Bytes of bodies.", "direction")
	m.events = m.counters("muster_events_total", "Durable events of the core.", "event")
}

func (m *Metrics) makeShards() {
	m.batchSeconds = m.histogram("muster_journal_append_seconds", "Time to make a batch durable.", seconds)
	m.batchRequests = m.histogram("muster_journal_batch_requests", "Requests that shared a batch.",
		prometheus.ExponentialBuckets(1, 4, 8))
	m.journalBytes = m.counter("muster_journal_bytes_total", "Bytes of the batches.")
	m.recoverySeconds = m.gauge("muster_shard_recovery_seconds", "Time that the last recovery of a shard took.")
	m.recoveries = m.counters("muster_shard_recoveries_total", "Recoveries of shards.", "shard", "outcome")
	m.snapshots = m.counters("muster_shard_snapshots_total", "Snapshots of shards.", "outcome")
	m.refusals = m.counter("muster_shard_refusals_total", "Requests refused because a shard's queue was full.")
}

func (m *Metrics) makeSockets() {
	m.servers = m.socketsOf("muster_server_process_", "a server process", "server processes", "process")
	m.agents = m.socketsOf("muster_agent_", "an agent", "agents", "agent")
	m.machines = m.socketsOf("muster_machine_", "a machine", "machines", "machine")
	m.auditDropped = m.counter("muster_audit_dropped_total", "Records of the audit trail that were dropped, because "+
		"its stream was too slow.")
	m.framesDropped = m.counter("muster_metrics_dropped_total", "Records of metrics that were dropped, because their "+
		"stream was too slow.")
	m.webhooks = m.counters("muster_webhook_tries_total", "Attempts to deliver an event to a webhook.", "outcome")
	m.webhooks.WithLabelValues("dropped") // from the start: for Prometheus the first value of a series is no increase
}

// Handler serves the metrics as text.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Registry returns the registry, in which other parts register their metrics.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Call counts an answered API call; exception is "" for success.
func (m *Metrics) Call(operation, exception string, took float64, bytesIn, bytesOut int) {
	m.calls.WithLabelValues(operation, exception).Inc()
	m.callSeconds.WithLabelValues(operation).Observe(took)
	m.callBytes.WithLabelValues("in").Add(float64(bytesIn))
	m.callBytes.WithLabelValues("out").Add(float64(bytesOut))
}

// Facts counts durable events.
func (m *Metrics) Facts(_ int, facts []event.Fact) {
	for _, f := range facts {
		m.events.WithLabelValues(m.name(f.Body)).Inc()
	}
}

// Shard returns the hooks of a shard.
func (m *Metrics) Shard(number int) shard.Metrics {
	return shard.Metrics{
		Batch: func(b shard.BatchStats) {
			m.batchRequests.Observe(float64(b.Requests))
			if b.Records > 0 {
				m.batchSeconds.Observe(b.Append.Seconds())
				m.journalBytes.Add(float64(b.Bytes))
			}
		},
		Recovery: func(r shard.RecoveryStats) {
			m.recoverySeconds.Set(r.Duration.Seconds())
			m.recoveries.WithLabelValues(strconv.Itoa(number), outcome(r.Err)).Inc()
		},
		Snapshot: func(s shard.SnapshotStats) { m.snapshots.WithLabelValues(outcome(s.Err)).Inc() },
		Refused:  m.refusals.Inc,
	}
}

func outcome(err error) string {
	if err != nil {
		return "failed"
	}
	return "done"
}

// AuditDropped counts records of the audit trail that were dropped.
func (m *Metrics) AuditDropped(n int) { m.auditDropped.Add(float64(n)) }

// MetricsDropped counts records of metrics that were dropped.
func (m *Metrics) MetricsDropped(n int) { m.framesDropped.Add(float64(n)) }

// Build adds the version of the program: a gauge that is always 1.
func (m *Metrics) Build(version, commit, goVersion string) {
	const name, help = "muster_build_info", "1; the labels name the program's version, its commit and Go's version."
	names := []string{"version", "commit", "go"}
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, names)
	add(m, g, name, "gauge", help, names...)
	g.WithLabelValues(version, commit, goVersion).Set(1)
}

// Webhook counts an attempt to deliver an event.
func (m *Metrics) Webhook(outcome string) { m.webhooks.WithLabelValues(outcome).Inc() }

// Sockets returns the hooks of the endpoint for server processes.
func (m *Metrics) Sockets() serversdk.Metrics { return m.servers }

// AgentSockets returns the hooks of the endpoint for agents.
func (m *Metrics) AgentSockets() serversdk.Metrics { return m.agents }

// MachineSockets returns the hooks of the endpoint for machines.
func (m *Metrics) MachineSockets() serversdk.Metrics { return m.machines }

// socketsOf makes the metrics of sockets; the last three arguments name the peers in their descriptions.
func (m *Metrics) socketsOf(prefix, peer, peers, reader string) serversdk.Metrics {
	open := m.gauge(prefix+"sockets", "Open sockets of "+peers+".")
	refusals := m.counters(prefix+"refusals_total", "Refused connections of "+peers+".", "status")
	actions := m.counters(prefix+"actions_total", "Answered requests of "+peers+".", "action", "status")
	took := m.histograms(prefix+"action_seconds", "Time to answer a request of "+peer+".", seconds, "action")
	pushes := m.counters(prefix+"pushes_total", "Messages pushed to "+peers+".", "action")
	slow := m.counter(prefix+"slow_total", "Sockets closed because their "+reader+" did not read.")
	return serversdk.Metrics{
		Opened:  open.Inc,
		Closed:  open.Dec,
		Refused: func(status int) { refusals.WithLabelValues(strconv.Itoa(status)).Inc() },
		Replied: func(action string, status int, duration time.Duration) {
			actions.WithLabelValues(action, strconv.Itoa(status)).Inc()
			took.WithLabelValues(action).Observe(duration.Seconds())
		},
		Pushed: func(action string) { pushes.WithLabelValues(action).Inc() },
		Slow:   slow.Inc,
	}
}

// Definitions returns the metrics of this package in the order of their creation.
func (m *Metrics) Definitions() []Definition { return m.definitions }

// add adds a metric to the registry and the reference.
func add[C prometheus.Collector](m *Metrics, c C, name, kind, help string, labels ...string) C {
	m.registry.MustRegister(c)
	m.definitions = append(m.definitions, Definition{name, kind, help, labels})
	return c
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	return add(m, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}), name, "counter", help)
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	return add(m, c, name, "counter", help, labels...)
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	return add(m, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}), name, "gauge", help)
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	return add(m, h, name, "histogram", help)
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	return add(m, h, name, "histogram", help, labels...)
}
