package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/jonboulle/clockwork"
)

const (
	// keysFresh is the age at which keys are fetched again, so that a revoked one stops working.
	keysFresh = 15 * time.Minute
	// keysWait is the age of keys at which tokens wait for newer ones, unless the latest request failed.
	keysWait = time.Hour
	// keysKept is the age at which keys are no longer used.
	keysKept = 24 * time.Hour
	// keysPause is the minimum time between two requests, however many tokens have unknown keys.
	keysPause = 10 * time.Second
	// keysLimit is the timeout of one request.
	keysLimit = 5 * time.Second
	// maxKeys limits an answer, in bytes.
	maxKeys = 1 << 20
)

// errNoKeys means that there are no keys to verify a token with.
var errNoKeys = errors.New("the keys of the issuer are unavailable")

// A keySet caches the keys of an issuer. It fetches them when they are old or a token has an unknown one. Tokens with
// known keys do not wait for that.
type keySet struct {
	issuer, url string // url "": discover it
	http        *http.Client
	local       bool // http belongs to the keySet
	clock       clockwork.Clock
	log         *slog.Logger

	base  context.Context // of the requests to the issuer
	stop  context.CancelFunc
	calls sync.WaitGroup

	mu         sync.Mutex
	keys       []jose.JSONWebKey
	fetched    time.Time     // when keys arrived; zero for never
	requested  time.Time     // when the latest request began
	failed     bool          // the latest request
	inFlight   chan struct{} // closed at the end of the request in progress; nil without one
	discovered string        // the discovered URL of the keys; "" if it is not known
	closed     bool
}

func newKeySet(t *Tokens, clock clockwork.Clock, log *slog.Logger) *keySet {
	s := &keySet{issuer: t.Issuer, url: t.KeysURL, http: t.HTTP, clock: clock, log: log}
	s.base, s.stop = context.WithCancel(context.Background())
	if s.http == nil {
		s.local, s.http = true, &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	return s
}

// close cancels the request in progress and waits for it.
func (s *keySet) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.calls.Wait()
	if s.local {
		s.http.CloseIdleConnections()
	}
}

// find returns the keys with the id, all for "". It waits for the issuer if they are missing or too old.
func (s *keySet) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	found, wait, err := s.cached(id)
	if wait == nil {
		return found, err
	}
	select {
	case <-wait:
		found, _, err = s.cached(id)
		return found, err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errNoKeys, context.Cause(ctx))
	}
}

// cached returns the cached keys, and a channel to wait for if they may not suffice. It starts a request to the issuer
// if necessary.
func (s *keySet) cached(id string) (found []jose.JSONWebKey, wait <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	age := now.Sub(s.fetched)
	if age < keysKept {
		found = s.named(id)
	} else {
		err = errNoKeys
	}
	if (len(found) == 0 || age >= keysFresh) && now.Sub(s.requested) >= keysPause && s.inFlight == nil && !s.closed {
		s.refresh(now)
	}
	if s.inFlight != nil && (len(found) == 0 || age >= keysWait && !s.failed) {
		wait = s.inFlight
	}
	return found, wait, err
}

func (s *keySet) named(id string) (found []jose.JSONWebKey) {
	for _, k := range s.keys {
		if id == "" || k.KeyID == id {
			found = append(found, k)
		}
	}
	return found
}

// refresh starts a request to the issuer. It needs mu.
func (s *keySet) refresh(now time.Time) {
	s.requested = now
	ended := make(chan struct{})
	s.inFlight = ended
	discovered := s.discovered
	s.calls.Go(func() {
		ctx, cancel := context.WithTimeout(s.base, keysLimit)
		defer cancel()
		keys, url, err := s.fetch(ctx, discovered)
		s.mu.Lock()
		defer s.mu.Unlock()
		defer close(ended)
		s.inFlight, s.discovered, s.failed = nil, url, err != nil
		if err != nil {
			s.log.Warn("fetch of token keys failed", "issuer", s.issuer, "error", err)
			return
		}
		s.keys, s.fetched = keys, now
	})
}

// fetch reads the keys from the configured URL, the discovered one, or else discovers it. It returns the URL if that
// succeeded.
func (s *keySet) fetch(ctx context.Context, discovered string) (keys []jose.JSONWebKey, url string, err error) {
	url = cmp.Or(s.url, discovered)
	if url == "" {
		if url, err = s.discover(ctx); err != nil {
			return nil, "", fmt.Errorf("discovery: %w", err)
		}
	}
	var answer struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := s.get(ctx, url, &answer); err != nil {
		return nil, "", err
	}
	if keys = signing(answer.Keys); len(keys) == 0 {
		return nil, "", errors.New("the answer has no key for signatures")
	}
	return keys, url, nil
}

// signing returns the usable keys and ignores those of unknown kinds.
func signing(set []json.RawMessage) (keys []jose.JSONWebKey) {
	for _, raw := range set {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(raw) == nil && usable(&k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// usable reports whether a key is public and for signatures.
func usable(k *jose.JSONWebKey) bool {
	if k.Use != "" && k.Use != "sig" || !k.Valid() || !k.IsPublic() {
		return false
	}
	_, symmetric := k.Key.([]byte)
	return !symmetric && (k.Algorithm == "" || slices.Contains(algorithms, jose.SignatureAlgorithm(k.Algorithm)))
}

// discover returns the URL of the keys. Source: OpenID Connect Discovery 1.0, section 4.
func (s *keySet) discover(ctx context.Context) (url string, err error) {
	var about struct {
		Issuer  string `json:"issuer"`
		KeysURL string `json:"jwks_uri"`
	}
	if err := s.get(ctx, strings.TrimSuffix(s.issuer, "/")+"/.well-known/openid-configuration", &about); err != nil {
		return "", err
	}
	switch {
	case about.Issuer != s.issuer:
		return "", fmt.Errorf("the document is of issuer %q", about.Issuer)
	case !webURL(about.KeysURL):
		return "", fmt.Errorf("jwks_uri %q is not a URL", about.KeysURL)
	}
	return about.KeysURL, nil
}

// get reads a JSON document.
func (s *keySet) get(ctx context.Context, url string, v any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := s.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // the body has been read
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered with status %d", url, answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxKeys))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("decode %s: %w", url, err)
	}
	return nil
}
