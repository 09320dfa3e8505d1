package gateway

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/session"
)

// Config configures a provider. Only URL is required.
type Config struct {
	// URL is the gateway's base, with the stage if it has one, for example http://127.0.0.1:3000 or
	// https://api.example.com/Prod.
	URL string
	// BearerToken and APIKey are the credentials for the gateway, sent as "Authorization: Bearer …" and "X-Api-Key: …".
	// "" sends none.
	BearerToken, APIKey string
	// CreateURI, FindURI and JoinURI are the paths of the three original calls, after URL; default /create_session,
	// /find_session and /join_session. /create_session_local and so on are for a service without fleets and locations.
	CreateURI, FindURI, JoinURI string
	// HTTPClient makes the calls; nil for http.DefaultClient. Redirects are not followed, because they could send the
	// credentials elsewhere.
	HTTPClient *http.Client

	// clock drives timeouts: of silent event streams, and of canceled calls. nil for the real one.
	clock clockwork.Clock
}

// A provider reaches sessions through a gateway.
type provider struct {
	cfg   Config
	clock clockwork.Clock
	http  *http.Client

	mu   sync.Mutex
	base string // URL without a slash at the end; "" before Configure
}

var (
	_ session.Matchmaker    = (*provider)(nil)
	_ session.TicketWatcher = (*provider)(nil)
	_ session.Releaser      = (*provider)(nil)
)

// New makes a provider that reaches sessions through a gateway, and is not configured. It is a session.Matchmaker, a
// session.TicketWatcher and a session.Releaser, too. It retries no calls, and starts nothing.
func New(cfg Config) session.Provider {
	cfg.CreateURI = cmp.Or(cfg.CreateURI, "/create_session")
	cfg.FindURI = cmp.Or(cfg.FindURI, "/find_session")
	cfg.JoinURI = cmp.Or(cfg.JoinURI, "/join_session")
	client := *cmp.Or(cfg.HTTPClient, http.DefaultClient)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p := &provider{cfg: cfg, clock: cfg.clock, http: &client}
	if p.clock == nil {
		p.clock = clockwork.NewRealClock()
	}
	return p
}

// Configure implements session.Provider. It sends nothing. A gateway serves one region, so any region is accepted. For
// an invalid Config it returns ErrInvalid.
func (p *provider) Configure(_ context.Context, _ string) error {
	const op = "Configure"
	base, err := url.Parse(p.cfg.URL)
	switch {
	case err != nil:
		return &session.Error{Op: op, Kind: session.ErrInvalid, Message: "Config.URL: " + err.Error(), Err: err}
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return session.Errorf(op, session.ErrInvalid,
			"Config.URL %q: want a URL such as http://127.0.0.1:3000", p.cfg.URL)
	case base.RawQuery != "" || base.Fragment != "":
		return session.Errorf(op, session.ErrInvalid, "Config.URL %q: it must end with its path", p.cfg.URL)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.base = strings.TrimRight(p.cfg.URL, "/")
	return nil
}

// url returns the address of a call.
func (p *provider) url(op, uri string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.base == "" {
		return "", &session.Error{Op: op, Kind: session.ErrNotConfigured, Message: session.ErrNotConfigured.Error()}
	}
	return p.base + "/" + strings.TrimLeft(uri, "/"), nil
}
