// Package sigv4 verifies AWS Signature Version 4: who signed a request, and
// that nothing signed was changed on the way.
//
// A request is signed either in its Authorization header or, presigned, in its
// query. Server processes sign their connection request in a form of their own
// (see [Verifier.VerifyServerProcess]).
//
// Verification is pure: keys and the present time come from the caller, nothing
// is logged, and every refusal is a *fault.Error with the kind that AWS answers
// with, which the official clients know how to treat.
//
// Source: AWS Identity and Access Management user guide, "Signature Version 4
// signing process".
package sigv4

import (
	"crypto/sha256"
	"crypto/subtle"
	"time"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/listen"
)

// Algorithm is the only signing algorithm understood.
const Algorithm = "AWS4-HMAC-SHA256"

const (
	// DefaultSkew is how far a signature's time may lie from the verifier's
	// clock, either way. Source: AWS, "Signature expired" errors.
	DefaultSkew = 5 * time.Minute

	// MaxExpires is the longest life of a presigned request.
	// Source: AWS, query parameter X-Amz-Expires.
	MaxExpires = 7 * 24 * time.Hour
)

// Keys finds the credential behind an access key id. Secret is called for
// every request, by many goroutines at once, and must not wait.
type Keys interface {
	Secret(accessKeyID string) (Credential, bool)
}

// A Credential is what the verifier knows of an access key.
type Credential struct {
	Secret       string    // the secret access key
	SessionToken string    // the token that must come along; "" for a long-lived key, which comes without
	Expires      time.Time // when the key ends; zero: never
	Principal    string    // whom the key speaks for
}

// ClientCredentials are what a client signs its requests with.
type ClientCredentials struct {
	AccessKey, SecretKey string
	SessionToken         string // of temporary credentials; "" for others
	Region               string
}

// A Caller is who signed a request.
type Caller struct {
	AccessKeyID string
	Principal   string
	Region      string // the region that the request was signed for; may be ""
}

// Config says how a Verifier verifies.
type Config struct {
	Keys    Keys
	Service string        // the service that signatures must name; "" is "gamelift"
	Skew    time.Duration // allowed distance of clocks; 0 is DefaultSkew

	// MaxExpires bounds the life of presigned requests, whatever they say; 0 is the
	// constant of this name.
	MaxExpires time.Duration
}

// A Verifier verifies signatures. It may be used by many goroutines at once.
type Verifier struct {
	keys        Keys
	service     string
	skew        time.Duration
	maxExpires  time.Duration
	signingKeys keyCache
}

// New makes a verifier.
func New(c Config) *Verifier {
	v := &Verifier{keys: c.Keys, service: c.Service, skew: c.Skew, maxExpires: c.MaxExpires}
	if v.service == "" {
		v.service = "gamelift"
	}
	if v.skew == 0 {
		v.skew = DefaultSkew
	}
	if v.maxExpires == 0 {
		v.maxExpires = MaxExpires
	}
	return v
}

// Verify says who signed r, whose body has the SHA-256 sum body. The request is
// taken as it was sent: target, Host and headers. The error is a *fault.Error of kind MissingAuthenticationToken,
// IncompleteSignature, InvalidSignature, UnrecognizedClient or ExpiredToken.
func (v *Verifier) Verify(r *listen.Request, body [sha256.Size]byte, now time.Time) (Caller, error) {
	claim, cred, err := v.claim(r, now)
	if err != nil {
		return Caller{}, err
	}
	payload, err := payloadHash(&claim, r.Header, body)
	if err != nil {
		return Caller{}, err
	}
	sent := r.SentPath()
	err = v.checkSignature(r, &claim, cred.Secret, sent, payload)
	if clean := cleanPath(sent); err != nil && clean != sent {
		err = v.checkSignature(r, &claim, cred.Secret, clean, payload)
	}
	if err != nil {
		return Caller{}, err
	}
	return Caller{AccessKeyID: claim.accessKeyID, Principal: cred.Principal, Region: claim.scope.region}, nil
}

