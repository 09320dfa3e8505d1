package guard

import (
	"context"
	"net/http"
	"time"

	"github.com/muster-gg/muster/internal/listen"
)

// readyLimit is the timeout of Config.Ready.
const readyLimit = 5 * time.Second

// probes are the routes that the guard itself answers.
var probes = []string{"GET /healthz", "GET /readyz", "GET /metrics"}

// answerProbes answers probes and scrapes, without authentication and limits.
func (g *Guard) answerProbes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		switch path := r.URL.Path; {
		case path == "/healthz":
			writeJSON(w, http.StatusOK, status{"ok"})
		case path == "/readyz":
			g.ready(w, r)
		case path == "/metrics" && g.cfg.Scrape != nil && Local(r):
			g.cfg.Scrape.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// Local reports whether a request comes from this machine and has no headers of a proxy.
func Local(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if len(r.Header.Values(name)) > 0 {
			return false
		}
	}
	return listen.ParseAddress(r.RemoteAddr).IsLoopback()
}

type status struct {
	Status string `json:"status"`
}

// ready answers whether requests are expected to succeed, without the reason if not.
func (g *Guard) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyLimit)
	defer cancel()
	if err := g.cfg.Ready(ctx); err != nil {
		if suppressed, ok := g.lines.Allow("not ready"); ok {
			g.cfg.Log.Warn("not ready", "error", err, "suppressed", suppressed)
		}
		writeJSON(w, http.StatusServiceUnavailable, status{"not ready"})
		return
	}
	writeJSON(w, http.StatusOK, status{"ok"})
}
