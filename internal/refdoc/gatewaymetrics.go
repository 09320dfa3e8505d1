package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-gg/muster/internal/gateway/guard"
	"github.com/muster-gg/muster/internal/telemetry"
)

// gatewayMetrics are those of a session gateway, which has its own registry when it runs alone.
func gatewayMetrics() []telemetry.Definition {
	n := &notes{}
	if _, err := guard.New(guard.Config{Registerer: n}); err != nil {
		panic(err) // a mistake in the program
	}
	if _, err := telemetry.NewGateway(n); err != nil {
		panic(err)
	}
	return n.definitions
}

// notes is a registry that only notes what is registered.
type notes struct{ definitions []telemetry.Definition }

// description is how a metric describes itself: it shows its parts in no other way.
var description = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: "([^"]*)", .*variableLabels: \{([^}]*)\}`)

func (n *notes) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc, 1)
	c.Describe(descs)
	text := (<-descs).String()
	parts := description.FindStringSubmatch(text)
	if parts == nil {
		return fmt.Errorf("not understood: %s", text)
	}
	d := telemetry.Definition{Name: parts[1], Help: parts[2], Kind: kindOf(c)}
	if parts[3] != "" {
		d.Labels = strings.Split(parts[3], ",")
	}
	n.definitions = append(n.definitions, d)
	return nil
}

func kindOf(c prometheus.Collector) string {
	switch c.(type) {
	case *prometheus.HistogramVec, prometheus.Histogram:
		return "histogram"
	case *prometheus.CounterVec:
		return "counter"
	case prometheus.Gauge: // has all that a Counter has, and more
		return "gauge"
	default:
		return "counter"
	}
}

func (n *notes) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := n.Register(c); err != nil {
			panic(err)
		}
	}
}

func (n *notes) Unregister(prometheus.Collector) bool { return false }
