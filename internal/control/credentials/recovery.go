package credentials

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// recoveryTime is how long a proof of the region's secret is valid.
const recoveryTime = time.Minute

// Proof proves at a time that the caller can read the region's secret: "<unix time>.<nonce>.<MAC>".
func (s *Secrets) Proof(now time.Time) string {
	nonce := make([]byte, 16)
	rand.Read(nonce)
	return s.prove(strconv.FormatInt(now.Unix(), 10), hex.EncodeToString(nonce))
}

func (s *Secrets) prove(at, nonce string) string {
	return at + "." + nonce + "." + hex.EncodeToString(mac(s.recovery, at, nonce))
}

// CheckProof checks a proof and returns its nonce, which the caller accepts once within the time of a proof.
func (s *Secrets) CheckProof(proof string, now time.Time) (nonce string, err error) {
	at, rest, _ := strings.Cut(proof, ".")
	nonce, _, _ = strings.Cut(rest, ".")
	unix, err := strconv.ParseInt(at, 10, 64)
	if err != nil || len(proof) > 200 || !hmac.Equal([]byte(proof), []byte(s.prove(at, nonce))) {
		return "", errors.New("the proof was not made with this region's secret")
	}
	if now.Sub(time.Unix(unix, 0)).Abs() > recoveryTime {
		return "", errors.New("the proof is expired, or the clocks differ")
	}
	return nonce, nil
}
