package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
)

// DefaultMaxBody is how many bytes a request's body may have when nothing else is
// configured.
const DefaultMaxBody = 64 << 10

// Config says what a Guard does. The zero value lets everybody in, refuses large
// bodies, and answers /healthz and /readyz.
type Config struct {
	// Keys are the API keys that are taken, in X-Api-Key or as a bearer token, by
	// names for the log. Several make a change of keys possible. They are kept as
	// hashes only.
	Keys map[string]string
	// Tokens says which bearer tokens are taken; nil for none. With Keys as well, a
	// request needs either.
	Tokens *Tokens

	// AddressRate bounds the requests of one address (of IPv6: one /64 network), and
	// PlayerRate those of one player. The zero Rate is no limit.
	AddressRate, PlayerRate Rate
	// Player names the player that a request is for; "" if that cannot be seen yet.
	// nil is the subject of the token.
	Player func(*http.Request) string
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix

	// Origins are the web origins that may call besides that of the host itself, "*" for
	// all; none switches CORS off. Requests of other origins are refused.
	Origins []string
	// MaxBody is in bytes; 0 is DefaultMaxBody, less is no limit.
	MaxBody int64

	// Routes are the operations of the handler, as patterns of http.ServeMux: the
	// labels of the metrics and the log. Requests for others are counted as "unknown".
	Routes []string
	// Registerer takes the metrics; nil for none.
	Registerer prometheus.Registerer
	// Scrape answers /metrics to clients on this machine; for others, and without it, that
	// path is the handler's.
	Scrape http.Handler
	// Ready says whether requests can be expected to work; nil for always. It has
	// five seconds.
	Ready func(context.Context) error

	// Refuse writes the answer of a refusal; nil is WriteRefusal. The status and
	// headers of the refusal itself, such as WWW-Authenticate, are in w already, but
	// for the status.
	Refuse func(http.ResponseWriter, *http.Request, Refusal)
	// AccessLog has every request logged.
	AccessLog bool
	Log       *slog.Logger    // nil logs nothing
	Clock     clockwork.Clock // nil is the real one
}

// validate reports every field that cannot be right.
func (c *Config) validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for name, key := range c.Keys {
		add(name == "", "Keys: a key has no name; names stand in the log")
		add(len(key) < minKey, "Keys: the key of %q has %d characters; use at least %d random ones", name, len(key), minKey)
	}
	add(c.AddressRate.PerSecond < 0 || c.AddressRate.Burst < 0, "AddressRate must not be negative")
	add(c.PlayerRate.PerSecond < 0 || c.PlayerRate.Burst < 0, "PlayerRate must not be negative")
	for _, p := range c.TrustedProxies {
		add(!p.IsValid(), "TrustedProxies: a network is empty")
	}
	if c.Tokens != nil {
		errs = append(errs, c.Tokens.validate())
	}
	return errors.Join(errs...)
}

// withDefaults is c with a value in every field that has a default.
func (c Config) withDefaults() Config {
	c.MaxBody = cmp.Or(c.MaxBody, DefaultMaxBody)
	if c.Player == nil {
		c.Player = func(r *http.Request) string { return Subject(r.Context()) }
	}
	if c.Ready == nil {
		c.Ready = func(context.Context) error { return nil }
	}
	if c.Refuse == nil {
		c.Refuse = WriteRefusal
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	return c
}
