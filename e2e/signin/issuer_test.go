package signin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The registration of the service at the issuer.
const (
	clientID     = "muster-client"
	clientSecret = "a-secret-of-the-client-at-its-provider"
)

// An issuer is an identity provider that signs whatever a test asks for: tokens of machines, invalid ones too. It signs
// people in who have a session there already, and keeps their ID tokens. See provider for a real one.
type issuer struct {
	*httptest.Server
	t   *testing.T
	key *ecdsa.PrivateKey

	mu     sync.Mutex
	person object                // claims of the person who signs in
	grants map[string]url.Values // codes with the query that they are for
	issued []string              // ID tokens
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{t: t, key: newKey(t), grants: map[string]url.Values{}}
	mux := http.NewServeMux()
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	answer := func(w http.ResponseWriter, body any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, object{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/auth",
			"token_endpoint": i.URL + "/token"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: "k", Algorithm: "ES256"}}})
	})
	mux.HandleFunc("GET /auth", i.authorize)
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		token := i.redeem(r)
		if token == "" {
			w.WriteHeader(http.StatusBadRequest)
			answer(w, object{"error": "invalid_grant"})
			return
		}
		answer(w, object{"access_token": "unused", "token_type": "Bearer", "id_token": token})
	})
	return i
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (i *issuer) url() string { return i.URL }

// name is the issuer as trust policies name it.
func (i *issuer) name() string { return strings.TrimPrefix(i.URL, "http://") }

// trust returns a trust policy for tokens of a subject.
func (i *issuer) trust(subject string) object {
	return object{"Version": "2012-10-17", "Statement": object{"Effect": "Allow",
		"Action": "sts:AssumeRoleWithWebIdentity", "Principal": object{"Federated": "arn:aws:iam::" + account +
			":oidc-provider/" + i.name()}, "Condition": object{"StringEquals": object{i.name() + ":sub": subject}}}}
}

// sign returns a token with changes of valid claims.
func (i *issuer) sign(changes object) string { return i.signBy(i.key, changes) }

func (i *issuer) signBy(key *ecdsa.PrivateKey, changes object) string {
	now := time.Now().Unix()
	claims := object{"iss": i.URL, "sub": "ada", "aud": "muster", "iat": now, "exp": now + 300}
	maps.Copy(claims, changes)
	body, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256,
		Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	if err != nil {
		panic(err)
	}
	signed, err := signer.Sign(body)
	if err != nil {
		panic(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return token
}

// become changes who signs in.
func (i *issuer) become(claims object) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.person = claims
}

// authorize signs the person in without a question.
func (i *issuer) authorize(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	q := r.URL.Query()
	code := rand.Text()
	i.grants[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// redeem returns the ID token for a code; "" if the request is wrong.
func (i *issuer) redeem(r *http.Request) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	q, ok := i.grants[r.FormValue("code")]
	delete(i.grants, r.FormValue("code"))
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	id, secret, _ := r.BasicAuth()
	if !ok || id != clientID || secret != clientSecret || q.Get("redirect_uri") != r.FormValue("redirect_uri") ||
		q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		return ""
	}
	claims := maps.Clone(i.person)
	claims["aud"], claims["nonce"] = clientID, q.Get("nonce")
	token := i.sign(claims)
	i.issued = append(i.issued, token)
	return token
}