// Check says what is wrong with the signature of r as far as the head alone tells: whether the access
// key exists, and the time is near. Errors are those of [Verifier.Verify].
func (v *Verifier) Check(r *listen.Request, now time.Time) error {
	_, _, err := v.claim(r, now)
	return err
}

// claim is what r says of its signature, with the credential of the key that it names.
func (v *Verifier) claim(r *listen.Request, now time.Time) (claim, Credential, error) {
	c, err := claimOf(r)
	if err != nil {
		return c, Credential{}, err
	}
	if err := c.covers(r.Header); err != nil {
		return c, Credential{}, err
	}
	cred, err := v.credential(&c, now)
	if err != nil {
		return c, cred, err
	}
	return c, cred, v.checkTime(&c, now)
}

// checkSignature checks the signature over r with this path.
func (v *Verifier) checkSignature(r *listen.Request, c *claim, secret, path string, payload [2 * sha256.Size]byte) (err error) {
	buf := takeBuffer()
	defer buf.release()
	if buf.b, err = appendCanonicalRequest(buf.b, r, c, path, payload); err != nil {
		return err
	}
	return v.compare(c, secret, sha256.Sum256(buf.b), buf)
}

// credential finds the claimed key and checks the scope, the session token and
// the key's end.
func (v *Verifier) credential(c *claim, now time.Time) (Credential, error) {
	cred, ok := v.keys.Secret(c.accessKeyID)
	if !ok || subtle.ConstantTimeCompare([]byte(cred.SessionToken), []byte(c.token)) != 1 {
		return Credential{}, fault.New(fault.UnrecognizedClient, "The security token included in the request is invalid.")
	}
	if !cred.Expires.IsZero() && !now.Before(cred.Expires) {
		return Credential{}, fault.New(fault.ExpiredToken, "The security token included in the request is expired.")
	}
	if c.scope.service != v.service {
		return Credential{}, fault.New(fault.InvalidSignature, "Credential should be scoped to correct service: '%s'.", v.service)
	}
	if c.scope.terminator != terminator {
		return Credential{}, fault.New(fault.InvalidSignature, "Credential should be scoped with a valid terminator: '%s'.", terminator)
	}
	return cred, nil
}

// checkTime refuses a signature that is too old, or from the future.
func (v *Verifier) checkTime(c *claim, now time.Time) error {
	if c.scope.date != c.date[:len(dateLayout)] {
		return fault.New(fault.InvalidSignature, "Date in Credential scope is not the date of the signature: it must be '%s'.", c.date[:len(dateLayout)])
	}
	window := v.skew
	if c.presigned {
		window = min(c.expires, v.maxExpires)
	}
	if earliest := now.Add(-window); c.time.Before(earliest) {
		return fault.New(fault.InvalidSignature, "Signature expired: %s is now earlier than %s (%s - %d min.)",
			c.date, stamp(earliest), stamp(now), int(window/time.Minute))
	}
	if latest := now.Add(v.skew); c.time.After(latest) {
		return fault.New(fault.InvalidSignature, "Signature not yet current: %s is still later than %s (%s + %d min.)",
			c.date, stamp(latest), stamp(now), int(v.skew/time.Minute))
	}
	return nil
}

// compare signs as the claimed key would have and compares in constant time.
// sum is the SHA-256 of what was signed; buf is free for use.
func (v *Verifier) compare(c *claim, secret string, sum [sha256.Size]byte, buf *buffer) error {
	key, cached := v.signingKeys.get(c.accessKeyID, secret, &c.scope)
	buf.b = appendStringToSign(buf.b[:0], c, sum)
	buf.b = key.appendSignature(buf.b[:0], buf.b)
	if subtle.ConstantTimeCompare(buf.b, []byte(c.signature)) != 1 {
		return fault.New(fault.InvalidSignature, "The request signature we calculated does not match the signature you provided. "+
			"Check your AWS Secret Access Key and signing method, and that no proxy changes the Host header or the path.")
	}
	if !cached {
		v.signingKeys.put(c.accessKeyID, &c.scope, key)
	}
	return nil
}
