package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/agent"
	"github.com/muster-gg/muster/internal/agent/telemetry"
)

// metricsFlags are the options of muster agent for what game servers measure.
type metricsFlags struct {
	listen          string
	statsd, crashes uint16
}

// The ports to which the server SDK sends without variables. Source: GameLift server SDK 5.
const (
	statsdPort = 8125
	crashPort  = 8126
)

func (m *metricsFlags) addFlags(command *cobra.Command) {
	f := command.Flags()
	f.StringVar(&m.listen, "metrics-listen", "", "TCP address of /metrics with the metrics of game servers, without "+
		"authentication; empty: they are not received")
	f.Uint16Var(&m.statsd, "statsd-port", statsdPort, "UDP port for metrics of game servers; 0: any free port")
	f.Uint16Var(&m.crashes, "crash-reporter-port", crashPort, "TCP port of the crash reporter; 0: any free port")
}

// during calls run while metrics of game servers are received and shown, if they are.
func (m *metricsFlags) during(ctx context.Context, log *slog.Logger,
	run func(context.Context, agent.Telemetry) error) error {
	if m.listen == "" {
		return run(ctx, nil)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", m.listen)
	if err != nil {
		return fmt.Errorf("--metrics-listen: %w", err)
	}
	receiver, err := telemetry.Listen(ctx, "127.0.0.1", int(m.statsd), int(m.crashes), log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	log.Info("metrics of game servers are received", "metrics", "http://"+listener.Addr().String()+"/metrics")
	registry := prometheus.NewRegistry()
	registry.MustRegister(receiver)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	receiving, stop := context.WithCancel(context.WithoutCancel(ctx)) // until the game servers have ended
	defer stop()
	var group errgroup.Group
	group.Go(func() error { return receiver.Run(receiving) })
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	err = run(ctx, receiver)
	stop()
	return errors.Join(err, server.Close(), group.Wait())
}
