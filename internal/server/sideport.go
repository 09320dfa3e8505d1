package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/muster-gg/muster/internal/gateway/guard"
	"github.com/muster-gg/muster/internal/listen"
)

// A sidePort is a separate address for the metrics or the profiler, unencrypted and without authentication. It may be
// nil.
type sidePort struct {
	setting  string
	server   *http.Server
	listener net.Listener
}

// openSidePort listens on the address of a setting; nil for "".
func openSidePort(
	ctx context.Context, setting, address string, handler http.Handler, log *slog.Logger,
) (*sidePort, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return &sidePort{setting: setting, server: newServer(handler, log), listener: listener}, nil
}

// openMetrics opens a port for GET /metrics.
func openMetrics(
	ctx context.Context, address string, limits *listen.Limits, scrape http.Handler, log *slog.Logger,
) (*sidePort, error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", scrape)
	p, err := openSidePort(ctx, "metrics-listen", address, mux, log)
	if p != nil {
		p.listener = limits.Listen(p.listener)
	}
	return p, err
}

func (s *service) openMetrics(ctx context.Context) (err error) {
	s.scrapes, err = openMetrics(ctx, s.cfg.MetricsListen, s.limits, s.metrics.Handler(), s.cfg.Log)
	s.opened.add(s.scrapes.close)
	return err
}

// profileTime is the time-out of a profile.
const profileTime = 10 * time.Minute

func (s *service) openProfiler(ctx context.Context) (err error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	s.profiler, err = openSidePort(ctx, "pprof-listen", s.cfg.PprofListen, mux, s.cfg.Log)
	if s.profiler != nil {
		s.profiler.server.ReadTimeout, s.profiler.server.WriteTimeout = profileTime, profileTime
	}
	s.opened.add(s.profiler.close)
	return err
}

// run serves until ctx is done.
func (p *sidePort) run(ctx context.Context) error {
	if p == nil {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = p.server.Close() })
	defer stop()
	if err := p.server.Serve(listen.Unambiguous(p.server, p.listener)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s: %w", p.setting, err)
	}
	return nil
}

// close stops listening, unless run has stopped it.
func (p *sidePort) close() error {
	if p == nil {
		return nil
	}
	if err := p.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// url returns the URL of a path of the port.
func (p *sidePort) url(path string) string {
	if p == nil {
		return ""
	}
	return "http://" + dialable(p.listener.Addr()) + path
}

// localMetrics answers requests from this machine only, because the metrics show how much is played.
func localMetrics(scrape http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !guard.Local(r) {
			http.Error(w, "The metrics are for this machine only. "+
				"Set metrics-listen to scrape them from another one.", http.StatusForbidden)
			return
		}
		scrape.ServeHTTP(w, r)
	})
}
