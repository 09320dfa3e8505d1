package idp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"
)

const (
	// refetchInterval is the minimum time between two fetches of an issuer's documents, so that tokens with invented
	// key ids do not cause a fetch each.
	refetchInterval = 30 * time.Second

	// retryInterval is the minimum time after a failed fetch if there are no documents.
	retryInterval = 2 * time.Second

	// fresh is how long documents are used before they are fetched again: a key that the issuer has removed is accepted
	// no longer than that.
	fresh = 15 * time.Minute

	// maxAge is how long they are used while the issuer cannot be reached.
	maxAge = 24 * time.Hour
)

// An issuer is the cache of an issuer's documents.
type issuer struct {
	url      string
	fetching chan struct{} // holds one value during a fetch

	mu        sync.Mutex
	latest    *document // nil: never fetched
	attempted time.Time // end of the last fetch
	failed    bool      // the last fetch
}

// A document is what an issuer publishes. It is immutable.
type document struct {
	endpoint oauth2.Endpoint
	keys     []jose.JSONWebKey
	fetched  time.Time
}

// document returns the documents of an issuer: those of the cache, unless they are old or equal to unfit, a document
// that lacks a key. It returns unfit itself if it is too early to fetch again.
func (v *Verifier) document(ctx context.Context, i *issuer, unfit *document) (*document, error) {
	d, due, err := i.cached(v.clock.Now(), unfit)
	if !due {
		return d, err
	}
	wait := d == nil || d == unfit
	if !i.lock(ctx, wait) {
		if wait {
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, ctx.Err())
		}
		return d, nil // old documents, while another caller fetches
	}
	defer func() { <-i.fetching }()
	if d, due, err = i.cached(v.clock.Now(), unfit); !due { // another caller has fetched meanwhile
		return d, err
	}
	// A caller that gives up must not end the fetch, which counts for all: it would fail for the next 30 s.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchLimit)
	defer cancel()
	newer, err := v.fetch(ctx, i.url)
	if err != nil {
		v.warn("identity provider not reached", "issuer", i.url, "err", err)
	}
	i.put(newer, v.clock.Now())
	d, _, err = i.cached(v.clock.Now(), unfit)
	return d, err
}

// warn logs a failure, at most one of a kind a second.
func (v *Verifier) warn(message string, args ...any) {
	if suppressed, ok := v.lines.Allow(message); ok {
		v.log.Warn(message, append(args, "suppressed", suppressed)...)
	}
}

// lock begins a fetch. It reports false if ctx ended or, without wait, if another caller fetches.
func (i *issuer) lock(ctx context.Context, wait bool) bool {
	select {
	case i.fetching <- struct{}{}:
		return true
	default:
	}
	if !wait {
		return false
	}
	select {
	case i.fetching <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// cached returns the documents that can be used, and whether to fetch them now. The error is ErrUnreachable if there
// are none, or if they are unfit and the last fetch failed.
func (i *issuer) cached(now time.Time, unfit *document) (d *document, due bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	d = i.latest
	if d != nil && now.Sub(d.fetched) >= maxAge {
		d = nil
	}
	wait := refetchInterval
	if d == nil {
		wait = retryInterval
	}
	wanted := d == nil || d == unfit || now.Sub(d.fetched) >= fresh
	due = wanted && (i.attempted.IsZero() || now.Sub(i.attempted) >= wait)
	if d == nil || d == unfit && i.failed {
		err = fmt.Errorf("%w: %s", ErrUnreachable, i.url)
	}
	return d, due, err
}

// put stores the result of a fetch; nil: it failed.
func (i *issuer) put(d *document, now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.attempted, i.failed = now, d == nil
	if d != nil {
		d.fetched = now
		i.latest = d
	}
}

// fetch gets the discovery document and the keys. Errors are for the log: they contain answers of the issuer.
func (v *Verifier) fetch(ctx context.Context, issuer string) (*document, error) {
	plain, err := checkIssuer(issuer)
	if err != nil {
		return nil, err
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, v.client), issuer)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	var published struct {
		Keys    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&published); err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	d := &document{endpoint: provider.Endpoint()}
	d.endpoint.AuthStyle = authStyle(published.Methods)
	for _, e := range [...]struct {
		name, url string
		optional  bool
	}{
		{"jwks_uri", published.Keys, false},
		{"authorization_endpoint", d.endpoint.AuthURL, true}, // an issuer of tokens alone has neither
		{"token_endpoint", d.endpoint.TokenURL, true},
	} {
		if e.optional && e.url == "" {
			continue
		}
		if err := checkEndpoint(e.name, e.url, plain); err != nil {
			return nil, err
		}
	}
	if d.keys, err = v.fetchKeys(ctx, published.Keys); err != nil {
		return nil, err
	}
	return d, nil
}

// authStyle returns how the client authenticates at the token endpoint, so that package oauth2 need not try: a second
// attempt would present a used code. Source: OpenID Connect Discovery, token_endpoint_auth_methods_supported.
func authStyle(methods []string) oauth2.AuthStyle {
	if len(methods) == 0 || slices.Contains(methods, "client_secret_basic") {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

func (v *Verifier) fetchKeys(ctx context.Context, url string) ([]jose.JSONWebKey, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	answer, err := v.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("keys: %s answered %s", url, answer.Status)
	}
	return parseKeys(body)
}
