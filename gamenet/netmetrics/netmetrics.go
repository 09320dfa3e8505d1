// Package netmetrics exports the metrics of gamenet's services to Prometheus.
//
//	metrics, err := netmetrics.New(prometheus.DefaultRegisterer, prometheus.Labels{"service": "players"})
//	if err != nil {
//		return err
//	}
//	server, err := gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{Metrics: metrics, NewHandler: …}})
//
// Names are gamenet_<noun>_<what>_<unit>. The labels reason and direction have a fixed set of values; no data of a peer
// becomes one.
//
//	gamenet_sessions_accepted_total          accepted sessions
//	gamenet_sessions_active                  current sessions
//	gamenet_sessions_refused_total{reason}   rejected connections: full, full_address, service_closed, other
//	gamenet_sessions_closed_total{reason}    ended sessions: handshake, peer_closed,
//	                                         disconnected, service_closed, frame, slow_consumer, idle,
//	                                         first_packet, write_timeout, lost, panic, other
//	gamenet_bytes_total{direction}           headers included: in, out
//	gamenet_packets_total{direction}         in, out
//	gamenet_packets_dropped_total            packets dropped because of full queues
//	gamenet_write_packets                    packets completed by one write
//	gamenet_queued_bytes                     bytes queued for a session after a write to it
//	gamenet_callback_seconds                 total time of the callbacks of one read
package netmetrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-gg/muster/gamenet"
)

type metrics struct {
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
	// callbackBuckets range from a microsecond, the time of a small packet, to a second, in which a game misses all its
	// ticks.
	callbackBuckets = []float64{.000001, .0000025, .00001, .000025, .0001, .00025, .001, .0025, .01, .025, .1, .25, 1}
	// packetBuckets range to 256 packets in a write.
	packetBuckets = prometheus.ExponentialBuckets(1, 2, 9)
	// byteBuckets range from an empty queue past 1 MiB, the default of gamenet.Config.QueueBytes, to 4 MiB.
	byteBuckets = []float64{0, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20}
)

// New creates metrics for one or several services and registers them. Their methods use no lock, and Received and Sent
// allocate nothing. labels are added to every series and may be nil. To distinguish services, give each its own
// metrics, with the same label names and different values. The error is the registerer's, for instance when the same
// metrics are already registered; then New registers none.
func New(registerer prometheus.Registerer, labels prometheus.Labels) (gamenet.Metrics, error) {
	m := new(metrics)
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

func (m *metrics) makeSessions() {
	m.accepted = m.counter("gamenet_sessions_accepted_total", "Accepted sessions.")
	m.active = prometheus.NewGauge(prometheus.GaugeOpts{Name: "gamenet_sessions_active",
		Help: "Current sessions."})
	m.collectors = append(m.collectors, m.active)
	m.refused = m.counters("gamenet_sessions_refused_total", "Rejected connections.", "reason")
	m.closed = m.counters("gamenet_sessions_closed_total", "Ended sessions.", "reason")
	for _, reason := range refusals() {
		m.refused.WithLabelValues(reason)
	}
	for _, reason := range reasons() {
		m.closed.WithLabelValues(reason)
	}
}

func (m *metrics) makeTraffic() {
	bytes := m.counters("gamenet_bytes_total", "Bytes of packets, headers included.", "direction")
	m.bytesIn, m.bytesOut = bytes.WithLabelValues("in"), bytes.WithLabelValues("out")
	packets := m.counters("gamenet_packets_total", "Packets.", "direction")
	m.packetsIn, m.packetsOut = packets.WithLabelValues("in"), packets.WithLabelValues("out")
	m.dropped = m.counter("gamenet_packets_dropped_total", "Packets dropped because of full queues.")
	m.writePackets = m.histogram("gamenet_write_packets", "Packets completed by one write.", packetBuckets)
	m.queuedBytes = m.histogram("gamenet_queued_bytes",
		"Bytes queued for a session after a write to it.", byteBuckets)
	m.callbackSeconds = m.histogram("gamenet_callback_seconds", "Total time of the callbacks of one read.",
		callbackBuckets)
}

func (m *metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.collectors = append(m.collectors, c)
	return c
}

func (m *metrics) counters(name, help, label string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	m.collectors = append(m.collectors, c)
	return c
}

func (m *metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	m.collectors = append(m.collectors, h)
	return h
}

func (m *metrics) Opened() {
	m.accepted.Inc()
	m.active.Inc()
}

func (m *metrics) Closed(cause error) {
	m.active.Dec()
	m.closed.WithLabelValues(reason(cause)).Inc()
}

func (m *metrics) Refused(cause error) { m.refused.WithLabelValues(refusal(cause)).Inc() }

func (m *metrics) Received(bytes, packets int, callbacks time.Duration) {
	m.bytesIn.Add(float64(bytes))
	if packets > 0 { // else there were no callbacks
		m.packetsIn.Add(float64(packets))
		m.callbackSeconds.Observe(callbacks.Seconds())
	}
}

func (m *metrics) Sent(bytes, packets, queued int) {
	m.bytesOut.Add(float64(bytes))
	m.packetsOut.Add(float64(packets))
	m.writePackets.Observe(float64(packets))
	m.queuedBytes.Observe(float64(queued))
}

func (m *metrics) Dropped(packets int) { m.dropped.Add(float64(packets)) }
