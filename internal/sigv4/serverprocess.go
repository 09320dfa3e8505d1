package sigv4

import (
	"crypto/sha256"
	"time"
)

// A ServerProcessQuery is the signature in the connection request of a server
// process, all values decoded. Only the three ids are signed: the signature can
// be used again, by anyone who saw it, as long as its time is near, so such a
// query must never be logged.
// Source: server SDK 5, AWS SigV4 utility.
type ServerProcessQuery struct {
	ComputeID, FleetID, ProcessID string // ComputeId, FleetId and pID

	Algorithm     string // X-Amz-Algorithm
	Credential    string // X-Amz-Credential
	Date          string // X-Amz-Date
	SecurityToken string // X-Amz-Security-Token; not signed
	Signature     string // X-Amz-Signature
}

// VerifyServerProcess says who signed the connection request of a server
// process. Whether the caller may act for that fleet and compute is for the
// caller of this method to decide. Errors are those of [Verifier.Verify].
func (v *Verifier) VerifyServerProcess(q ServerProcessQuery, now time.Time) (Caller, error) {
	if q.Algorithm != Algorithm {
		return Caller{}, incomplete("X-Amz-Algorithm must be '%s'.", Algorithm)
	}
	if q.Signature == "" {
		return Caller{}, incomplete("The request carries no signature.")
	}
	c := claim{signature: q.Signature, token: q.SecurityToken}
	if err := c.setCredential(q.Credential); err != nil {
		return Caller{}, err
	}
	if err := c.setDate(q.Date); err != nil {
		return Caller{}, err
	}
	cred, err := v.credential(&c, now)
	if err != nil {
		return Caller{}, err
	}
	if err := v.checkTime(&c, v.serverProcessSkew, now); err != nil {
		return Caller{}, err
	}
	buf := takeBuffer()
	defer buf.release()
	buf.b = q.appendCanonical(buf.b)
	if err := v.compare(&c, cred.Secret, sha256.Sum256(buf.b), buf); err != nil {
		return Caller{}, err
	}
	return Caller{AccessKeyID: c.accessKeyID, Principal: cred.Principal, Region: c.scope.region}, nil
}

// appendCanonical appends the three ids as they are signed.
func (q *ServerProcessQuery) appendCanonical(dst []byte) []byte {
	dst = appendEscaped(append(dst, "ComputeId="...), q.ComputeID, false)
	dst = appendEscaped(append(dst, "&FleetId="...), q.FleetID, false)
	return appendEscaped(append(dst, "&pID="...), q.ProcessID, false)
}
