// Package netmetrics counts what the services of package gamenet do, for Prometheus.
//
//	metrics, err := netmetrics.New(prometheus.DefaultRegisterer, prometheus.Labels{"service": "players"})
//	if err != nil {
//		return err
//	}
//	server, err := gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{Metrics: metrics, NewHandler: …}})
//
// Names are gamenet_<noun>_<what>_<unit>. The labels reason and direction have a fixed set of values; nothing that a
// peer sends becomes one.
//
//	gamenet_sessions_accepted_total          sessions that got a place
//	gamenet_sessions_active                  sessions that have one
//	gamenet_sessions_refused_total{reason}   connections turned away: full, full_address, service_closed, other
//	gamenet_sessions_closed_total{reason}    sessions that have ended: see Reasons
//	gamenet_bytes_total{direction}           headers included: in, out
//	gamenet_packets_total{direction}         in, out
//	gamenet_packets_dropped_total            what full queues have cost
//	gamenet_write_packets                    packets that one write completed
//	gamenet_queued_bytes                     what waits for a session after a write to it
//	gamenet_callback_seconds                 callbacks for what one read brought, together
package netmetrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-gg/muster/gamenet"
)

var _ gamenet.Metrics = (*Metrics)(nil)

// Metrics counts what one or several services do. Its methods are those of gamenet.Metrics; they take no lock, and
// Received and Sent allocate nothing.
type Metrics struct {
	collectors []prometheus.Collector

	accepted        prometheus.Counter
	active          prometheus.Gauge
	refused, closed *prometheus.CounterVec

	bytesIn, bytesOut     prometheus.Counter
	packetsIn, packetsOut prometheus.Counter
	dropped               prometheus.Counter
	writePackets          prometheus.Histogram
	queuedBytes           prometheus.Histogram
	callbackSeconds       prometheus.Histogram
}

var (
	// callbackBuckets go from a microsecond, which a small packet takes, to a second, in which a game has missed all
	// its ticks.
	callbackBuckets = []float64{.000001, .0000025, .00001, .000025, .0001, .00025, .001, .0025, .01, .025, .1, .25, 1}
	// packetBuckets go to 256 packets in a write.
	packetBuckets = prometheus.ExponentialBuckets(1, 2, 9)
	// byteBuckets go from an empty queue to 1 MiB, the default of gamenet.Config.QueueBytes, and a larger one.
	byteBuckets = []float64{0, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20}
)

// New makes metrics and registers them. labels go with every series and may be nil; services that are told apart each
// have their own Metrics, with the same names of labels and different values. The error is the registerer's, when the
// same metrics are registered already, say; then none of them is.
func New(registerer prometheus.Registerer, labels prometheus.Labels) (*Metrics, error) {
	m := new(Metrics)
	m.makeSessions()
	m.makeTraffic()
	to := prometheus.WrapRegistererWith(labels, registerer)
	for i, c := range m.collectors {
		if err := to.Register(c); err != nil {
			for _, registered := range m.collectors[:i] {
				to.Unregister(registered)
			}
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) makeSessions() {
	m.accepted = m.counter("gamenet_sessions_accepted_total", "Sessions that got a place.")
	m.active = prometheus.NewGauge(prometheus.GaugeOpts{Name: "gamenet_sessions_active",
		Help: "Sessions that have a place."})
	m.collectors = append(m.collectors, m.active)
	m.refused = m.counters("gamenet_sessions_refused_total", "Connections that were turned away.", "reason")
	m.closed = m.counters("gamenet_sessions_closed_total", "Sessions that have ended.", "reason")
	for _, reason := range refusals() {
		m.refused.WithLabelValues(reason)
	}
	for _, reason := range Reasons() {
		m.closed.WithLabelValues(reason)
	}
}

func (m *Metrics) makeTraffic() {
	bytes := m.counters("gamenet_bytes_total", "Bytes of packets, headers included.", "direction")
	m.bytesIn, m.bytesOut = bytes.WithLabelValues("in"), bytes.WithLabelValues("out")
	packets := m.counters("gamenet_packets_total", "Packets.", "direction")
	m.packetsIn, m.packetsOut = packets.WithLabelValues("in"), packets.WithLabelValues("out")
	m.dropped = m.counter("gamenet_packets_dropped_total", "Packets that found a queue full, or made place for others.")
	m.writePackets = m.histogram("gamenet_write_packets", "Packets that one write completed.", packetBuckets)
	m.queuedBytes = m.histogram("gamenet_queued_bytes",
		"Bytes that wait for a session after a write to it.", byteBuckets)
	m.callbackSeconds = m.histogram("gamenet_callback_seconds", "Time of the callbacks for what one read brought.",
		callbackBuckets)
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.collectors = append(m.collectors, c)
	return c
}

func (m *Metrics) counters(name, help, label string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	m.collectors = append(m.collectors, c)
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	m.collectors = append(m.collectors, h)
	return h
}

// Opened implements gamenet.Metrics.
func (m *Metrics) Opened() {
	m.accepted.Inc()
	m.active.Inc()
}

// Closed implements gamenet.Metrics.
func (m *Metrics) Closed(cause error) {
	m.active.Dec()
	m.closed.WithLabelValues(reason(cause)).Inc()
}

// Refused implements gamenet.Metrics.
func (m *Metrics) Refused(cause error) { m.refused.WithLabelValues(refusal(cause)).Inc() }

// Received implements gamenet.Metrics.
func (m *Metrics) Received(bytes, packets int, callbacks time.Duration) {
	m.bytesIn.Add(float64(bytes))
	if packets > 0 { // else there were no callbacks
		m.packetsIn.Add(float64(packets))
		m.callbackSeconds.Observe(callbacks.Seconds())
	}
}

// Sent implements gamenet.Metrics.
func (m *Metrics) Sent(bytes, packets, queued int) {
	m.bytesOut.Add(float64(bytes))
	m.packetsOut.Add(float64(packets))
	m.writePackets.Observe(float64(packets))
	m.queuedBytes.Observe(float64(queued))
}

// Dropped implements gamenet.Metrics.
func (m *Metrics) Dropped(packets int) { m.dropped.Add(float64(packets)) }
