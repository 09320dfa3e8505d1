package listen

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

// requests are some that have a length in one way.
var requests = []string{
	"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
	"POST / HTTP/1.1\r\nHost: h\r\ncontent-LENGTH:\t3 \r\nContent-Length: 3\r\n\r\nabc",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n 3\r\n\r\nabc",
	"POST / HTTP/1.1\nHost: h\nContent-Length: 3\n\nabc",
	"POST / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n" +
		"3\r\nabc\r\n1a;x=\"y\"\r\nabcdefghijklmnopqrstuvwxyz\r\n000\r\nA: b\r\nContent-Length: 7\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\nX: y\r\n z\r\n\r\nB\r\nContent-Len\r\n0\r\n\r\n",
	"\r\nPOST / HTTP/1.1\r\nHost: h\r\nX-Content-Length: 9\r\nContent-Lengths: 9\r\nX-Transfer-Encoding: " +
		"chunked\r\nContent-Length: 3\r\n\r\nabc",
}

// ambiguous are requests whose length can be read in two ways.
var ambiguous = map[string]string{
	"length first": "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"encoding first": "POST / HTTP/1.1\r\nHost: h\r\ntransfer-encoding: chunked\r\nX: y\r\ncontent-length: " +
		"5\r\n\r\n0\r\n\r\n",
	"no length": "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"folded": "POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n 3\r\nTransfer-Encoding:\r\n " +
		"chunked\r\n\r\n0\r\n\r\n",
	"LF":  "POST / HTTP/1.1\nHost: h\nContent-Length: 3\nTransfer-Encoding: chunked\n\n0\r\n\r\n",
	"GET": "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"HTTP/1.0": "POST / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nTransfer-Encoding: " +
		"chunked\r\n\r\n0\r\n\r\n",
	"another one": "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: gzip\r\n\r\nabc",
}

// served answers each request with the length of its body, on connections that
// requests come over in pieces of whatever size.
func served(t *testing.T, handler http.Handler) (connect func() net.Conn) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	l := Unambiguous(s, inner)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		_ = s.Close()
		serving.Wait()
	})
	return func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

// A request with two lengths is rejected, and nothing after it is read, at any position on its connection.
func TestAmbiguousRequestsAreRefused(t *testing.T) {
	connect := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	behind := "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
	for name, request := range ambiguous {
		for at := range len(requests) + 1 {
			c := connect()
			_, _ = io.WriteString(c, strings.Join(requests[:at], "")+request+behind)
			in := bufio.NewReader(c)
			for range at {
				if r, err := http.ReadResponse(in, nil); err != nil || r.StatusCode != http.StatusOK {
					t.Fatalf("before %s: %v, %v", name, r, err)
				}
			}
			r, err := http.ReadResponse(in, nil)
			if err != nil || r.StatusCode != http.StatusBadRequest || !r.Close {
				t.Errorf("%s behind %d: got %v, %v", name, at, r, err)
				continue
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if _, err := in.ReadByte(); err == nil {
				t.Errorf("%s behind %d: something follows", name, at)
			}
		}
	}
}

// A connection that was hijacked for another protocol is not parsed any more.
func TestHijackedConnectionIsNotRead(t *testing.T) {
	connect := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "go\n")
		_, _ = io.Copy(c, buffered)
	}))
	c := connect()
	in := bufio.NewReader(c)
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	if line, err := in.ReadString('\n'); line != "go\n" {
		t.Fatal(line, err)
	}
	data := ambiguous["length first"] + "\n no request at all: nothing\nof it:"
	_, _ = io.WriteString(c, data)
	_ = c.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(in); string(got) != data || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// FuzzFraming holds that a request that net/http reads ends here where it ends there,
// and that none has two lengths.
func FuzzFraming(f *testing.F) {
	for _, r := range requests {
		f.Add(r)
	}
	f.Add(strings.Join(requests, ""))
	for _, r := range ambiguous {
		f.Add(r)
	}
	f.Add("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\nGET / HTTP/1.1\r\n\r\n")
	f.Fuzz(func(t *testing.T, stream string) {
		spoiled, pieces := []byte(stream), framing{}
		(&framing{}).follow(spoiled)
		again := []byte(stream)
		for i := range again {
			pieces.follow(again[i : i+1])
		}
		if !bytes.Equal(again, spoiled) {
			t.Fatalf("byte by byte %q, at once %q", again, spoiled)
		}
		source := bytes.NewReader(spoiled)
		in := bufio.NewReader(iotest.OneByteReader(source))
		at, followed := framing{}, 0
		for {
			r, err := http.ReadRequest(in)
			if err != nil || r.ProtoMajor != 1 { // http.Server refuses others
				return
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			end := len(spoiled) - source.Len() - in.Buffered()
			at.follow(spoiled[followed:end])
			if followed = end; at.at != beforeRequest {
				t.Fatalf("net/http has read a request to %d of %q; here %d is next", end, spoiled, at.at)
			}
			if at.encoded && (at.length >= 0 || !r.ProtoAtLeast(1, 1)) {
				t.Fatalf("net/http has read a request with two lengths: %q", spoiled)
			}
			for peek, err := in.Peek(1); err == nil && (peek[0] == '\r' || peek[0] == '\n'); peek, err = in.Peek(1) {
				_, _ = in.Discard(1) // as http.Server does, within limits
				followed++
			}
		}
	})
}
