package listen

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// FuzzHead holds that what is taken for a plain request is read as net/http
// reads it, and that net/http finds the next request at the same place.
func FuzzHead(f *testing.F) {
	for _, seed := range []string{
		post("/", "body"), post("/a?b=%20", ""), post("//x/../y", "x") + post("/", ""),
		"POST / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n",
		"POST / HTTP/1.1\r\nhost: [::1]:80\r\ncontent-length: 03\r\nA: b\r\nA:c \r\n\r\nabc",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", "POST / HTTP/1.1\nHost: h\n\n",
		"POST / HTTP/1.0\r\nHost: h\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, close\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nPragma: no-cache\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		var scan lineScan
		n, plain := scan.end(sent)
		var got Request
		if n == 0 || !plain || !mayBePlain(sent) || !got.parse(string(sent[:n])) ||
			int64(len(sent)-n) < got.ContentLength {
			return
		}
		got.Body = sent[n : n+int(got.ContentLength)]
		in := bufio.NewReader(bytes.NewReader(sent))
		r, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("net/http refuses it: %v", err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(body, got.Body) {
			t.Errorf("the body is %q, for net/http %q, %v", got.Body, body, err)
		}
		if r.Close || len(r.TransferEncoding) > 0 || r.Trailer != nil || r.Header.Get("Expect") != "" {
			t.Errorf("net/http sees more in it: %+v", r)
		}
		if rest, _ := io.ReadAll(in); !bytes.Equal(rest, sent[n+len(body):]) {
			t.Errorf("the next request is %q, for net/http %q", sent[n+len(body):], rest)
		}
		same(t, got, RequestOf(r))
	})
}

// same checks that two views show the same request.
func same(t *testing.T, got, want Request) {
	t.Helper()
	if got.Method != want.Method || got.Target != want.Target || got.Path != want.Path || got.Host != want.Host ||
		got.ContentLength != want.ContentLength {
		t.Errorf("got %+v, for net/http %+v", got, want)
	}
	if got.SentPath() != want.SentPath() || got.Query() != want.Query() {
		t.Errorf("got %q and %q, for net/http %q and %q", got.SentPath(), got.Query(), want.SentPath(), want.Query())
	}
	if g, w := sorted(got.Header), sorted(want.Header); !slices.Equal(g, w) {
		t.Errorf("got %q, for net/http %q", g, w)
	}
}

// sorted is the header by name, in lower case, without the line that net/http
// adds for a Pragma.
func sorted(h Header) Header {
	out := Header{}
	pragma := h.Get("Pragma") == "no-cache"
	for _, f := range h {
		if name := strings.ToLower(f.Name); !pragma || name != "cache-control" {
			out = append(out, Field{name, f.Value})
		}
	}
	slices.SortStableFunc(out, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
