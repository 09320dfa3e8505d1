package guard

import (
	"fmt"
	"net/http"

	"github.com/rs/cors"

	"github.com/muster-gg/muster/internal/loglimit"
)

// A Guard stands before a handler. It may be used by several goroutines.
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

// New makes a guard. It starts nothing, and asks nobody for keys before a token
// comes. The error names every field that cannot be right.
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

// Players holds players to Config.PlayerRate, for a handler that finds out only from
// the body whom a request is for; nil, which allows everything, without that rate.
func (g *Guard) Players() *Limiter { return g.player }

// Close ends what is under way with the issuer of tokens, and lets go of the
// connections to it. Tokens with new keys are refused from then on.
func (g *Guard) Close() error {
	g.callers.close()
	return nil
}

// Wrap puts the guard before a handler. One guard may stand before several, which
// then share its limits.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	for _, wrap := range []func(http.Handler) http.Handler{ // the innermost first
		g.limitBody, g.limitPlayer, g.authenticate, g.limitAddress, g.answerCORS, g.answerProbes, g.recoverPanics, g.measure, setHeaders, g.admit,
	} {
		next = wrap(next)
	}
	return next
}
