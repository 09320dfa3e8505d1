package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const unsignedPayload = "UNSIGNED-PAYLOAD"

// payloadHash returns the body's part of the canonical request: its sum in hex or, if a presigned request says so,
// UNSIGNED-PAYLOAD. A different X-Amz-Content-Sha256 header is rejected.
func payloadHash(c *claim, h listen.Header, body [sha256.Size]byte) (hash [2 * sha256.Size]byte, err error) {
	hex.Encode(hash[:], body[:])
	said, err := single(h.Lookup, "X-Amz-Content-Sha256")
	if err != nil {
		return hash, err
	}
	if said == unsignedPayload && c.presigned {
		c.unsigned = true
		return hash, nil
	}
	if said != "" && said != string(hash[:]) {
		return hash, fault.New(fault.InvalidSignature,
			"The x-amz-content-sha256 header is not the SHA-256 of the body that was received.")
	}
	return hash, nil
}

func appendCanonicalRequest(
	dst []byte, r *listen.Request, c *claim, uri string, payload []byte,
) ([]byte, error) {
	dst = append(dst, r.Method...)
	dst = append(dst, '\n')
	dst = appendEscaped(dst, uri, true)
	dst = append(dst, '\n')
	dst, err := appendCanonicalQuery(dst, r.Query(), c.presigned)
	if err != nil {
		return dst, err
	}
	dst = append(dst, '\n')
	for name := range strings.SplitSeq(c.signedHeaders, ";") {
		if dst, err = appendCanonicalHeader(dst, r, name); err != nil {
			return dst, err
		}
	}
	dst = append(dst, '\n')
	dst = append(dst, c.signedHeaders...)
	dst = append(dst, '\n')
	if c.unsigned {
		return append(dst, unsignedPayload...), nil
	}
	return append(dst, payload...), nil
}

// cleanPath returns the path without empty, "." and ".." segments. Python and JavaScript clients sign this form, Go
// clients the original one; they differ only for endpoints with such segments.
func cleanPath(sent string) string {
	clean := path.Clean(sent)
	if strings.HasSuffix(sent, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}

// appendCanonicalHeader appends "name:value,value\n" with trimmed values.
func appendCanonicalHeader(dst []byte, r *listen.Request, name string) ([]byte, error) {
	dst = append(append(dst, name...), ':')
	if name == "host" {
		return append(appendTrimmed(dst, r.Host), '\n'), nil
	}
	found := false
	for i := range r.Header {
		if !r.Header[i].Is(name) {
			continue
		}
		if found {
			dst = append(dst, ',')
		}
		dst = appendTrimmed(dst, r.Header[i].Value)
		found = true
	}
	switch {
	case found:
	case name == "content-length" && r.ContentLength >= 0:
		dst = strconv.AppendInt(dst, r.ContentLength, 10)
	default:
		return dst, fault.New(fault.InvalidSignature,
			"The header %.64q is signed but did not arrive: a proxy may have removed it.", name)
	}
	return append(dst, '\n'), nil
}

// appendTrimmed appends s without leading, trailing and repeated spaces.
func appendTrimmed(dst []byte, s string) []byte {
	s = strings.Trim(s, " \t")
	for {
		i := strings.Index(s, "  ")
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i+1]...)
		s = strings.TrimLeft(s[i:], " ")
	}
}

// appendCanonicalQuery appends the parameters, decoded and encoded again, in the order of their encoded names and
// values.
func appendCanonicalQuery(dst []byte, raw string, presigned bool) ([]byte, error) {
	if raw == "" {
		return dst, nil
	}
	type pair struct{ name, value string }
	var pairs []pair
	for part := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(part, "=")
		if part == "" || presigned && name == "X-Amz-Signature" {
			continue
		}
		var err error
		if name, err = reescape(name); err == nil {
			value, err = reescape(value)
		}
		if err != nil {
			return dst, incomplete("The query of the request cannot be read.")
		}
		pairs = append(pairs, pair{name, value})
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.value, b.value)
	})
	for i, p := range pairs {
		if i > 0 {
			dst = append(dst, '&')
		}
		dst = append(dst, p.name...)
		dst = append(dst, '=')
		dst = append(dst, p.value...)
	}
	return dst, nil
}

func reescape(s string) (string, error) {
	s, err := url.QueryUnescape(s)
	return string(appendEscaped(nil, s, false)), err
}

// appendEscaped appends s with every byte except A–Z, a–z, 0–9, '-', '_', '.' and '~' (and '/' in a path)
// percent-encoded. A path, which is received encoded, is encoded a second time, as by all services except S3.
func appendEscaped(dst []byte, s string, keepSlash bool) []byte {
	const upper = "0123456789ABCDEF"
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '-', c == '_', c == '.', c == '~', c == '/' && keepSlash:
			dst = append(dst, c)
		default:
			dst = append(dst, '%', upper[c>>4], upper[c&15])
		}
	}
	return dst
}

func appendStringToSign(dst []byte, c *claim, sum [sha256.Size]byte) []byte {
	dst = append(dst, Algorithm+"\n"...)
	dst = append(dst, c.date...)
	dst = append(dst, '\n')
	for _, s := range [...]string{c.scope.date, c.scope.region, c.scope.service} {
		dst = append(dst, s...)
		dst = append(dst, '/')
	}
	dst = append(dst, terminator+"\n"...)
	return hex.AppendEncode(dst, sum[:])
}

// A buffer holds a canonical request while it is hashed.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, 2048)} }}

func takeBuffer() *buffer { return buffers.Get().(*buffer) }

// release returns the buffer to the pool, unless it has grown large.
func (b *buffer) release() {
	if cap(b.b) <= 64<<10 {
		b.b = b.b[:0]
		buffers.Put(b)
	}
}
