package s3_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/objects"
	"github.com/muster-gg/muster/internal/objects/objectstest"
	"github.com/muster-gg/muster/internal/objects/s3"
)

const (
	bucket = "builds"
	region = "eu-west-1"
	key    = "AKIDEXAMPLE"
	secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// A world is an endpoint without a network.
type world struct {
	testing.TB
	store   *objects.Store
	catalog *objectstest.Catalog
	handler *s3.Handler
	clock   *clockwork.FakeClock
}

func newWorld(t testing.TB, change ...func(*s3.Config)) *world {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	w := &world{TB: t, clock: clockwork.NewFakeClockAt(now)}
	store, err := objects.Open(objects.Config{Dir: filepath.Join(t.TempDir(), "blobs"), Clock: w.clock, Log: log,
		MaxSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	w.store, w.catalog = store, objectstest.New(w.clock, bucket)
	c := s3.Config{Store: store, Catalog: w.catalog, Region: region, Clock: w.clock, Log: log,
		Keys: objectstest.Keys{key: {Secret: secret, Deny: func(_, _, key string) bool { return key == "denied" }},
			"ASIAEXPIRED": {Secret: secret, Token: "t", Expired: true}},
		Ready: func(context.Context) bool { return true }}
	for _, f := range change {
		f(&c)
	}
	w.handler = s3.New(c)
	return w
}

// blobs returns the number of files that the store has.
func (w *world) blobs() (n int) {
	w.Helper()
	if err := w.store.List(func(objects.Blob) bool { n++; return true }); err != nil {
		w.Fatal(err)
	}
	return n
}

// newRequest returns a request, not signed.
func newRequest(method, target string, body []byte) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:9080"+target, bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return r
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// sign signs a request as aws-sdk-go-v2 does.
func sign(t testing.TB, r *http.Request, payload string, at time.Time, credentials ...string) *http.Request {
	t.Helper()
	if credentials == nil {
		credentials = []string{key, secret, ""}
	}
	r.Header.Set("X-Amz-Content-Sha256", payload)
	err := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).SignHTTP(t.Context(),
		aws.Credentials{AccessKeyID: credentials[0], SecretAccessKey: credentials[1], SessionToken: credentials[2]}, r,
		payload, "s3", region, at)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// An answer is what a client sees.
type answer struct {
	status  int
	header  http.Header
	body    string
	Code    string // of an error
	Message string
}

func (w *world) do(r *http.Request) (a answer) {
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	a = answer{status: recorder.Code, header: recorder.Header(), body: recorder.Body.String()}
	if a.status >= 400 && a.body != "" {
		if err := xml.Unmarshal(recorder.Body.Bytes(), &a); err != nil {
			w.Errorf("%d %q: %v", a.status, a.body, err)
		}
	}
	return a
}

// put signs and sends a PUT with headers, whose payload is signed as hash.
func (w *world) put(name string, body []byte, payload string, headers ...string) answer {
	w.Helper()
	r := newRequest(http.MethodPut, "/"+bucket+"/"+name, body)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return w.do(sign(w, r, payload, now))
}

func (w *world) get(name string, headers ...string) answer {
	w.Helper()
	r := newRequest(http.MethodGet, "/"+bucket+"/"+name, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return w.do(sign(w, r, sum(nil), now))
}

func crc(data []byte) string {
	h := crc32.NewIEEE()
	h.Write(data)
	return objects.Checksum(h)
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// A chunker signs chunks as the S3 reference describes.
type chunker struct {
	key      []byte
	previous string
}

func newChunker(r *http.Request) *chunker {
	k := mac([]byte("AWS4"+secret), now.Format("20060102"))
	for _, part := range []string{region, "s3", "aws4_request"} {
		k = mac(k, part)
	}
	_, signature, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
	return &chunker{k, signature}
}

func (c *chunker) sign(kind string, hashes ...string) string {
	text := "AWS4-HMAC-SHA256-" + kind + "\n" + now.Format("20060102T150405Z") + "\n" + now.Format("20060102") + "/" +
		region + "/s3/aws4_request\n" + c.previous + "\n" + strings.Join(hashes, "\n")
	c.previous = hex.EncodeToString(mac(c.key, text))
	return c.previous
}

// chunks returns a body in chunks of at most size bytes, signed or not, with a trailer or not.
func chunks(data []byte, size int, c *chunker, trailer string) []byte {
	var b bytes.Buffer
	for _, chunk := range append(slices.Collect(slices.Chunk(data, size)), nil) {
		fmt.Fprintf(&b, "%x", len(chunk))
		if c != nil {
			fmt.Fprintf(&b, ";chunk-signature=%s", c.sign("PAYLOAD", sum(nil), sum(chunk)))
		}
		b.WriteString("\r\n")
		if len(chunk) > 0 {
			b.Write(chunk)
			b.WriteString("\r\n")
		}
	}
	if trailer != "" {
		b.WriteString(trailer + "\r\n")
		if c != nil {
			fmt.Fprintf(&b, "x-amz-trailer-signature:%s\r\n", c.sign("TRAILER", sum([]byte(trailer+"\n"))))
		}
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// chunkedRequest returns a signed PUT of data in chunks.
func chunkedRequest(t testing.TB, name string, data []byte, size int, signed bool, checksum string) *http.Request {
	t.Helper()
	payload, trailer := "STREAMING-UNSIGNED-PAYLOAD", ""
	if signed {
		payload = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	}
	r := newRequest(http.MethodPut, "/"+bucket+"/"+name, nil)
	r.ContentLength = -1
	if checksum != "" {
		payload, trailer = payload+"-TRAILER", "x-amz-checksum-crc32:"+checksum
		r.Header.Set("X-Amz-Trailer", "x-amz-checksum-crc32")
	}
	r.Header.Set("Content-Encoding", "aws-chunked")
	r.Header.Set("X-Amz-Decoded-Content-Length", fmt.Sprint(len(data)))
	sign(t, r, payload, now)
	var c *chunker
	if signed {
		c = newChunker(r)
	}
	r.Body = io.NopCloser(bytes.NewReader(chunks(data, size, c, trailer)))
	return r
}

func TestPayloads(t *testing.T) {
	w := newWorld(t)
	for _, size := range []int{0, 1, 1000, 300_000} {
		data := bytes.Repeat([]byte("abc"), size)[:size]
		digest := md5.Sum(data)
		for name, a := range map[string]answer{
			"hash":     w.put("hash", data, sum(data)),
			"unsigned": w.put("unsigned", data, "UNSIGNED-PAYLOAD", "X-Amz-Checksum-Crc32", crc(data)),
			"md5": w.put("md5", data, "UNSIGNED-PAYLOAD", "Content-MD5",
				base64.StdEncoding.EncodeToString(digest[:])),
			"unsigned-chunk": w.do(chunkedRequest(t, "unsigned-chunk", data, 70_000, false, crc(data))),
			"signed":         w.do(chunkedRequest(t, "signed", data, 65536, true, "")),
			"signed-trailer": w.do(chunkedRequest(t, "signed-trailer", data, 700, true, crc(data))),
		} {
			if etag := fmt.Sprintf(`"%x"`, digest); a.status != 200 || a.header.Get("ETag") != etag {
				t.Errorf("%s of %d bytes: %+v", name, size, a)
			}
			got := w.get(name, "X-Amz-Checksum-Mode", "ENABLED")
			if got.status != 200 || got.body != string(data) {
				t.Errorf("%s of %d bytes: read %d, %d bytes", name, size, got.status, len(got.body))
			}
			if c := got.header.Get("X-Amz-Checksum-Crc32"); c != "" && c != crc(data) {
				t.Errorf("%s: checksum %s", name, c)
			}
		}
	}
}

// TestFlippedBytes changes each byte of requests in turn. Nothing of them may be stored.
func TestFlippedBytes(t *testing.T) {
	w := newWorld(t)
	data := []byte("0123456789abcdef")
	for name, request := range map[string]func() (*http.Request, []byte){
		"hash": func() (*http.Request, []byte) {
			return sign(t, newRequest(http.MethodPut, "/"+bucket+"/k", nil), sum(data), now), data
		},
		"checksum": func() (*http.Request, []byte) {
			r := newRequest(http.MethodPut, "/"+bucket+"/k", nil)
			r.Header.Set("X-Amz-Checksum-Crc32", crc(data))
			return sign(t, r, "UNSIGNED-PAYLOAD", now), data
		},
		"signed": func() (*http.Request, []byte) {
			r := chunkedRequest(t, "k", data, 7, true, "")
			return r, readAll(t, r.Body)
		},
		"signed trailer": func() (*http.Request, []byte) {
			r := chunkedRequest(t, "k", data, 7, true, crc(data))
			return r, readAll(t, r.Body)
		},
	} {
		r, body := request()
		for i := range body {
			changed := bytes.Clone(body)
			if changed[i] ^= 0x11; strings.EqualFold(string(changed), string(body)) {
				continue
			}
			again := r.Clone(t.Context())
			again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(changed)), r.ContentLength
			if again.ContentLength == 0 {
				again.ContentLength = int64(len(changed))
				again.Header.Del("Content-Length")
			}
			a := w.do(again)
			if a.status != 400 && a.status != 403 {
				t.Fatalf("%s, byte %d of %q: %+v", name, i, body, a)
			}
		}
		if w.catalog.Len() != 0 || w.blobs() != 0 {
			t.Fatalf("%s: something was stored", name)
		}
	}
}

func readAll(t testing.TB, r io.Reader) []byte {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRefusedPayloads(t *testing.T) {
	w := newWorld(t)
	data := []byte("some data")
	wrong := crc([]byte("other"))
	for _, test := range []struct {
		name, code string
		answer     answer
	}{
		{"hash", "XAmzContentSHA256Mismatch", w.put("k", data, sum([]byte("other")))},
		{"checksum", "BadDigest", w.put("k", data, sum(data), "X-Amz-Checksum-Crc32", wrong)},
		{"md5", "BadDigest", w.put("k", data, sum(data), "Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA==")},
		{"form of md5", "InvalidDigest", w.put("k", data, sum(data), "Content-MD5", "AA")},
		{"form of checksum", "InvalidRequest", w.put("k", data, sum(data), "X-Amz-Checksum-Crc32", "AA==")},
		{"two checksums", "InvalidRequest", w.put("k", data, sum(data), "X-Amz-Checksum-Crc32", crc(data),
			"X-Amz-Checksum-Sha1", "98O8HYCOBHMq32eZZczDTKeuNEE=")},
		{"algorithm", "NotImplemented", w.put("k", data, sum(data), "X-Amz-Checksum-Xxhash64", "AAAAAAAAAAA=")},
		{"payload", "NotImplemented", w.put("k", data, "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD")},
		{"unsigned", "InvalidRequest", w.put("k", data, "UNSIGNED-PAYLOAD")},
		{"trailer without chunks", "InvalidRequest", w.put("k", data, sum(data), "X-Amz-Trailer",
			"x-amz-checksum-crc32")},
		{"trailer", "BadDigest", w.do(chunkedRequest(t, "k", data, 5, false, wrong))},
		{"signed trailer", "BadDigest", w.do(chunkedRequest(t, "k", data, 5, true, wrong))},
		{"other trailer", "NotImplemented", w.put("k", data, "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
			"X-Amz-Trailer", "x")},
		{"encoding", "NotImplemented", w.put("k", data, sum(data), "Content-Encoding", "gzip")},
		{"tagging", "NotImplemented", w.put("k", data, sum(data), "X-Amz-Tagging", "a=b")},
		{"condition", "NotImplemented", w.put("k", data, sum(data), "If-None-Match", "*")},
		{"too large", "EntityTooLarge", w.put("k", make([]byte, 1<<20+1), "UNSIGNED-PAYLOAD")},
		{"metadata", "MetadataTooLarge", w.put("k", data, sum(data), "X-Amz-Meta-A", strings.Repeat("x", 2048))},
		{"key", "KeyTooLongError", w.put(strings.Repeat("x", 1025), data, sum(data))},
		{"UTF-8", "InvalidArgument", w.put("%FF", data, sum(data))},
		{"denied", "AccessDenied", w.put("denied", data, sum(data))},
	} {
		if test.answer.Code != test.code {
			t.Errorf("%s: %+v, want %s", test.name, test.answer, test.code)
		}
	}
	if w.catalog.Len() != 0 || w.blobs() != 0 {
		t.Error("something was stored")
	}
}

// TestRefusedWithoutReading checks that bodies of requests that are refused by their heads are not read: a client that
// expects status 100 then does not send them.
func TestRefusedWithoutReading(t *testing.T) {
	w := newWorld(t)
	w.catalog.Seal(bucket, "sealed")
	for target, code := range map[string]string{"/builds/sealed": "AccessDenied", "/absent/k": "NoSuchBucket",
		"/builds/denied": "AccessDenied", "/builds/k?acl": "NotImplemented",
		"/builds/k?partNumber=1&uploadId=00": "NoSuchUpload", "/builds/k?partNumber=0&uploadId=00": "InvalidArgument"} {
		r := newRequest(http.MethodPut, target, []byte("body"))
		sign(t, r, sum([]byte("body")), now)
		r.Body = unreadable{t}
		if a := w.do(r); a.Code != code {
			t.Errorf("%s: %+v, want %s", target, a, code)
		}
	}
}

type unreadable struct{ testing.TB }

func (u unreadable) Read([]byte) (int, error) {
	u.Error("the body was read")
	return 0, io.EOF
}
func (unreadable) Close() error { return nil }

func TestAuthentication(t *testing.T) {
	w := newWorld(t)
	list := func() *http.Request { return newRequest(http.MethodGet, "/", nil) }
	signed := func(at time.Time, credentials ...string) *http.Request {
		return sign(t, list(), sum(nil), at, credentials...)
	}
	later := signed(now)
	later.Header.Set("X-Amz-Acl", "private")
	v2 := list()
	v2.Header.Set("Authorization", "AWS AKID:c2lnbmF0dXJl")
	moved := signed(now)
	moved.URL.Path, moved.RequestURI = "/builds", "/builds?list-type=2"
	for _, test := range []struct {
		name    string
		status  int
		code    string
		request *http.Request
	}{
		{"valid", 200, "", signed(now)},
		{"early", 200, "", signed(now.Add(14 * time.Minute))},
		{"late", 200, "", signed(now.Add(-14 * time.Minute))},
		{"too early", 403, "RequestTimeTooSkewed", signed(now.Add(16 * time.Minute))},
		{"too late", 403, "RequestTimeTooSkewed", signed(now.Add(-16 * time.Minute))},
		{"none", 403, "AccessDenied", list()},
		{"version 2", 400, "InvalidRequest", v2},
		{"wrong secret", 403, "SignatureDoesNotMatch", signed(now, key, "x", "")},
		{"unknown key", 403, "InvalidAccessKeyId", signed(now, "AKIDX", secret, "")},
		{"wrong token", 400, "InvalidToken", signed(now, "ASIAEXPIRED", secret, "x")},
		{"expired token", 400, "ExpiredToken", signed(now, "ASIAEXPIRED", secret, "t")},
		{"unsigned header", 400, "AuthorizationHeaderMalformed", later},
		{"other path", 403, "SignatureDoesNotMatch", moved},
	} {
		if a := w.do(test.request); a.status != test.status || a.Code != test.code {
			t.Errorf("%s: %+v, want %d %s", test.name, a, test.status, test.code)
		}
	}
}

// presign returns a URL that is valid for an hour.
func presign(t testing.TB, method, target string) *http.Request {
	t.Helper()
	r := newRequest(method, target, nil)
	q := r.URL.Query()
	q.Set("X-Amz-Expires", "3600")
	r.URL.RawQuery = q.Encode()
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	signed, _, err := signer.PresignHTTP(t.Context(),
		aws.Credentials{AccessKeyID: key, SecretAccessKey: secret}, r, "UNSIGNED-PAYLOAD", "s3", region, now)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(signed)
	if err != nil {
		t.Fatal(err)
	}
	return newRequest(method, u.RequestURI(), nil)
}

func TestPresigned(t *testing.T) {
	w := newWorld(t)
	put := presign(t, http.MethodPut, "/"+bucket+"/k")
	put.Body, put.ContentLength = io.NopCloser(strings.NewReader("<html>")), 6
	put.Header.Set("Content-Type", "text/html")
	if a := w.do(put); a.status != 200 {
		t.Errorf("%+v", a)
	}
	target := "/" + bucket + "/k?response-content-disposition=" + url.QueryEscape("attachment; filename=x")
	a := w.do(presign(t, http.MethodGet, target))
	if a.status != 200 || a.body != "<html>" || a.header.Get("Content-Disposition") != "attachment; filename=x" ||
		!strings.Contains(a.header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%+v", a)
	}
	w.clock.Advance(59 * time.Minute)
	if a := w.do(presign(t, http.MethodGet, target)); a.status != 200 {
		t.Errorf("%+v", a)
	}
	if a := w.do(presign(t, http.MethodDelete, "/"+bucket+"/k")); a.status != 204 {
		t.Errorf("%+v", a)
	}
	w.clock.Advance(time.Minute)
	a = w.do(presign(t, http.MethodGet, target))
	if a.Code != "AccessDenied" || !strings.Contains(a.Message, "expired") {
		t.Errorf("%+v", a)
	}
}

func TestAnyone(t *testing.T) {
	w := newWorld(t, func(c *s3.Config) { c.Anyone = objectstest.Key{} })
	data := []byte("data of a developer")
	r := chunkedRequest(t, "k", data, 5, true, crc(data))
	r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), key, "test", 1))
	if a := w.do(r); a.status != 200 {
		t.Errorf("%+v", a)
	}
	if a := w.do(newRequest(http.MethodGet, "/"+bucket+"/k", nil)); a.body != string(data) {
		t.Errorf("%+v", a)
	}
	page := newRequest(http.MethodGet, "/"+bucket+"/k", nil)
	page.Header.Set("Origin", "https://example.com")
	if a := w.do(page); a.Code != "AccessDenied" {
		t.Errorf("%+v", a)
	}
}

func TestHooks(t *testing.T) {
	var refused, observed []string
	type attached struct{}
	w := newWorld(t, func(c *s3.Config) {
		c.Attach = func(ctx context.Context, r *listen.Request, id string) context.Context {
			return context.WithValue(ctx, attached{}, r.Method)
		}
		c.Refused = func(ctx context.Context, key, action string, err error) {
			refused = append(refused, fmt.Sprint(ctx.Value(attached{}), " ", key, " ", action, " ",
				objects.CodeOf(err)))
		}
		c.Observe = func(operation, code string, _ float64, in, out int) {
			observed = append(observed, fmt.Sprint(operation, " ", code, " ", in, " ", out > 0))
		}
	})
	w.put("k", []byte("four"), sum([]byte("four")))
	w.do(sign(t, newRequest(http.MethodGet, "/"+bucket+"/k", nil), sum(nil), now, key, "x", ""))
	w.do(sign(t, newRequest(http.MethodGet, "/"+bucket+"?acl", nil), sum(nil), now))
	if want := []string{"GET AKIDEXAMPLE s3:GetObject SignatureDoesNotMatch"}; !slices.Equal(refused, want) {
		t.Errorf("%q", refused)
	}
	if want := []string{"s3:PutObject  4 false", "s3:GetObject SignatureDoesNotMatch 0 true",
		"unknown NotImplemented 0 true"}; !slices.Equal(observed, want) {
		t.Errorf("%q", observed)
	}
}

func TestBusyAndStarting(t *testing.T) {
	w := newWorld(t, func(c *s3.Config) { c.Ready = func(context.Context) bool { return false } })
	if a := w.get("k"); a.status != 503 || a.Code != "ServiceUnavailable" {
		t.Errorf("%+v", a)
	}
	var inner answer
	w = newWorld(t, func(c *s3.Config) {
		c.MaxRequests = 1
		c.Attach = func(ctx context.Context, r *listen.Request, _ string) context.Context {
			if r.Method == http.MethodGet {
				inner = w.do(newRequest(http.MethodPut, "/"+bucket+"/k", nil))
			}
			return ctx
		}
	})
	if a := w.get("k"); a.Code != "NoSuchKey" || inner.Code != "SlowDown" {
		t.Errorf("%+v, %+v", a, inner)
	}
}

// TestLostBlob reads an object whose bytes are lost.
func TestLostBlob(t *testing.T) {
	w := newWorld(t)
	data := []byte("x")
	w.put("k", data, sum(data))
	if err := w.store.Delete(sum(data)); err != nil {
		t.Fatal(err)
	}
	if a := w.get("k"); a.status != 500 || a.Code != "InternalError" || strings.Contains(a.Message, "blobs") {
		t.Errorf("%+v", a)
	}
	r := newRequest(http.MethodPut, "/"+bucket+"/copy", nil)
	r.Header.Set("X-Amz-Copy-Source", "/"+bucket+"/k")
	if a := w.do(sign(t, r, sum(nil), now)); a.Code != "NoSuchKey" {
		t.Errorf("%+v", a)
	}
}

func TestIs(t *testing.T) {
	scope := func(service string) string {
		return "AWS4-HMAC-SHA256 Credential=AKID/20260304/x/" + service +
			"/aws4_request, SignedHeaders=host, Signature=00"
	}
	for _, test := range []struct {
		target, authorization string
		want                  bool
	}{
		{"/", scope("s3"), true}, {"/metrics", scope("s3"), true}, {"/", scope("gamelift"), false}, {"/b/k", "", false},
		{"/", "AWS AKID:x", true}, {"/", "Bearer /s3/aws4_request", false},
		{"/b/k?X-Amz-Credential=AKID%2F20260304%2Fx%2Fs3%2Faws4_request", "", true},
		{"/b/k?X-Amz-Credential=AKID/20260304/x/s3/aws4_request", "", true},
		{"/?X-Amz-Credential=AKID%2F20260304%2Fx%2Fgamelift%2Faws4_request", "", false},
		{"/b/k?AWSAccessKeyId=AKID&Signature=x&Expires=1", "", true}, {"/b/k?xAWSAccessKeyId=AKID", "", false},
	} {
		r := newRequest(http.MethodGet, test.target, nil)
		if test.authorization != "" {
			r.Header.Set("Authorization", test.authorization)
		}
		if got := s3.Is(r); got != test.want {
			t.Errorf("%s %s: %v", test.target, test.authorization, got)
		}
	}
}
