package guard

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// An issuer makes tokens and shows its keys over HTTP.
type issuer struct {
	*testing.T
	*httptest.Server

	mu      sync.Mutex
	public  []any // elements of the key set
	asked   int   // how often the keys were fetched
	broken  bool
	lying   string // the issuer that discovery names; "" for the right one
	private map[string]any
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{T: t, private: map[string]any{}}
	i.Server = httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.broken {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		name := i.URL
		if i.lying != "" {
			name = i.lying
		}
		i.write(w, map[string]string{"issuer": name, "jwks_uri": i.URL + "/keys"})
	case "/keys":
		i.asked++
		i.write(w, map[string]any{"keys": i.public})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (i *issuer) write(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		i.Error(err)
	}
}

// publish shows the keys of these names, and no others, which are made as needed.
func (i *issuer) publish(names ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.public = []any{map[string]string{"kty": "unheard of", "kid": "new"},
		jose.JSONWebKey{Key: []byte("a shared secret!"), KeyID: "hmac", Algorithm: "HS256"}}
	for _, name := range names {
		if i.private[name] == nil {
			i.private[name] = newKey(i.T, name)
		}
		key := jose.JSONWebKey{Key: i.private[name], KeyID: name, Use: "sig"}
		i.public = append(i.public, key.Public())
	}
}

// newKey makes a key of the kind that its name begins with.
func newKey(t *testing.T, name string) (key any) {
	t.Helper()
	var err error
	switch {
	case strings.HasPrefix(name, "rsa"):
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	case strings.HasPrefix(name, "ed"):
		_, key, err = ed25519.GenerateKey(rand.Reader)
	default:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// good are the claims of a token that is taken.
func (i *issuer) good() map[string]any {
	return map[string]any{
		"iss": i.URL, "sub": "ada", "aud": []string{"arena", "other"}, "scope": "play watch",
		"exp": epoch.Add(time.Hour).Unix(), "nbf": epoch.Unix(), "iat": epoch.Unix(),
	}
}

// token makes a token with the claims of good, but for the changes; nil leaves one out.
func (i *issuer) token(key string, changes map[string]any) string {
	i.Helper()
	c := i.good()
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	algorithm := jose.ES256
	switch {
	case strings.HasPrefix(key, "rsa"):
		algorithm = jose.RS256
	case strings.HasPrefix(key, "ed"):
		algorithm = jose.EdDSA
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: i.private[key]},
		(&jose.SignerOptions{}).WithHeader("kid", key))
	if err != nil {
		i.Fatal(err)
	}
	signed, err := jwt.Signed(signer).Claims(c).Serialize()
	if err != nil {
		i.Fatal(err)
	}
	return signed
}

func (i *issuer) fetches() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

func (i *issuer) set(broken bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.broken = broken
}

// whoami is a handler that says who calls.
func whoami(w http.ResponseWriter, r *http.Request) {
	_, _ = fmt.Fprintf(w, "%s/%s", Subject(r.Context()), of(r.Context()).key)
}

func TestTokens(t *testing.T) {
	i := newIssuer(t)
	i.publish("ec-1", "rsa-1", "ed-1")
	i.private["ec-unknown"], i.private["stolen"] = newKey(t, "ec"), newKey(t, "ec")
	g := guard(t, Config{Tokens: &Tokens{Issuer: i.URL, Audience: "arena", Scope: "play"}, AccessLog: true}, whoami)

	at := func(d time.Duration) int64 { return epoch.Add(d).Unix() }
	change := func(name string, v any) string { return i.token("ec-1", map[string]any{name: v}) }
	parts := strings.Split(i.token("ec-1", nil), ".")
	encode := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	publicOfRSA, err := json.Marshal(i.private["rsa-1"].(*rsa.PrivateKey).Public())
	if err != nil {
		t.Fatal(err)
	}
	symmetric := func(key []byte, id string) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: key},
			(&jose.SignerOptions{}).WithHeader("kid", id))
		if err != nil {
			t.Fatal(err)
		}
		s, err := jwt.Signed(signer).Claims(i.good()).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, tt := range []struct {
		name, token string
		want        int
	}{
		{"elliptic curve", i.token("ec-1", nil), 200},
		{"RSA", i.token("rsa-1", nil), 200},
		{"Ed25519", i.token("ed-1", nil), 200},
		{"one audience", change("aud", "arena"), 200},
		{"expired within the skew", change("exp", at(-59*time.Second)), 200},
		{"expired", change("exp", at(-61*time.Second)), 401},
		{"never expires", change("exp", nil), 401},
		{"soon valid", change("nbf", at(59*time.Second)), 200},
		{"not yet valid", change("nbf", at(61*time.Second)), 401},
		{"from the future", change("iat", at(time.Hour)), 401},
		{"another issuer", change("iss", "https://evil.example.com"), 401},
		{"no issuer", change("iss", nil), 401},
		{"another audience", change("aud", "shop"), 401},
		{"no audience", change("aud", nil), 401},
		{"nobody", change("sub", nil), 401},
		{"another scope", change("scope", "watch player"), 403},
		{"unknown key", i.token("ec-unknown", nil), 401},
		{"another's key", strings.Join([]string{parts[0], parts[1], strings.Split(i.token("stolen", nil), ".")[2]},
			"."), 401},
		{"other claims", parts[0] + "." + encode(map[string]any{"iss": i.URL, "sub": "eve", "aud": "arena",
			"scope": "play", "exp": at(time.Hour)}) + "." + parts[2], 401},
		{"alg none", encode(map[string]string{"alg": "none", "kid": "ec-1"}) + "." + parts[1] + ".", 401},
		{"alg None", encode(map[string]string{"alg": "None", "kid": "ec-1"}) + "." + parts[1] + "." + parts[2], 401},
		{"public key as a secret", symmetric(publicOfRSA, "rsa-1"), 401},
		{"secret of the key set", symmetric([]byte("a shared secret!a shared secret!"), "hmac"), 401},
		{"cut off", parts[0] + "." + parts[1] + ".", 401},
		{"dots", "..", 401},
		{"huge", parts[0] + "." + strings.Repeat("A", maxToken) + "." + parts[2], 401},
	} {
		w := g.get("/", "Authorization: Bearer "+tt.token)
		switch challenge := w.Header().Get("WWW-Authenticate"); tt.want {
		case 200:
			if w.Code != 200 || w.Body.String() != "ada/" || challenge != "" {
				t.Errorf("%s: %d %s", tt.name, w.Code, w.Body)
			}
		case 401:
			g.refused(w, 401, "unauthenticated")
			if w.Code != 401 || challenge != `Bearer realm="muster", error="invalid_token"` {
				t.Errorf("%s: %d, challenge %q", tt.name, w.Code, challenge)
			}
		case 403:
			g.refused(w, 403, "forbidden")
			if w.Code != 403 || challenge != `Bearer realm="muster", error="insufficient_scope"` {
				t.Errorf("%s: %d, challenge %q", tt.name, w.Code, challenge)
			}
		}
	}
	if e := g.log.entry(t, "request"); e["subject"] != "ada" {
		t.Errorf("the log does not say who called: %v", e)
	}
	if strings.Contains(g.log.String(), parts[2]) {
		t.Error("a token is in the log")
	}
}

