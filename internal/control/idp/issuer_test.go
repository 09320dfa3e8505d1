package idp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/jonboulle/clockwork"
)

// rsaKey and ecKey sign in all tests: generating RSA keys is slow.
var rsaKey, ecKey = generate()

func generate() (*rsa.PrivateKey, *ecdsa.PrivateKey) {
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	e, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return r, e
}

// A world is a verifier and an issuer on loopback.
type world struct {
	*testing.T
	*Verifier
	server *httptest.Server
	clock  *clockwork.FakeClock

	mu       sync.Mutex
	document map[string]any // of discovery
	keys     jose.JSONWebKeySet
	handle   http.HandlerFunc // instead of the issuer's answers; nil: none
	token    http.HandlerFunc // the token endpoint
	fetches  atomic.Int64     // of keys
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, clock: clockwork.NewFakeClock()}
	w.server = httptest.NewServer(w)
	t.Cleanup(w.server.Close)
	w.Verifier = NewVerifier(w.clock, nil, slog.New(slog.DiscardHandler))
	url := w.server.URL
	w.document = map[string]any{"issuer": url, "jwks_uri": url + "/keys", "authorization_endpoint": url + "/auth",
		"token_endpoint": url + "/token"}
	w.keys = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: rsaKey.Public(), KeyID: "r", Use: "sig"}, {Key: ecKey.Public(), KeyID: "e", Algorithm: "ES256"},
	}}
	return w
}

// change changes what the issuer answers.
func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) ServeHTTP(a http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.handle != nil {
		w.handle(a, r)
		return
	}
	a.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_ = json.NewEncoder(a).Encode(w.document)
	case "/keys":
		w.fetches.Add(1)
		_ = json.NewEncoder(a).Encode(w.keys)
	case "/token":
		w.token(a, r)
	default:
		http.NotFound(a, r)
	}
}

func (w *world) provider() Provider {
	return Provider{Name: "test", Issuer: w.server.URL, Audiences: []string{"muster", "other"}, GroupClaim: "groups"}
}

type claims = map[string]any

// claims returns valid claims with changes; nil removes a claim.
func (w *world) claims(changes claims) claims {
	now := w.clock.Now().Unix()
	c := claims{"iss": w.server.URL, "sub": "ada", "aud": "muster", "exp": now + 300, "iat": now}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// sign returns a token with these changes of valid claims, signed with the RSA key.
func (w *world) sign(changes claims) string {
	return w.signed(jose.RS256, rsaKey, "r", w.claims(changes))
}

func (w *world) signed(algorithm jose.SignatureAlgorithm, key any, id string, payload any) string {
	w.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		w.Fatal(err)
	}
	body, err := json.Marshal(payload)
	if err != nil {
		w.Fatal(err)
	}
	jws, err := signer.Sign(body)
	if err != nil {
		w.Fatal(err)
	}
	token, err := jws.CompactSerialize()
	if err != nil {
		w.Fatal(err)
	}
	return token
}

func (w *world) verify(token string) error {
	w.Helper()
	c, err := w.Verify(context.Background(), w.provider(), token)
	if (c == nil) == (err == nil) {
		w.Errorf("claims %v with error %v", c, err)
	}
	return err
}
