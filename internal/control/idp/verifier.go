package idp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/telemetry/loglimit"
)

// A Provider is an identity provider as it is registered.
type Provider struct {
	Name       string
	Issuer     string   // URL, exactly as in the claim iss
	Audiences  []string // accepted; none: every token is rejected
	Keys       string   // JWKS text; "": fetched from the issuer
	GroupClaim string   // name of the claim with the groups; "": none
}

// A Verifier verifies tokens and signs people in. It caches the keys of each issuer. It is safe for concurrent use.
type Verifier struct {
	clock  clockwork.Clock
	client *http.Client
	log    *slog.Logger
	lines  *loglimit.Limiter // unauthenticated clients cause lines

	mu      sync.Mutex
	issuers map[string]*issuer // by URL; only registered providers get here
}

// NewVerifier returns a verifier that sends its requests with client, whose transport and cookies it uses; nil is a
// client with the default transport.
func NewVerifier(clock clockwork.Clock, client *http.Client, log *slog.Logger) *Verifier {
	return &Verifier{
		clock: clock, client: limited(client), log: log, lines: loglimit.New(clock), issuers: map[string]*issuer{},
	}
}

// maxToken is the maximum length of a token. Source: STS API reference, WebIdentityToken.
const maxToken = 20000

// algorithms are those that sign accepted tokens: asymmetric, and every provider has one of them.
var algorithms = []string{oidc.RS256, oidc.ES256}

var errForm = invalid("it is not a JSON Web Token of three parts")

// Verify returns the claims of a token of p after all checks, with 60 s of leeway for its times. The error wraps one of
// the errors of this package.
func (v *Verifier) Verify(ctx context.Context, p Provider, token string) (*Claims, error) {
	if len(token) > maxToken {
		return nil, invalid("it is longer than %d characters", maxToken)
	}
	if strings.Count(token, ".") != 2 || strings.HasPrefix(token, "{") { // the JSON form has other signed parts
		return nil, errForm
	}
	keys := &tokenKeys{verifier: v, provider: &p}
	// All claims are checked here: the errors of package oidc have no types, and its rules for times differ.
	parsed, err := oidc.NewVerifier(p.Issuer, keys, &oidc.Config{
		SupportedSigningAlgs: algorithms, SkipClientIDCheck: true, SkipIssuerCheck: true, SkipExpiryCheck: true,
	}).Verify(ctx, token)
	switch {
	case keys.err != nil:
		return nil, keys.err
	case err != nil:
		return nil, invalid("it is malformed, or signed with another algorithm than RS256 and ES256")
	}
	var all map[string]any
	if err := parsed.Claims(&all); err != nil || all == nil {
		return nil, invalid("its claims are not a JSON object")
	}
	claims := claimsOf(all, p.GroupClaim)
	if err := claims.check(&p, v.clock.Now()); err != nil {
		return nil, err
	}
	return claims, nil
}

// IssuerOf returns the issuer that a token names, to find its provider. It verifies nothing; Verify does. The error
// wraps ErrInvalid.
func IssuerOf(token string) (string, error) {
	if len(token) > maxToken {
		return "", invalid("it is longer than %d characters", maxToken)
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", errForm
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", errForm
	}
	var all map[string]any // a struct would accept the name in any case
	if json.Unmarshal(payload, &all) != nil || text(all, "iss") == "" {
		return "", invalid("it names no issuer (claim iss)")
	}
	return text(all, "iss"), nil
}

// issuer returns the cache of an issuer.
func (v *Verifier) issuer(url string) *issuer {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.issuers[url]
	if i == nil {
		i = &issuer{url: url, fetching: make(chan struct{}, 1)}
		v.issuers[url] = i
	}
	return i
}
