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
	// keysFresh is how long keys are used before they are asked for again, so that
	// one that the issuer has taken back stops working.
	keysFresh = 15 * time.Minute
	// keysWait is the age of keys at which tokens wait for newer ones, unless the
	// issuer was asked since, and failed.
	keysWait = time.Hour
	// keysKept is how long they are used when the issuer does not answer.
	keysKept = 24 * time.Hour
	// keysPause is the least time between two requests to the issuer, however many
	// tokens name keys that nobody knows.
	keysPause = 10 * time.Second
	// keysLimit is how long one request may take.
	keysLimit = 5 * time.Second
	// maxKeys is how many bytes of an answer are read.
	maxKeys = 1 << 20
)

// errNoKeys says that the issuer's keys cannot be had.
var errNoKeys = errors.New("the keys of the issuer cannot be had")

// A keySet holds the keys of an issuer, and asks for them when they are old or a
// token names one that is not among them. Tokens whose keys are there do not wait
// for that.
type keySet struct {
	issuer, url string // url "": ask the issuer for it
	http        *http.Client
	own         bool // http is this keySet's
	clock       clockwork.Clock
	log         *slog.Logger

	life  context.Context // of the requests to the issuer
	stop  context.CancelFunc
	calls sync.WaitGroup

	mu         sync.Mutex
	keys       []jose.JSONWebKey
	got        time.Time     // when keys came; zero for never
	asked      time.Time     // when the issuer was last asked
	failed     bool          // the last time
	inFlight   chan struct{} // closed when the request under way has ended; nil without one
	discovered string        // where the keys are, as the issuer says; "" if it is not known
	closed     bool
}

func newKeySet(t *Tokens, clock clockwork.Clock, log *slog.Logger) *keySet {
	s := &keySet{issuer: t.Issuer, url: t.KeysURL, http: t.HTTP, clock: clock, log: log}
	s.life, s.stop = context.WithCancel(context.Background())
	if s.http == nil {
		s.own, s.http = true, &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	return s
}

// close ends and waits for the request to the issuer that is under way.
func (s *keySet) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.calls.Wait()
	if s.own {
		s.http.CloseIdleConnections()
	}
}

// find returns the keys with the id, all for "". It waits for the issuer when they
// are not there, or too old.
func (s *keySet) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	found, wait, err := s.look(id)
	if wait == nil {
		return found, err
	}
	select {
	case <-wait:
		found, _, err = s.look(id)
		return found, err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errNoKeys, context.Cause(ctx))
	}
}

// look returns the keys that are there, and what is worth waiting for; it has the
// issuer asked if need be.
func (s *keySet) look(id string) (found []jose.JSONWebKey, wait <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	age := now.Sub(s.got)
	if age < keysKept {
		found = s.named(id)
	} else {
		err = errNoKeys
	}
	if (len(found) == 0 || age >= keysFresh) && now.Sub(s.asked) >= keysPause && s.inFlight == nil && !s.closed {
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

// refresh has the issuer asked. It needs mu.
func (s *keySet) refresh(now time.Time) {
	s.asked = now
	ended := make(chan struct{})
	s.inFlight = ended
	place := s.discovered
	s.calls.Go(func() {
		ctx, cancel := context.WithTimeout(s.life, keysLimit)
		defer cancel()
		keys, place, err := s.fetch(ctx, place)
		s.mu.Lock()
		defer s.mu.Unlock()
		defer close(ended)
		s.inFlight, s.discovered, s.failed = nil, place, err != nil
		if err != nil {
			s.log.Warn("the keys of the issuer of tokens did not come", "issuer", s.issuer, "error", err)
			return
		}
		s.keys, s.got = keys, now
	})
}

// fetch reads the keys from the configured place, or the one that was discovered
// before, or else discovers it. It returns the place if it was a good one.
func (s *keySet) fetch(ctx context.Context, discovered string) (keys []jose.JSONWebKey, place string, err error) {
	place = cmp.Or(s.url, discovered)
	if place == "" {
		if place, err = s.discover(ctx); err != nil {
			return nil, "", fmt.Errorf("discovery: %w", err)
		}
	}
	var answer struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := s.get(ctx, place, &answer); err != nil {
		return nil, "", err
	}
	if keys = signing(answer.Keys); len(keys) == 0 {
		return nil, "", errors.New("there is no key for signatures among them")
	}
	return keys, place, nil
}

// signing are the keys that can be used. Of kinds that are not known, others may be.
func signing(set []json.RawMessage) (keys []jose.JSONWebKey) {
	for _, raw := range set {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(raw) == nil && usable(&k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// usable reports whether a key is public and for signatures with it.
func usable(k *jose.JSONWebKey) bool {
	if k.Use != "" && k.Use != "sig" || !k.Valid() || !k.IsPublic() {
		return false
	}
	_, symmetric := k.Key.([]byte)
	return !symmetric && (k.Algorithm == "" || slices.Contains(algorithms, jose.SignatureAlgorithm(k.Algorithm)))
}

// discover finds out where the keys are. Source: OpenID Connect Discovery 1.0,
// section 4.
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
		return "", fmt.Errorf("it is that of %q", about.Issuer)
	case !webURL(about.KeysURL):
		return "", fmt.Errorf("jwks_uri %q is no URL", about.KeysURL)
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
	defer answer.Body.Close() //nolint:errcheck // what was read is what counts
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered with status %d", url, answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxKeys))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%s is not what it should be: %w", url, err)
	}
	return nil
}
