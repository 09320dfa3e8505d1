package telemetry

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Gateway counts the work of a session gateway besides its answers.
type Gateway struct {
	activation prometheus.Histogram
	retries    prometheus.Counter
	replays    prometheus.Counter
}

// NewGateway returns registered counters.
func NewGateway(registerer prometheus.Registerer) (*Gateway, error) {
	g := &Gateway{
		activation: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_gateway_activation_seconds", Buckets: seconds,
			Help: "Time from the creation of a game session by the session gateway until it was ACTIVE.",
		}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_gateway_retries_total",
			Help: "Failed attempts of the session gateway at locations and claims.",
		}),
		replays: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_gateway_replays_total", Help: "Requests answered with the stored result of an equal request.",
		}),
	}
	return g, errors.Join(registerer.Register(g.activation), registerer.Register(g.retries),
		registerer.Register(g.replays))
}

// Answered counts one answer: how long it waited for a game session to become ACTIVE (0: it did not), the number of
// failed attempts, and whether the answer was a stored one.
func (g *Gateway) Answered(waited time.Duration, retries int, replayed bool) {
	if waited > 0 {
		g.activation.Observe(waited.Seconds())
	}
	g.retries.Add(float64(retries))
	if replayed {
		g.replays.Inc()
	}
}
