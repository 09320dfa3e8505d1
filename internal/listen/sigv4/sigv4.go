// Package sigv4 verifies AWS Signature Version 4: the signer of a request, and that signed parts are unchanged.
//
// The signature is in the Authorization header or, presigned, in the query. Server processes sign their connection
// request in a different form (see [Verifier.VerifyServerProcess]).
//
// Verification is pure: the caller passes keys and the time, nothing is logged, and every rejection is a *fault.Error
// with the kind that AWS returns, which the official clients handle.
//
// Source: AWS Identity and Access Management user guide, "Signature Version 4 signing process".
package sigv4

import (
	"crypto/sha256"
	"crypto/subtle"
	"time"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Algorithm is the only supported signing algorithm.
const Algorithm = "AWS4-HMAC-SHA256"

const (
	// DefaultSkew is the maximum difference between a signature's time and the verifier's clock. Source: AWS,
	// "Signature expired" errors.
	DefaultSkew = 5 * time.Minute

	// MaxExpires is the maximum validity of a presigned request. Source: AWS, query parameter X-Amz-Expires.
	MaxExpires = 7 * 24 * time.Hour
)

// Keys finds the credential of an access key id and a session token, which is "" for a long-lived key. Secret is called
// for every request, concurrently, and must not block.
type Keys interface {
	Secret(accessKeyID, sessionToken string) (Credential, bool)
}

// A Credential belongs to an access key.
type Credential struct {
	Secret       string    // the secret access key
	SessionToken string    // required token; "" for a long-lived key
	Expires      time.Time // zero: never
	Principal    string    // whom the key authenticates
	Identity     any       // the same, as the source of keys describes it; may be nil
}

// ClientCredentials are used by a client to sign requests.
type ClientCredentials struct {
	AccessKey, SecretKey string
	SessionToken         string // of temporary credentials; "" for others
	Region               string
}

// A Caller is the signer of a request.
type Caller struct {
	AccessKeyID string
	Principal   string
	Region      string // for which the request was signed; may be ""
	Identity    any    // Credential.Identity; nil for a caller without a valid signature
}

// Config configures a Verifier.
type Config struct {
	Keys    Keys
	Service string        // required in signatures; "": "gamelift"
	Skew    time.Duration // maximum difference of clocks; 0: DefaultSkew

	// Open accepts requests without a valid signature, except those of web pages.
	Open bool

	// MaxExpires limits the validity of presigned requests; 0: the constant MaxExpires.
	MaxExpires time.Duration
}

// A Verifier verifies signatures. It is safe for concurrent use.
type Verifier struct {
	keys        Keys
	service     string
	skew        time.Duration
	maxExpires  time.Duration
	open        bool
	signingKeys keyCache
}

// New returns a verifier.
func New(c Config) *Verifier {
	v := &Verifier{keys: c.Keys, service: c.Service, skew: c.Skew, maxExpires: c.MaxExpires, open: c.Open}
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

// Verify returns the signer of r, whose body has the SHA-256 sum body. r has target, Host and headers as they were
// sent. The error is a *fault.Error of kind MissingAuthenticationToken, IncompleteSignature, InvalidSignature,
// UnrecognizedClient or ExpiredToken.
func (v *Verifier) Verify(r *listen.Request, body [sha256.Size]byte, now time.Time) (Caller, error) {
	if !v.open {
		return v.verify(r, body, now)
	}
	if err := notFromWebPage(r); err != nil {
		return Caller{}, err
	}
	if caller, err := v.verify(r, body, now); err == nil {
		return caller, nil
	}
	return Caller{Principal: "anyone"}, nil // without a key id, which could be that of another caller
}

func (v *Verifier) verify(r *listen.Request, body [sha256.Size]byte, now time.Time) (Caller, error) {
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
	return callerOf(&claim, &cred), nil
}

// callerOf returns the caller of a verified claim.
func callerOf(c *claim, cred *Credential) Caller {
	return Caller{
		AccessKeyID: c.accessKeyID, Principal: cred.Principal, Region: c.scope.region, Identity: cred.Identity,
	}
}

// KeyID returns the access key id that r names; "" if its signature cannot be read. It verifies nothing.
func KeyID(r *listen.Request) string {
	c, err := claimOf(r)
	if err != nil {
		return ""
	}
	return c.accessKeyID
}

// Check checks the signature of r as far as its head allows: whether the access key exists, and the time is valid.
// Errors are those of [Verifier.Verify].
func (v *Verifier) Check(r *listen.Request, now time.Time) error {
	if v.open {
		return notFromWebPage(r)
	}
	_, _, err := v.claim(r, now)
	return err
}

// Caller returns the signer of a request that Verify has accepted, as its key is now, whatever the signature's time. It
// fails if the key has been revoked or has expired since; errors are those of [Verifier.Verify].
func (v *Verifier) Caller(r *listen.Request, now time.Time) (Caller, error) {
	c, err := claimOf(r)
	if err != nil {
		return Caller{}, err
	}
	cred, err := v.credential(&c, now)
	if err != nil {
		return Caller{}, err
	}
	return callerOf(&c, &cred), nil
}

// notFromWebPage rejects requests of web pages, to which browsers add an Origin header. They must not reach a service
// without authentication.
func notFromWebPage(r *listen.Request) error {
	if _, times := r.Header.Lookup("Origin"); times > 0 {
		return fault.New(fault.AccessDenied, "Web pages may not call this service: the request has an Origin header.")
	}
	return nil
}

// claim returns the claim of r, with the credential of its key.
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

// checkSignature checks the signature of r with this path.
func (v *Verifier) checkSignature(
	r *listen.Request, c *claim, secret, path string, payload [2 * sha256.Size]byte,
) (err error) {
	buf := takeBuffer()
	defer buf.release()
	if buf.b, err = appendCanonicalRequest(buf.b, r, c, path, payload[:]); err != nil {
		return err
	}
	return v.compare(c, secret, sha256.Sum256(buf.b), buf)
}

// credential finds the claimed key and checks the scope, the session token and the expiry.
func (v *Verifier) credential(c *claim, now time.Time) (Credential, error) {
	cred, ok := v.keys.Secret(c.accessKeyID, c.token)
	if !ok || subtle.ConstantTimeCompare([]byte(cred.SessionToken), []byte(c.token)) != 1 {
		return Credential{}, fault.New(fault.UnrecognizedClient,
			"The security token included in the request is invalid.")
	}
	if !cred.Expires.IsZero() && !now.Before(cred.Expires) {
		return Credential{}, fault.New(fault.ExpiredToken, "The security token included in the request is expired.")
	}
	if c.scope.service != v.service {
		return Credential{}, fault.New(fault.InvalidSignature,
			"Credential should be scoped to correct service: '%s'.", v.service)
	}
	if c.scope.terminator != terminator {
		return Credential{}, fault.New(fault.InvalidSignature,
			"Credential should be scoped with a valid terminator: '%s'.", terminator)
	}
	return cred, nil
}

// checkTime rejects a signature that is too old, or from the future.
func (v *Verifier) checkTime(c *claim, now time.Time) error {
	if c.scope.date != c.date[:len(dateLayout)] {
		return fault.New(fault.InvalidSignature,
			"Date in Credential scope is not the date of the signature: it must be '%s'.", c.date[:len(dateLayout)])
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

// compare signs with the claimed key and compares in constant time. sum is the SHA-256 of the signed text; buf is free
// for use.
func (v *Verifier) compare(c *claim, secret string, sum [sha256.Size]byte, buf *buffer) error {
	key, cached := v.signingKeys.get(c.accessKeyID, secret, &c.scope)
	buf.b = appendStringToSign(buf.b[:0], c, sum)
	buf.b = key.appendSignature(buf.b[:0], buf.b)
	if subtle.ConstantTimeCompare(buf.b, []byte(c.signature)) != 1 {
		return fault.New(fault.InvalidSignature,
			"The request signature we calculated does not match the signature you provided. Check your AWS Secret "+
				"Access Key and signing method, and that no proxy changes the Host header or the path.")
	}
	if !cached {
		v.signingKeys.put(c.accessKeyID, &c.scope, key)
	}
	return nil
}
