package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/jonboulle/clockwork"
)

// DefaultSkew is the default tolerance for the issuer's clock.
const DefaultSkew = time.Minute

// maxToken limits the length of a token, in bytes.
const maxToken = 16 << 10

// algorithms are those with a public key. With the symmetric ones and "none", anyone who can verify a token could
// create one.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384,
	jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Tokens configures bearer tokens, which are JSON Web Tokens. Every token needs exp and sub.
type Tokens struct {
	// Issuer is the required value of iss. Required.
	Issuer string
	// KeysURL is the URL of the issuer's keys (JWKS); "" discovers it with the first token (OpenID Connect Discovery).
	KeysURL string
	// Audience must be in aud; "" for any.
	Audience string
	// Scope must be in scope, or the answer has status 403; "" for any.
	Scope string
	// Skew is the tolerance for clocks; 0 is DefaultSkew.
	Skew time.Duration
	// HTTP is for requests to the issuer; nil is a client of the guard.
	HTTP *http.Client
}

// validate reports every invalid field.
func (t *Tokens) validate() error {
	var errs []error
	if t.Issuer == "" {
		errs = append(errs, errors.New("Tokens.Issuer is missing: set the issuer of the tokens"))
	}
	if t.KeysURL == "" && t.Issuer != "" && !webURL(t.Issuer) {
		errs = append(errs, fmt.Errorf("Tokens.Issuer %q is no URL for the discovery of its keys: set "+
			"Tokens.KeysURL", t.Issuer))
	}
	if t.KeysURL != "" && !webURL(t.KeysURL) {
		errs = append(errs, fmt.Errorf("Tokens.KeysURL %q is no URL with http or https", t.KeysURL))
	}
	if t.Skew < 0 {
		errs = append(errs, errors.New("Tokens.Skew must not be negative"))
	}
	return errors.Join(errs...)
}

func webURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

type verifier struct {
	want  Tokens
	keys  *keySet
	clock clockwork.Clock
}

func newVerifier(t *Tokens, clock clockwork.Clock, log *slog.Logger) *verifier {
	want := *t
	want.Skew = cmp.Or(want.Skew, DefaultSkew)
	return &verifier{want: want, keys: newKeySet(&want, clock, log), clock: clock}
}

// The reasons to reject a token.
var (
	errToken = errors.New("the token is not valid")
	errScope = errors.New("the token does not have the scope")
)

type claims struct {
	jwt.Claims

	Scope string `json:"scope"`
}

// verify returns the subject of a token. The error is errNoKeys without keys to verify it with, errScope, or errToken
// with the reason.
func (v *verifier) verify(ctx context.Context, token string) (subject string, err error) {
	if len(token) > maxToken {
		return "", fmt.Errorf("%w: it is longer than %d bytes", errToken, maxToken)
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errToken, err)
	}
	if len(parsed.Headers) != 1 {
		return "", fmt.Errorf("%w: it has %d signatures", errToken, len(parsed.Headers))
	}
	c, err := v.open(ctx, parsed)
	if err != nil {
		return "", err
	}
	if err := v.check(c); err != nil {
		return "", fmt.Errorf("%w: %w", errToken, err)
	}
	if v.want.Scope != "" && !slices.Contains(strings.Fields(c.Scope), v.want.Scope) {
		return "", errScope
	}
	return c.Subject, nil
}

// open verifies the signature with the keys of the token's key id and algorithm.
func (v *verifier) open(ctx context.Context, token *jwt.JSONWebToken) (*claims, error) {
	head := token.Headers[0]
	keys, err := v.keys.find(ctx, head.KeyID)
	if err != nil {
		return nil, err
	}
	err = errors.New("no key has its key id")
	for i := range keys {
		if a := keys[i].Algorithm; a != "" && a != head.Algorithm {
			continue
		}
		c := &claims{}
		if err = token.Claims(keys[i].Key, c); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%w: %w", errToken, err)
}

// check checks the claims of a token with a valid signature.
func (v *verifier) check(c *claims) error {
	switch {
	case c.Expiry == nil:
		return errors.New("it has no exp")
	case c.Subject == "":
		return errors.New("it has no sub")
	}
	expected := jwt.Expected{Issuer: v.want.Issuer, Time: v.clock.Now()}
	if v.want.Audience != "" {
		expected.AnyAudience = jwt.Audience{v.want.Audience}
	}
	return c.ValidateWithLeeway(expected, v.want.Skew)
}