func TestTokensWithoutAudience(t *testing.T) {
	i := newIssuer(t)
	i.publish("ec-1")
	g := guard(t, Config{Tokens: &Tokens{Issuer: "somebody", KeysURL: i.URL + "/keys", HTTP: i.Client()}}, whoami)
	if w := g.get("/", "Authorization: bearer "+i.token("ec-1", map[string]any{
		"iss": "somebody", "aud": nil, "scope": nil,
	})); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestKeysRotate: a new key works at once, one that was taken back stops working,
// and the issuer is asked neither for every token nor for every key that is not known.
func TestKeysRotate(t *testing.T) {
	i := newIssuer(t)
	i.publish("ec-1")
	g := guard(t, Config{Tokens: &Tokens{Issuer: i.URL}}, whoami)
	status := func(key string) int { return g.get("/", "Authorization: Bearer "+i.token(key, nil)).Code }

	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got := status("ec-1"); got != http.StatusOK {
				t.Errorf("the first key: %d", got)
			}
		})
	}
	all.Wait()
	if n := i.fetches(); n != 1 {
		t.Errorf("20 tokens fetched the keys %d times", n)
	}
	g.clock.Advance(keysPause)
	i.publish("ec-1", "ec-2")
	if got := status("ec-2"); got != http.StatusOK {
		t.Errorf("the new key: %d", got)
	}
	i.private["ec-x"] = newKey(t, "ec")
	for range 20 {
		if got := status("ec-x"); got != http.StatusUnauthorized {
			t.Errorf("an unknown key: %d", got)
		}
	}
	if n := i.fetches(); n != 2 {
		t.Errorf("the keys were fetched %d times, want 2", n)
	}
	i.publish("ec-2")
	if got := status("ec-1"); got != http.StatusOK {
		t.Errorf("the old key within %s: %d", keysFresh, got)
	}
	g.clock.Advance(keysFresh)
	if got := status("ec-1"); got != http.StatusOK { // while the issuer is asked
		t.Errorf("the old key after %s: %d", keysFresh, got)
	}
	g.callers.tokens.keys.calls.Wait()
	if got := status("ec-1"); got != http.StatusUnauthorized {
		t.Errorf("the key that was taken back: %d", got)
	}
	i.publish("ec-3")
	g.clock.Advance(keysWait)
	if got := status("ec-2"); got != http.StatusUnauthorized { // waits for the issuer
		t.Errorf("a key that was taken back an hour ago: %d", got)
	}
}

