package guard

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/rs/cors"

	"github.com/muster-gg/muster/internal/telemetry/loglimit"
)

// A Guard protects handlers. It is safe for concurrent use.
type Guard struct {
	cfg     Config
	routes  *routes
	lines   *loglimit.Limiter // of the log, for unauthenticated clients
	metrics *metrics
	callers *authenticator
	address *Limiter
	player  *Limiter
	cors    *cors.Cors // nil: off
}

// New returns a guard. It starts nothing, and fetches the issuer's keys with the first token. The error names every
// invalid field.
func New(cfg Config) (*Guard, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	cfg = cfg.withDefaults()
	g := &Guard{
		cfg:     cfg,
		address: NewLimiter(cfg.AddressRate, cfg.Clock), player: NewLimiter(cfg.PlayerRate, cfg.Clock),
		callers: newAuthenticator(&cfg), cors: newCORS(cfg.Origins), lines: loglimit.New(cfg.Clock),
	}
	var err error
	if g.routes, err = newRoutes(cfg.Routes); err != nil {
		return nil, fmt.Errorf("guard: Routes: %w", err)
	}
	if g.metrics, err = newMetrics(cfg.Registerer); err != nil {
		return nil, fmt.Errorf("guard: Registerer: %w", err)
	}
	return g, nil
}

// Players returns the limiter of Config.PlayerRate, for a handler that reads the player from the body; nil, which
// allows everything, without that rate.
func (g *Guard) Players() *Limiter { return g.player }

// Close cancels requests to the issuer of tokens and closes the connections to it. Tokens with unknown keys are
// rejected from then on.
func (g *Guard) Close() error {
	g.callers.close()
	return nil
}

// Wrap returns a handler protected by the guard. Several handlers share its limits.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	for _, wrap := range []func(http.Handler) http.Handler{ // the innermost first
		g.limitBody, g.limitPlayer, g.authenticate, g.limitAddress, g.answerCORS, g.answerProbes, g.recoverPanics,
		g.measure, setHeaders, g.admit,
	} {
		next = wrap(next)
	}
	return next
}

// recoverPanics answers for a handler that panicked. If it has written a part of its answer, the connection is closed,
// so that the client notices.
func (g *Guard) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := recording(w)
		defer func() {
			p := recover()
			switch {
			case p == nil:
				return
			case p == http.ErrAbortHandler: // closes the connection
				panic(p)
			}
			if suppressed, ok := g.lines.Allow("panic"); ok {
				g.cfg.Log.Error("handler panicked", "panic", fmt.Sprint(p), "request", RequestID(r.Context()),
					"suppressed", suppressed, "stack", string(debug.Stack()))
			}
			if rec.status != 0 {
				panic(http.ErrAbortHandler)
			}
			for _, name := range []string{"Content-Length", "Content-Encoding", "Etag"} { // of the handler's answer
				rec.Header().Del(name)
			}
			g.refuse(rec, r, "panic", panicked)
		}()
		next.ServeHTTP(rec, r)
	})
}

// setHeaders sets the security headers of API answers; a handler may change them. Source: OWASP, REST Security Cheat
// Sheet.
func setHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		next.ServeHTTP(w, r)
	})
}
