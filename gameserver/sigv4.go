package gameserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"time"
)

const signatureAlgorithm = "AWS4-HMAC-SHA256"

// sign adds a signature to the query of a connection. Unlike in other AWS requests, only the three ids are signed, and
// nothing of HTTP.
// Source: server SDK 5, security/sigv4.
func sign(q url.Values, p ServerParameters, now time.Time) {
	date := now.UTC().Format("20060102T150405Z")
	scope := date[:8] + "/" + p.Region + "/gamelift/aws4_request"
	canonical := "ComputeId=" + escape(p.HostID) + "&FleetId=" + escape(p.FleetID) + "&pID=" + escape(p.ProcessID)
	hash := sha256.Sum256([]byte(canonical))
	toSign := strings.Join([]string{signatureAlgorithm, date, scope, hex.EncodeToString(hash[:])}, "\n")

	key := []byte("AWS4" + p.SecretKey)
	for _, part := range []string{date[:8], p.Region, "gamelift", "aws4_request", toSign} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}

	q.Set("Authorization", "SigV4")
	q.Set("X-Amz-Algorithm", signatureAlgorithm)
	q.Set("X-Amz-Credential", p.AccessKey+"/"+scope)
	q.Set("X-Amz-Date", date)
	q.Set("X-Amz-Signature", hex.EncodeToString(key))
	if p.SessionToken != "" {
		q.Set("X-Amz-Security-Token", p.SessionToken)
	}
}

// escape percent-encodes all but letters, digits and "-_.~".
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
