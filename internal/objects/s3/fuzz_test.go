package s3_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/objects/objectstest"
	"github.com/muster-gg/muster/internal/objects/s3"
)

// FuzzRequest sends requests without signatures to an endpoint that needs none: no error is internal.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][4]string{
		{"PUT", "/builds/k", "X-Amz-Checksum-Crc32: AAAAAA==\nX-Amz-Meta-A: b", "data"},
		{"GET", "/builds?list-type=2&prefix=a&delimiter=/&max-keys=1&continuation-token=YQ&encoding-type=url", "", ""},
		{"PUT", "/builds/k", "X-Amz-Content-Sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER\n" +
			"X-Amz-Trailer: x-amz-checksum-crc32\nX-Amz-Decoded-Content-Length: 1", "1\r\na\r\n0\r\n\r\n"},
		{"PUT", "/builds/copy", "X-Amz-Copy-Source: /builds/present?versionId=null", ""},
		{"GET", "/builds/present", "Range: bytes=0-1\nIf-Match: \"x\"\nX-Amz-Checksum-Mode: ENABLED", ""},
		{"POST", "/builds?delete", "", "<Delete><Object><Key>k</Key></Object></Delete>"},
		{"POST", "/builds/k?uploads", "X-Amz-Checksum-Algorithm: CRC32\nX-Amz-Checksum-Type: FULL_OBJECT", ""},
		{"POST", "/builds/k?uploadId=00112233445566778899aabbccddeeff", "",
			"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	w := newWorld(f, func(c *s3.Config) { c.Anyone = objectstest.Key{} })
	w.do(newRequest(http.MethodPut, "/builds/present", []byte("present")))
	f.Fuzz(func(t *testing.T, method, target, headers, body string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") || strings.ContainsAny(method, " \r\n\t") {
			return
		}
		r := newRequest(http.MethodGet, "/", []byte(body))
		r.Method, r.URL, r.RequestURI = method, u, target
		for line := range strings.SplitSeq(headers, "\n") {
			name, value, _ := strings.Cut(line, ":")
			r.Header.Add(name, strings.TrimSpace(value))
		}
		if a := w.do(r); a.status >= 500 && a.status != http.StatusNotImplemented {
			t.Errorf("%s %s %q %q: %+v", method, target, headers, body, a)
		}
	})
}
