package sigv4

import (
	"crypto/sha256"
	"time"
)

// A ServerProcessQuery is the signature in the connection request of a server process, all values decoded. It covers
// only the three ids and can be replayed while its time is valid, so such a query must never be logged. Source: server
// SDK 5, AWS SigV4 utility.
type ServerProcessQuery struct {
	ComputeID, FleetID, ProcessID string // ComputeId, FleetId and pID

	Algorithm     string // X-Amz-Algorithm
	Credential    string // X-Amz-Credential
	Date          string // X-Amz-Date
	SecurityToken string // X-Amz-Security-Token; not signed
	Signature     string // X-Amz-Signature
}

// VerifyServerProcess returns the signer of a server process's connection request. It does not check whether the signer
// may act for the fleet and compute. Errors are those of [Verifier.Verify].
func (v *Verifier) VerifyServerProcess(q ServerProcessQuery, now time.Time) (Caller, error) {
	return v.verifyServerProcess(&q, 0, now)
}

// VerifyLocalServerProcess is VerifyServerProcess for the C# server SDK, which signs with local time marked as UTC.
// ahead is the probable offset of that time from UTC: 0 for a time near now, else the multiple of a quarter of an hour
// that brings it near. So a signature is valid for a few minutes at many times of a day, and the caller must ensure
// that it is used once.
// Source: server SDK 5 for C#, which signs with DateTime.Now.
func (v *Verifier) VerifyLocalServerProcess(
	q ServerProcessQuery, now time.Time,
) (caller Caller, ahead time.Duration, err error) {
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
	// Zones differ from UTC by whole quarters of an hour, from UTC-12 to UTC+14. Source: IANA time zone database,
	// present offsets.
	quarter    = 15 * time.Minute
	behindUTC  = 12 * time.Hour
	aheadOfUTC = 14 * time.Hour
)

// LocalSignatureEnd returns when a signature with this date, as sent, is expired in every zone.
func LocalSignatureEnd(date string, skew time.Duration) time.Time {
	t, _ := time.Parse(stampLayout, date) // parsed before
	return t.Add(behindUTC + skew)
}

// verifyServerProcess verifies a signature whose date is ahead of UTC.
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
	return callerOf(&c, &cred), nil
}

// appendCanonical appends the three ids as signed.
func (q *ServerProcessQuery) appendCanonical(dst []byte) []byte {
	dst = appendEscaped(append(dst, "ComputeId="...), q.ComputeID, false)
	dst = appendEscaped(append(dst, "&FleetId="...), q.FleetID, false)
	return appendEscaped(append(dst, "&pID="...), q.ProcessID, false)
}
