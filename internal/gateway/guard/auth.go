package guard

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// An authenticator identifies callers.
type authenticator struct {
	keys   keyRing
	tokens *verifier // nil: tokens are rejected
}

func newAuthenticator(cfg *Config) *authenticator {
	a := &authenticator{keys: newKeyRing(cfg.Keys)}
	if cfg.Tokens != nil {
		a.tokens = newVerifier(cfg.Tokens, cfg.Clock, cfg.Log)
	}
	return a
}

func (a *authenticator) close() {
	if a.tokens != nil {
		a.tokens.keys.close()
	}
}

var (
	errNoCredentials  = errors.New("the request carries no credentials")
	errBadCredentials = errors.New("the request carries credentials of more than one kind, or ones that cannot be read")
	errUnknownKey     = errors.New("the API key is unknown")
)

// check authenticates a request and stores the caller in v.
func (a *authenticator) check(r *http.Request, v *visit) error {
	key, token, err := a.credentials(r)
	if err != nil {
		return err
	}
	if name, ok := a.keys.find(key + token); ok { // one of them is empty
		v.key = name
		return nil
	}
	if a.tokens != nil && strings.Count(token, ".") == 2 {
		v.subject, err = a.tokens.verify(r.Context(), token)
		return err
	}
	return errUnknownKey
}

// credentials returns an API key or a bearer token; a request with both is rejected as ambiguous. Without configured
// keys it ignores the key's header, which may be for a proxy.
func (a *authenticator) credentials(r *http.Request) (key, token string, err error) {
	keys, authorizations := r.Header.Values(apiKeyHeader), r.Header.Values("Authorization")
	if len(a.keys) == 0 {
		keys = nil
	}
	switch {
	case len(keys)+len(authorizations) == 0:
		return "", "", errNoCredentials
	case len(keys)+len(authorizations) > 1:
		return "", "", errBadCredentials
	case len(keys) == 1:
		return keys[0], "", nil
	}
	scheme, token, ok := strings.Cut(authorizations[0], " ")
	if token = strings.TrimSpace(token); !ok || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", "", errBadCredentials
	}
	return "", token, nil
}

// authenticate rejects unauthenticated requests, if keys or tokens are configured.
func (g *Guard) authenticate(next http.Handler) http.Handler {
	if len(g.callers.keys) == 0 && g.callers.tokens == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.callers.check(r, of(r.Context())); err != nil {
			g.refuseCaller(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuseCaller answers as in RFC 6750, section 3: without an error code if the request has no credentials, and with
// status 403 only for an authenticated caller.
func (g *Guard) refuseCaller(w http.ResponseWriter, r *http.Request, err error) {
	g.cfg.Log.Debug("caller rejected", "request", RequestID(r.Context()), "reason", err)
	const challenge = `Bearer realm="muster"`
	switch {
	case errors.Is(err, errNoKeys):
		g.refuseFor(w, r, "no_token_keys", unavailable, 2*time.Second)
	case errors.Is(err, errScope):
		w.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope"`)
		g.refuse(w, r, "forbidden", forbidden)
	case errors.Is(err, errNoCredentials):
		w.Header().Set("WWW-Authenticate", challenge)
		g.refuse(w, r, "no_credentials", unauthenticated)
	default:
		w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token"`)
		g.refuse(w, r, "bad_credentials", unauthenticated)
	}
}

const apiKeyHeader = "X-Api-Key"

// minKey is the minimum length of an API key, in bytes.
const minKey = 16

// keyRing holds API keys as hashes. Keys are random, so the hash needs no salt.
type keyRing []hashedKey

type hashedKey struct {
	name string
	hash [sha256.Size]byte
}

func newKeyRing(keys map[string]string) (ring keyRing) {
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		ring = append(ring, hashedKey{name, sha256.Sum256([]byte(keys[name]))})
	}
	return ring
}

// find returns the name of a key, in constant time.
func (ring keyRing) find(key string) (name string, ok bool) {
	hash := sha256.Sum256([]byte(key))
	for i := range ring {
		if subtle.ConstantTimeCompare(hash[:], ring[i].hash[:]) == 1 {
			name, ok = ring[i].name, true
		}
	}
	return name, ok
}
