package sigv4

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/url"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// An S3Signature is the signature of a request to S3, which differs from that of other services: the path is encoded
// once and is not cleaned, the payload's hash is a header that is signed, and it may say that the payload is not signed
// or that its chunks are signed one by one. Times are for the caller to check.
//
// Source: Amazon S3 API reference, "Authenticating Requests (AWS Signature Version 4)".
type S3Signature struct {
	AccessKeyID  string
	SessionToken string // "" for a long-lived key
	Region       string // of the scope; may be ""
	Time         time.Time
	Presigned    bool
	Expires      time.Duration // presigned: validity of the request

	// Payload is what is signed as the hash of the payload: a SHA-256 in hex, or one of S3's constants.
	Payload string

	claim claim
	key   *signingKey // after Verify
}

// An S3Verifier verifies signatures of requests to S3. It is safe for concurrent use. The zero value is ready for use.
type S3Verifier struct{ verifier Verifier }

// ReadS3 returns the signature of r. Errors are of kind MissingAuthenticationToken, IncompleteSignature and
// InvalidSignature.
func ReadS3(r *listen.Request) (*S3Signature, error) {
	c, err := claimOf(r)
	if err != nil {
		return nil, err
	}
	if err := c.coversS3(r.Header); err != nil {
		return nil, err
	}
	switch {
	case c.scope.service != "s3":
		return nil, incomplete("Credential should be scoped to correct service: 's3'.")
	case c.scope.terminator != terminator:
		return nil, incomplete("Credential should be scoped with a valid terminator: '%s'.", terminator)
	case c.scope.date != c.date[:len(dateLayout)]:
		return nil, incomplete("Date in Credential scope must be the date of the signature, '%s'.",
			c.date[:len(dateLayout)])
	}
	payload, err := s3Payload(&c, r)
	if err != nil {
		return nil, err
	}
	c.unsigned = false // Payload has it
	return &S3Signature{AccessKeyID: c.accessKeyID, SessionToken: c.token, Region: c.scope.region, Time: c.time,
		Presigned: c.presigned, Expires: c.expires, Payload: payload, claim: c}, nil
}

// coversS3 rejects a signature that omits a header with an effect on the request.
func (c *claim) coversS3(h listen.Header) error {
	if err := c.covers(h); err != nil {
		return err
	}
	for i := range h {
		if name := strings.ToLower(h[i].Name); strings.HasPrefix(name, "x-amz-") && !c.signs(name) {
			return incomplete("The header %.64s must be signed.", name)
		}
	}
	return nil
}

// s3Payload returns the hash of the payload: that of the header, else of the query of a presigned request, else that it
// is not signed.
func s3Payload(c *claim, r *listen.Request) (string, error) {
	payload, err := single(r.Header.Lookup, "X-Amz-Content-Sha256")
	switch {
	case err != nil || payload != "":
		return payload, err
	case !c.presigned:
		return "", incomplete("The x-amz-content-sha256 header is required.")
	}
	query, err := url.ParseQuery(r.Query())
	if err != nil {
		return "", incomplete("The query of the request cannot be read.")
	}
	if payload = query.Get("X-Amz-Content-Sha256"); payload != "" {
		return payload, nil
	}
	return unsignedPayload, nil
}

// Verify reports whether r has the signature s by a secret. The error is of kind InvalidSignature or
// IncompleteSignature.
func (v *S3Verifier) Verify(r *listen.Request, s *S3Signature, secret string) (err error) {
	path, err := url.PathUnescape(r.SentPath())
	if err != nil {
		return incomplete("The path of the request cannot be read.")
	}
	buf := takeBuffer()
	defer buf.release()
	if buf.b, err = appendCanonicalRequest(buf.b, r, &s.claim, path, []byte(s.Payload)); err != nil {
		return err
	}
	if err := v.verifier.compare(&s.claim, secret, sha256.Sum256(buf.b), buf); err != nil {
		return err
	}
	s.key, _ = v.verifier.signingKeys.get(s.claim.accessKeyID, secret, &s.claim.scope)
	return nil
}

// A ChunkVerifier verifies the signatures of the chunks of a payload, each of which covers the one before.
type ChunkVerifier struct {
	claim    *claim
	key      *signingKey
	previous string
}

// Chunks returns the verifier of the chunks of a request that was verified.
func (s *S3Signature) Chunks() *ChunkVerifier {
	return &ChunkVerifier{&s.claim, s.key, s.claim.signature}
}

// Chunk verifies the signature of the next chunk, the last one included, whose data has the SHA-256 sum. The error is
// of kind InvalidSignature.
func (v *ChunkVerifier) Chunk(sum [sha256.Size]byte, signature string) error {
	empty := sha256.Sum256(nil)
	return v.next("-PAYLOAD", signature, hex.AppendEncode(append(hex.AppendEncode(nil, empty[:]), '\n'), sum[:]))
}

// Trailer verifies the signature of the trailer after the last chunk. sum is that of its lines "name:value\n", in lower
// case and sorted. The error is of kind InvalidSignature.
func (v *ChunkVerifier) Trailer(sum [sha256.Size]byte, signature string) error {
	return v.next("-TRAILER", signature, hex.AppendEncode(nil, sum[:]))
}

func (v *ChunkVerifier) next(kind, signature string, hashes []byte) error {
	scope := &v.claim.scope
	text := Algorithm + kind + "\n" + v.claim.date + "\n" +
		scope.date + "/" + scope.region + "/" + scope.service + "/" + terminator + "\n" + v.previous + "\n"
	want := v.key.appendSignature(nil, append([]byte(text), hashes...))
	if subtle.ConstantTimeCompare(want, []byte(signature)) != 1 {
		return fault.New(fault.InvalidSignature,
			"The signature of a chunk does not match: the body was changed after it was signed.")
	}
	v.previous = signature
	return nil
}
