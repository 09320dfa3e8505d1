package guard

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"
)

// measure counts requests and writes the access log.
func (g *Guard) measure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec, route, begun := recording(w), g.routes.of(r), g.cfg.Clock.Now()
		g.metrics.begin()
		defer func() { // also after http.ErrAbortHandler
			took := g.cfg.Clock.Since(begun)
			g.metrics.end(route, rec.status, took)
			if g.cfg.AccessLog {
				g.logAccess(r, rec, route, took)
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// logAccess logs a request, without its body and credentials. Probes are logged at level Debug. Rejected requests, and
// those of unauthenticated clients for unknown routes, are logged at most once per second.
func (g *Guard) logAccess(r *http.Request, rec *recorder, route string, took time.Duration) {
	v := of(r.Context())
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("route", route), slog.Int("status", rec.status),
		slog.Int64("bytes", rec.bytes),
		slog.Duration("duration", took), slog.String("request", v.id), slog.String("address", v.address.String()),
	}
	if v.subject != "" {
		attrs = append(attrs, slog.String("subject", v.subject))
	}
	if v.key != "" {
		attrs = append(attrs, slog.String("key", v.key))
	}
	level := slog.LevelInfo
	switch anonymous := v.subject == "" && v.key == ""; {
	case slices.Contains(probes, route):
		level = slog.LevelDebug
	case v.refused || anonymous && route == unknownRoute:
		suppressed, ok := g.lines.Allow("request")
		if !ok {
			return
		}
		attrs = append(attrs, slog.Int("suppressed", suppressed))
	}
	g.cfg.Log.LogAttrs(r.Context(), level, "request", attrs...)
}

// unknownRoute is the label of requests for unknown operations.
const unknownRoute = "unknown"

// routes returns the operation of a request, one of a closed set.
type routes struct{ mux *http.ServeMux }

// newRoutes takes patterns of http.ServeMux.
func newRoutes(patterns []string) (r *routes, err error) {
	defer func() {
		if p := recover(); p != nil { // a ServeMux panics on an invalid pattern
			err = fmt.Errorf("%v", p)
		}
	}()
	r = &routes{http.NewServeMux()}
	for _, p := range slices.Concat(probes, patterns) {
		r.mux.Handle(p, http.NotFoundHandler())
	}
	return r, nil
}

func (r *routes) of(request *http.Request) string {
	if _, pattern := r.mux.Handler(request); pattern != "" {
		return pattern
	}
	return unknownRoute
}

// A recorder records the status and the size of an answer.
type recorder struct {
	http.ResponseWriter

	status int // 0: nothing was written
	bytes  int64
}

// recording returns w as a recorder.
func recording(w http.ResponseWriter) *recorder {
	if r, ok := w.(*recorder); ok {
		return r
	}
	return &recorder{ResponseWriter: w}
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK { // not an informational one
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Flush implements http.Flusher, for streams.
func (r *recorder) Flush() {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	_ = http.NewResponseController(r.ResponseWriter).Flush() // not every writer supports it
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
