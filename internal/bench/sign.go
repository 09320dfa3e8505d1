package bench

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"time"

	"github.com/muster-gg/muster/internal/listen/sigv4"
)

const (
	contentType   = "application/x-amz-json-1.1"
	algorithm     = "AWS4-HMAC-SHA256"
	signedHeaders = "content-type;host;x-amz-date;x-amz-target"
	signedToken   = "content-type;host;x-amz-date;x-amz-security-token;x-amz-target"
	stampLayout   = "20060102T150405Z"
	dayLength     = len("20060102")
)

// A signer writes signed requests of AWS JSON 1.1. It derives its key once per day and formats the time once per
// second. It is not safe for concurrent use.
// Source: AWS Identity and Access Management user guide, "Signature Version 4 signing process".
type signer struct {
	credentials sigv4.ClientCredentials
	host        string

	second int64 // of stamp
	stamp  string
	scope  string // of the stamp's day
	mac    hash.Hash
	text   []byte // to be hashed and signed
	sum    [sha256.Size]byte
}

// at prepares for signatures of this time.
func (s *signer) at(now time.Time) {
	if now.Unix() == s.second && s.mac != nil {
		return
	}
	stamp := now.UTC().Format(stampLayout)
	if s.mac == nil || s.stamp[:dayLength] != stamp[:dayLength] {
		key := []byte("AWS4" + s.credentials.SecretKey)
		for _, part := range [...]string{stamp[:dayLength], s.credentials.Region, "gamelift", "aws4_request"} {
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(part))
			key = mac.Sum(nil)
		}
		s.mac = hmac.New(sha256.New, key)
		s.scope = stamp[:dayLength] + "/" + s.credentials.Region + "/gamelift/aws4_request"
	}
	s.second, s.stamp = now.Unix(), stamp
}

// appendRequest appends an HTTP request, signed now.
func (s *signer) appendRequest(dst []byte, now time.Time, operation string, body []byte) []byte {
	s.at(now)
	headers := signedHeaders
	if s.credentials.SessionToken != "" {
		headers = signedToken
	}
	dst = append(dst, "POST / HTTP/1.1\r\nHost: "...)
	dst = append(dst, s.host...)
	dst = append(dst, "\r\nUser-Agent: muster-bench\r\nContent-Type: "+contentType+"\r\nX-Amz-Date: "...)
	dst = append(dst, s.stamp...)
	dst = append(dst, "\r\nX-Amz-Target: GameLift."...)
	dst = append(dst, operation...)
	if s.credentials.SessionToken != "" {
		dst = append(dst, "\r\nX-Amz-Security-Token: "...)
		dst = append(dst, s.credentials.SessionToken...)
	}
	dst = append(dst, "\r\nAuthorization: "+algorithm+" Credential="...)
	dst = append(dst, s.credentials.AccessKey...)
	dst = append(dst, '/')
	dst = append(dst, s.scope...)
	dst = append(dst, ", SignedHeaders="...)
	dst = append(dst, headers...)
	dst = append(dst, ", Signature="...)
	dst = s.appendSignature(dst, headers, operation, body)
	dst = append(dst, "\r\nContent-Length: "...)
	dst = appendNumber(dst, len(body))
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}

// appendSignature appends the signature of a request, in hex.
func (s *signer) appendSignature(dst []byte, headers, operation string, body []byte) []byte {
	t := append(s.text[:0], "POST\n/\n\ncontent-type:"+contentType+"\nhost:"...)
	t = append(t, s.host...)
	t = append(t, "\nx-amz-date:"...)
	t = append(t, s.stamp...)
	if s.credentials.SessionToken != "" {
		t = append(t, "\nx-amz-security-token:"...)
		t = append(t, s.credentials.SessionToken...)
	}
	t = append(t, "\nx-amz-target:GameLift."...)
	t = append(t, operation...)
	t = append(t, "\n\n"...)
	t = append(t, headers...)
	t = append(t, '\n')
	sum := sha256.Sum256(body)
	s.text = hex.AppendEncode(t, sum[:])
	return s.appendSealed(dst)
}

// appendGet appends an HTTP request without a body, signed now. The query must be in canonical form.
func (s *signer) appendGet(dst []byte, now time.Time, path, query string) []byte {
	s.at(now)
	headers, token := "host;x-amz-date", ""
	if s.credentials.SessionToken != "" {
		headers, token = headers+";x-amz-security-token", s.credentials.SessionToken
	}
	t := append(s.text[:0], "GET\n"+path+"\n"+query+"\nhost:"+s.host+"\nx-amz-date:"+s.stamp...)
	if token != "" {
		t = append(t, "\nx-amz-security-token:"+token...)
	}
	t = append(t, "\n\n"+headers+"\n"...)
	sum := sha256.Sum256(nil)
	s.text = hex.AppendEncode(t, sum[:])
	dst = append(dst, "GET "+path+"?"+query+" HTTP/1.1\r\nHost: "+s.host+"\r\nUser-Agent: muster-bench\r\nX-Amz-Date: "+
		s.stamp...)
	if token != "" {
		dst = append(dst, "\r\nX-Amz-Security-Token: "+token...)
	}
	dst = append(dst, "\r\nAuthorization: "+algorithm+" Credential="+s.credentials.AccessKey+"/"+s.scope+
		", SignedHeaders="+headers+", Signature="...)
	return append(s.appendSealed(dst), "\r\n\r\n"...)
}

// appendSealed appends the signature of the canonical request in s.text, in hex.
func (s *signer) appendSealed(dst []byte) []byte {
	sum := sha256.Sum256(s.text)
	t := append(s.text[:0], algorithm+"\n"...)
	t = append(t, s.stamp...)
	t = append(t, '\n')
	t = append(t, s.scope...)
	t = append(t, '\n')
	t = hex.AppendEncode(t, sum[:])
	s.text = t
	s.mac.Reset()
	s.mac.Write(t)
	return hex.AppendEncode(dst, s.mac.Sum(s.sum[:0]))
}
