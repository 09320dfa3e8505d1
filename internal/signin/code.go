package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/journal"
)

// codeLife is how long an authorization code is valid.
const codeLife = 60 * time.Second

// codePrefix is for scanners of secrets.
const codePrefix = "mug_"

// errSpent reports a code that cannot be redeemed. The reason is not told.
var errSpent = errors.New("the authorization code is spent or does not match")

const spentMessage = "The authorization code is unknown, spent, expired, or was issued for another client, " +
	"redirect URI or verifier."

// An authorization is what a person allowed a client. It is stored under the hash of its code.
type authorization struct {
	Kind      string    `json:"kind"`
	Client    []byte    `json:"client"` // SHA-256 of its id
	Redirect  string    `json:"redirect"`
	Challenge string    `json:"challenge"`
	User      string    `json:"user"`
	UserID    string    `json:"userId"`
	Role      string    `json:"role,omitempty"` // of kind login
	Issued    time.Time `json:"issued"`
}

// random returns 256 random bits as text.
func random() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func sum(s string) []byte {
	digest := sha256.Sum256([]byte(s))
	return digest[:]
}

func codeKey(code string) string { return "code." + hex.EncodeToString(sum(code)) }

// issueCode stores an authorization and returns its code.
func (h *Handler) issueCode(ctx context.Context, a authorization) (string, error) {
	a.Issued = h.Clock.Now()
	value, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	code := codePrefix + random()
	_, err = h.Codes.Create(ctx, codeKey(code), value)
	return code, err
}

// redeemCode returns the authorization of a code, once: to the caller that deletes it. A code that was sent with wrong
// parameters is spent too. The error is errSpent, or one of the bucket.
func (h *Handler) redeemCode(ctx context.Context, kind string, in *tokenRequest) (*authorization, error) {
	key := codeKey(in.Code)
	value, revision, err := h.Codes.Get(ctx, key)
	if errors.Is(err, journal.ErrNoValue) {
		return nil, errSpent
	}
	if err != nil {
		return nil, err
	}
	a := new(authorization)
	if err := json.Unmarshal(value, a); err != nil {
		return nil, err
	}
	err = h.Codes.Delete(ctx, key, revision)
	switch {
	case errors.Is(err, journal.ErrChanged), errors.Is(err, journal.ErrNoValue):
		return nil, errSpent // redeemed meanwhile
	case err != nil:
		return nil, err
	case a.Kind != kind, a.Redirect != in.RedirectURI, !h.Clock.Now().Before(a.Issued.Add(codeLife + leeway)),
		subtle.ConstantTimeCompare(a.Client, sum(in.ClientID)) != 1, !verifies(in.CodeVerifier, a.Challenge):
		return nil, errSpent
	}
	return a, nil
}

// verifies checks a PKCE verifier. Source: RFC 7636, sections 4.1 and 4.6.
func verifies(verifier, challenge string) bool {
	if len(verifier) < 43 || len(verifier) > 128 {
		return false
	}
	want := base64.RawURLEncoding.EncodeToString(sum(verifier))
	return subtle.ConstantTimeCompare([]byte(want), []byte(challenge)) == 1
}

// validChallenge reports whether a challenge is a SHA-256 in base64url without padding.
func validChallenge(s string) bool {
	b, err := base64.RawURLEncoding.DecodeString(s)
	return err == nil && len(b) == sha256.Size && !strings.ContainsAny(s, "\r\n")
}

// withQuery adds parameters to a URL that has none.
func withQuery(to string, params url.Values) string { return to + "?" + params.Encode() }
