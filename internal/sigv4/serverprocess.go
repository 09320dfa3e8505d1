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
	return v.verifyServerProcess(&q, 0, now)
}

// VerifyLocalServerProcess is VerifyServerProcess for the C# server SDK, which signs with
// local time that it calls UTC. ahead is how far the zone of that time is ahead of UTC, as
// far as one can tell: it is 0 for a time near now, and else the quarter of an hour that
// brings it near. So a signature is good for a few minutes at many moments of a day, and the
// caller of this method has to see that it is used once.
// Source: server SDK 5 for C#, which signs with DateTime.Now.
func (v *Verifier) VerifyLocalServerProcess(q ServerProcessQuery, now time.Time) (caller Caller, ahead time.Duration, err error) {
	var c claim
	if err := c.setDate(q.Date); err != nil {
		return Caller{}, 0, err
	}
	if distance := c.time.Sub(now); distance.Abs() > v.skew {
		ahead = min(max(distance.Round(quarter), -behindUTC), aheadOfUTC)
	}
	caller, err = v.verifyServerProcess(&q, ahead, now)
	return caller, ahead, err
}

const (
	// Zones differ from UTC by whole quarters of an hour, from UTC-12 to UTC+14.
	// Source: IANA time zone database, present offsets.
	quarter    = 15 * time.Minute
	behindUTC  = 12 * time.Hour
	aheadOfUTC = 14 * time.Hour
)

// LocalSignatureEnd is when no zone is left in which a signature of this date, as it was
// sent, would be near the present.
func LocalSignatureEnd(date string, skew time.Duration) time.Time {
	t, _ := time.Parse(stampLayout, date) // was parsed before
	return t.Add(behindUTC + skew)
}

// verifyServerProcess verifies a signature whose date is ahead of UTC by so much.
func (v *Verifier) verifyServerProcess(q *ServerProcessQuery, ahead time.Duration, now time.Time) (Caller, error) {
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
	c.time = c.time.Add(-ahead)
	if err := v.checkTime(&c, now); err != nil {
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
