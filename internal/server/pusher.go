package server

import (
	"cmp"
	"context"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/release"
	"github.com/muster-gg/muster/internal/telemetry/otlp"
)

// openPusher returns what pushes the metrics to a collector; nil without settings. An instance has the name of the
// node, or without a cluster that of the machine.
func openPusher(
	settings *otlp.Settings, registry *prometheus.Registry, node string, process *config.Process,
) (*otlp.Pusher, error) {
	host, _ := os.Hostname()
	return otlp.New(otlp.Config{
		Settings: settings, Registry: registry, Version: release.Current().Version, Instance: cmp.Or(node, host),
		Clock: process.Clock, Log: process.Log,
	})
}

func (s *service) openPusher(context.Context) (err error) {
	s.pusher, err = openPusher(s.pushes, s.metrics.Registry(), s.cfg.Cluster.Node, &s.cfg.Process)
	return err
}
