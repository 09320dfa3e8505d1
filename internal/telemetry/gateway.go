package telemetry

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Gateway counts what a session gateway does beyond answering.
type Gateway struct {
	activation prometheus.Histogram
	retries    prometheus.Counter
	replays    prometheus.Counter
}

// NewGateway makes the counters and registers them.
func NewGateway(registerer prometheus.Registerer) (*Gateway, error) {
	g := &Gateway{
		activation: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_gateway_activation_seconds", Help: "Time from the creation of a game session by the session gateway until it was ACTIVE.", Buckets: seconds,
		}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_gateway_retries_total", Help: "Locations and claims that the session gateway tried in vain.",
		}),
		replays: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_gateway_replays_total", Help: "Requests that were answered with what an equal request had come to.",
		}),
	}
	return g, errors.Join(registerer.Register(g.activation), registerer.Register(g.retries), registerer.Register(g.replays))
}

// Answered counts one answer: how long it waited for a game session to become
// ACTIVE (0: it did not), how much was tried in vain, and whether it was given before.
func (g *Gateway) Answered(waited time.Duration, retries int, replayed bool) {
	if waited > 0 {
		g.activation.Observe(waited.Seconds())
	}
	g.retries.Add(float64(retries))
	if replayed {
		g.replays.Inc()
	}
}
