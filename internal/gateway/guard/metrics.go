package guard

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts requests. All labels have closed sets of values: Config.Routes, the reasons of this package, and HTTP
// status codes.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	refusals *prometheus.CounterVec
}

// newMetrics registers the metrics, unless registerer is nil.
func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_gateway_requests_total",
			Help: "Requests to the session gateway that were answered, by route and HTTP status.",
		}, []string{"route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "muster_gateway_request_seconds",
			Help:    "Time from a request to the session gateway to the end of its answer.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 30},
		}, []string{"route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "muster_gateway_requests_in_flight",
			Help: "Requests to the session gateway that are being answered, streams included.",
		}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_gateway_refused_total",
			Help: "Requests that the session gateway turned away before they were looked at, by reason.",
		}, []string{"reason"}),
	}
	if registerer == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.inFlight, m.refusals} {
		errs = append(errs, registerer.Register(c))
	}
	return m, errors.Join(errs...)
}

func (m *metrics) begin() { m.inFlight.Inc() }

func (m *metrics) end(route string, status int, took time.Duration) {
	m.inFlight.Dec()
	code := "none" // the connection was closed without an answer
	if status >= 100 && status <= 599 {
		code = strconv.Itoa(status)
	}
	m.requests.WithLabelValues(route, code).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

func (m *metrics) refused(reason string) { m.refusals.WithLabelValues(reason).Inc() }