// TestSlowIssuer: a token whose key is there does not wait for the issuer, one
// whose key is not there does as long as its client does, and Close ends the wait.
func TestSlowIssuer(t *testing.T) {
	i := newIssuer(t)
	i.publish("ec-1")
	i.private["ec-x"] = newKey(t, "ec")
	g := guard(t, Config{Tokens: &Tokens{Issuer: "me", KeysURL: i.URL + "/keys"}}, whoami)
	token := func(key string) string { return "Authorization: Bearer " + i.token(key, map[string]any{"iss": "me"}) }
	if w := g.get("/", token("ec-1")); w.Code != http.StatusOK {
		t.Fatal(w.Code)
	}
	g.clock.Advance(keysFresh)
	i.mu.Lock() // the issuer hangs
	if w := g.get("/", token("ec-1")); w.Code != http.StatusOK {
		t.Errorf("%d while the issuer hangs", w.Code)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	w := g.do(httptest.NewRequest(http.MethodGet, "/", nil).WithContext(gone), token("ec-x"))
	g.refused(w, http.StatusServiceUnavailable, "unavailable")
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	i.mu.Unlock()
}

func TestIssuerFails(t *testing.T) {
	i := newIssuer(t)
	i.publish("ec-1")
	i.set(true)
	g := guard(t, Config{Tokens: &Tokens{Issuer: i.URL}}, whoami)
	ask := func() *httptest.ResponseRecorder {
		return g.get("/", "Authorization: Bearer "+
			i.token("ec-1", map[string]any{"exp": epoch.Add(100 * time.Hour).Unix()}))
	}
	w := ask()
	g.refused(w, http.StatusServiceUnavailable, "unavailable")
	if w.Header().Get("Retry-After") == "" || w.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("%v", w.Header())
	}
	i.set(false)
	g.refused(ask(), http.StatusServiceUnavailable, "unavailable") // the issuer gets a pause
	g.clock.Advance(keysPause)
	if w := ask(); w.Code != http.StatusOK {
		t.Errorf("%d when the issuer is back", w.Code)
	}
	i.set(true)
	g.clock.Advance(keysKept - time.Minute)
	if w := ask(); w.Code != http.StatusOK {
		t.Errorf("%d with keys that are kept", w.Code)
	}
	g.clock.Advance(time.Minute)
	g.refused(ask(), http.StatusServiceUnavailable, "unavailable")
	i.set(false)
	i.lying = "https://evil.example.com"
	g.clock.Advance(keysPause)
	g.refused(ask(), http.StatusServiceUnavailable, "unavailable")
}

