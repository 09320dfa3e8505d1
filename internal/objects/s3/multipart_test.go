package s3_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/objects"
	"github.com/muster-gg/muster/internal/objects/s3"
)

// initiate begins an upload and returns its id.
func (w *world) initiate(name string, headers ...string) string {
	w.Helper()
	r := newRequest(http.MethodPost, "/"+bucket+"/"+name+"?uploads", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a := w.do(sign(w, r, sum(nil), now))
	var created struct{ UploadID string }
	a.body = strings.ReplaceAll(a.body, "UploadId", "UploadID")
	if err := xml.Unmarshal([]byte(a.body), &created); err != nil || a.status != 200 {
		w.Fatalf("%+v, %v", a, err)
	}
	return created.UploadID
}

// completion returns the request that completes an upload.
func (w *world) completion(name, id string, headers []string, etags ...string) *http.Request {
	w.Helper()
	var body bytes.Buffer
	body.WriteString("<CompleteMultipartUpload>")
	for i, etag := range etags {
		fmt.Fprintf(&body, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", i+1, etag)
	}
	body.WriteString("</CompleteMultipartUpload>")
	r := newRequest(http.MethodPost, "/"+bucket+"/"+name+"?uploadId="+id, body.Bytes())
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return sign(w, r, sum(body.Bytes()), now)
}

func TestMultipart(t *testing.T) {
	w := newWorld(t)
	data := []byte("the only part")
	for _, test := range []struct {
		name, code string
		create     []string // headers
		part       []string
		complete   []string
	}{
		{name: "plain"},
		{name: "checksum", create: []string{"X-Amz-Checksum-Algorithm", "CRC32"},
			part: []string{"X-Amz-Checksum-Crc32", crc(data)}},
		{name: "full object", create: []string{"X-Amz-Checksum-Algorithm", "CRC32", "X-Amz-Checksum-Type",
			"FULL_OBJECT"},
			complete: []string{"X-Amz-Checksum-Crc32", crc(data), "X-Amz-Mp-Object-Size", "13"}},
		{name: "wrong checksum", create: []string{"X-Amz-Checksum-Algorithm", "CRC32", "X-Amz-Checksum-Type",
			"FULL_OBJECT"},
			complete: []string{"X-Amz-Checksum-Crc32", crc([]byte("x"))}, code: "BadDigest"},
		{name: "other checksum", complete: []string{"X-Amz-Checksum-Crc32", crc(data)}, code: "InvalidRequest"},
		{name: "wrong size", complete: []string{"X-Amz-Mp-Object-Size", "12"}, code: "InvalidRequest"},
	} {
		key := strings.ReplaceAll(test.name, " ", "-")
		id := w.initiate(key, test.create...)
		part := w.put(key+"?partNumber=1&uploadId="+id, data, sum(data), test.part...)
		if part.status != 200 {
			t.Errorf("%s: %+v", test.name, part)
			continue
		}
		a := w.do(w.completion(key, id, test.complete, part.header.Get("ETag")))
		if a.Code != test.code {
			t.Errorf("%s: %+v", test.name, a)
		}
		if got := w.get(key); (got.body == string(data)) != (test.code == "") {
			t.Errorf("%s: then %+v", test.name, got)
		}
	}
}

func TestRefusedParts(t *testing.T) {
	w := newWorld(t)
	data := []byte("a part")
	for _, headers := range [][]string{{"X-Amz-Checksum-Algorithm", "MD4"}, {"X-Amz-Checksum-Algorithm", "SHA1",
		"X-Amz-Checksum-Type", "FULL_OBJECT"}, {"X-Amz-Checksum-Algorithm", "CRC64NVME", "X-Amz-Checksum-Type",
		"COMPOSITE"}} {
		r := newRequest(http.MethodPost, "/"+bucket+"/k?uploads", nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		if a := w.do(sign(w, r, sum(nil), now)); a.Code != "NotImplemented" && a.Code != "InvalidRequest" {
			t.Errorf("%v: %+v", headers, a)
		}
	}
	id := w.initiate("k", "X-Amz-Checksum-Algorithm", "SHA256")
	for name, test := range map[string]struct {
		answer answer
		code   string
	}{
		"other key": {w.put("other?partNumber=1&uploadId="+id, data, sum(data)), "NoSuchUpload"},
		"number":    {w.put("k?partNumber=10001&uploadId="+id, data, sum(data)), "InvalidArgument"},
		"algorithm": {w.put("k?partNumber=1&uploadId="+id, data, sum(data), "X-Amz-Checksum-Crc32", crc(data)),
			"InvalidRequest"},
		"copy": {w.put("k?partNumber=1&uploadId="+id, nil, sum(nil), "X-Amz-Copy-Source", "/a/b"),
			"NotImplemented"},
		"no parts":      {w.do(w.completion("k", id, nil)), "MalformedXML"},
		"absent part":   {w.do(w.completion("k", id, nil, "x")), "InvalidPart"},
		"absent upload": {w.do(w.completion("k", strings.Repeat("0", 32), nil, "x")), "NoSuchUpload"},
		"abort of other": {w.do(sign(t, newRequest(http.MethodDelete, "/builds/other?uploadId="+id, nil), sum(nil),
			now)), "NoSuchUpload"},
	} {
		if test.answer.Code != test.code {
			t.Errorf("%s: %+v, want %s", name, test.answer, test.code)
		}
	}
	abort := sign(t, newRequest(http.MethodDelete, "/builds/k?uploadId="+id, nil), sum(nil), now)
	if a := w.do(abort); a.status != 204 {
		t.Errorf("%+v", a)
	}
	if a := w.put("k?partNumber=1&uploadId="+id, data, sum(data)); a.Code != "NoSuchUpload" {
		t.Errorf("%+v", a)
	}
}

// A slowCatalog takes three times the interval of signs of life to store an object.
type slowCatalog struct {
	objects.Catalog
	clock   *clockwork.FakeClock
	flushed chan struct{}
	err     error
}

func (c *slowCatalog) Put(ctx context.Context, o objects.Object) error {
	for range 3 {
		c.clock.Advance(s3.WaitingInterval)
		<-c.flushed
	}
	if c.err != nil {
		return c.err
	}
	return c.Catalog.Put(ctx, o)
}

// A flusher is a recorder that reports each flush.
type flusher struct {
	*httptest.ResponseRecorder
	flushed chan struct{}
}

func (f flusher) Flush() {
	f.ResponseRecorder.Flush()
	f.flushed <- struct{}{}
}

// TestSlowCompletion completes an upload that takes long: the client receives something meanwhile.
func TestSlowCompletion(t *testing.T) {
	for _, refusal := range []error{nil, objects.Errorf(objects.AccessDenied, "The build is sealed.")} {
		slow := &slowCatalog{flushed: make(chan struct{}), err: refusal}
		w := newWorld(t, func(c *s3.Config) {
			slow.Catalog, slow.clock = c.Catalog, c.Clock.(*clockwork.FakeClock)
			c.Catalog = slow
		})
		id := w.initiate("k")
		part := w.put("k?partNumber=1&uploadId="+id, []byte("data"), sum([]byte("data")))
		to := flusher{httptest.NewRecorder(), slow.flushed}
		w.handler.ServeHTTP(to, w.completion("k", id, nil, part.header.Get("ETag")))
		want := "<CompleteMultipartUploadResult"
		if refusal != nil {
			want = "<Error><Code>AccessDenied"
		}
		if body := to.Body.String(); to.Code != 200 || !strings.HasPrefix(body, xml.Header+"  "+want) {
			t.Errorf("%d %q", to.Code, body)
		}
	}
}
