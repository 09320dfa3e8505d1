package muster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/muster-gg/muster/internal/gateway/guard"
	"github.com/muster-gg/muster/internal/listen"
)

// metricsServer answers GET /metrics on an address of its own, unencrypted and without
// authentication.
type metricsServer struct {
	server   *http.Server
	listener net.Listener
}

// openMetrics listens on an address; nil for "".
func openMetrics(ctx context.Context, address string, limits *listen.Limits, scrape http.Handler, log *slog.Logger) (*metricsServer, error) {
	if address == "" {
		return nil, nil
	}
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("metrics-listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", scrape)
	return &metricsServer{listener: limits.Listen(listener), server: newServer(mux, log)}, nil
}

// run serves until ctx is done.
func (m *metricsServer) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = m.server.Close() })
	defer stop()
	if err := m.server.Serve(m.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// close stops listening before run.
func (m *metricsServer) close() error {
	if m == nil {
		return nil
	}
	return m.listener.Close()
}

// url is where the metrics are; "" without a server of their own.
func (m *metricsServer) url() string {
	if m == nil {
		return ""
	}
	return "http://" + dialable(m.listener.Addr()) + "/metrics"
}

// localMetrics answers requests of this machine, and refuses all others: the metrics tell
// who plays how much and where.
func localMetrics(scrape http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !guard.Local(r) {
			http.Error(w, "The metrics are answered to this machine alone. Set metrics-listen to scrape them from another one.", http.StatusForbidden)
			return
		}
		scrape.ServeHTTP(w, r)
	})
}
