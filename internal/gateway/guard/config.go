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

// DefaultMaxBody is the default limit of a request's body, in bytes.
const DefaultMaxBody = 64 << 10

// Config configures a Guard. The zero value accepts all callers, rejects large bodies, and answers /healthz and
// /readyz.
type Config struct {
	// Keys are the accepted API keys, in X-Api-Key or as a bearer token, by names for the log. Several allow rotation.
	// Only their hashes are kept.
	Keys map[string]string
	// Tokens configures bearer tokens; nil rejects them. With Keys too, a request needs either.
	Tokens *Tokens

	// AddressRate limits the requests of one address (of IPv6: one /64 network), and PlayerRate those of one player.
	// The zero Rate is no limit.
	AddressRate, PlayerRate Rate
	// Player returns the player of a request; "" if it is not known yet. nil is the subject of the token.
	Player func(*http.Request) string
	// TrustedProxies are the networks whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix

	// Origins are the accepted web origins besides the host's own, "*" for all; none disables CORS. Requests of other
	// origins are rejected.
	Origins []string
	// MaxBody is in bytes; 0 is DefaultMaxBody, a negative one is no limit.
	MaxBody int64

	// Routes are the operations of the handler, as patterns of http.ServeMux: the labels of metrics and log lines. All
	// other requests have the label "unknown".
	Routes []string
	// Registerer registers the metrics; it may be nil.
	Registerer prometheus.Registerer
	// Scrape answers /metrics to clients on this machine. Without it, and for other clients, the path goes to the
	// handler.
	Scrape http.Handler
	// Ready returns nil if requests are expected to succeed; nil is always. It has a timeout of five seconds.
	Ready func(context.Context) error

	// Refuse writes the answer of a refusal; nil is WriteRefusal. w has the headers of the refusal already, such as
	// WWW-Authenticate, but not its status.
	Refuse func(http.ResponseWriter, *http.Request, Refusal)
	// AccessLog logs every request.
	AccessLog bool
	Log       *slog.Logger    // may be nil
	Clock     clockwork.Clock // nil is the system's
}

// validate reports every invalid field.
func (c *Config) validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for name, key := range c.Keys {
		add(name == "", "Keys: a key has no name; names are in the log")
		add(len(key) < minKey, "Keys: the key of %q has %d characters; use at least %d random ones",
			name, len(key), minKey)
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

// withDefaults returns c with the defaults of its empty fields.
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