func TestAPIKeys(t *testing.T) {
	i := newIssuer(t)
	i.publish("ec-1")
	cfg := Config{Keys: map[string]string{"old": "old-0123456789abcdef", "new": "new-0123456789abcdef",
		"dotted": "0123456789abcdef.a.b"}}
	either := cfg
	either.Tokens = &Tokens{Issuer: i.URL}
	onlyTokens := Config{Tokens: either.Tokens}
	token := "Authorization: Bearer " + i.token("ec-1", nil)
	for _, tt := range []struct {
		name    string
		cfg     Config
		headers []string
		want    string // who it is; "" for 401
	}{
		{"the old one", cfg, []string{"X-Api-Key: old-0123456789abcdef"}, "/old"},
		{"the new one", cfg, []string{"X-Api-Key: new-0123456789abcdef"}, "/new"},
		{"as bearer", cfg, []string{"Authorization: BEARER new-0123456789abcdef"}, "/new"},
		{"none", cfg, nil, ""},
		{"wrong", cfg, []string{"X-Api-Key: new-0123456789abcdeg"}, ""},
		{"a part", cfg, []string{"X-Api-Key: new-0123456789abcde"}, ""},
		{"empty", cfg, []string{"X-Api-Key: "}, ""},
		{"a token where none is taken", cfg, []string{token}, ""},
		{"basic", cfg, []string{"Authorization: Basic bmV3OjAxMjM="}, ""},
		{"no scheme", cfg, []string{"Authorization: new-0123456789abcdef"}, ""},
		{"two keys", cfg, []string{"X-Api-Key: old-0123456789abcdef", "X-Api-Key: new-0123456789abcdef"}, ""},
		{"key or token", either, []string{"X-Api-Key: old-0123456789abcdef"}, "/old"},
		{"token or key", either, []string{token}, "ada/"},
		{"key as bearer, beside tokens", either, []string{"Authorization: Bearer old-0123456789abcdef"}, "/old"},
		{"key that looks like a token", either, []string{"Authorization: Bearer 0123456789abcdef.a.b"}, "/dotted"},
		{"a key that is API Gateway's affair", onlyTokens, []string{token, "X-Api-Key: of-a-usage-plan"}, "ada/"},
		{"such a key alone", onlyTokens, []string{"X-Api-Key: of-a-usage-plan"}, ""},
		{"both", either, []string{"X-Api-Key: old-0123456789abcdef", token}, ""},
	} {
		g := guard(t, tt.cfg, whoami)
		w := g.get("/", tt.headers...)
		if tt.want == "" {
			g.refused(w, http.StatusUnauthorized, "unauthenticated")
		} else if w.Body.String() != tt.want {
			t.Errorf("%s: %d %s", tt.name, w.Code, w.Body)
		}
		if none := len(tt.headers) == 0; none && w.Header().Get("WWW-Authenticate") != `Bearer realm="muster"` {
			t.Errorf("%s: challenge %q", tt.name, w.Header().Get("WWW-Authenticate"))
		}
		for _, key := range tt.cfg.Keys {
			if strings.Contains(fmt.Sprintf("%+v %s", g.callers.keys, g.log), key) {
				t.Errorf("%s: a key is kept or logged as it is", tt.name)
			}
		}
	}
}
