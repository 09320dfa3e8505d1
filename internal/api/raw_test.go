package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/wire"
)

// A raw is a connection on which a test says what it likes.
type raw struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dialRaw(t *testing.T, url string) *raw {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return &raw{t, c, bufio.NewReader(c)}
}

// send sends a request, or a part of one or several.
func (c *raw) send(text []byte) {
	c.t.Helper()
	if _, err := c.Write(text); err != nil {
		c.t.Fatal(err)
	}
}

// expect reads an answer.
func (c *raw) expect(status int) *http.Response {
	c.t.Helper()
	r, err := http.ReadResponse(c.in, &http.Request{Method: http.MethodPost})
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if r.StatusCode != status {
		c.t.Fatalf("got %d %q, want %d", r.StatusCode, body, status)
	}
	return r
}

// TestRawRequests says the same signed call in all the ways that HTTP/1.1 has for
// it. Whether listen or net/http reads it, its signature is good.
func TestRawRequests(t *testing.T) {
	url := serve(t, api.Config{Clock: clockwork.NewFakeClockAt(now)})
	for _, p := range []wire.Protocol{wire.JSON, wire.CBOR} {
		t.Run(p.String(), func(t *testing.T) {
			request := signedRequest(t, p, 3)
			head, body, _ := bytes.Cut(request, []byte("\r\n\r\n"))

			c := dialRaw(t, url)
			c.send(request)
			first := c.expect(http.StatusOK)
			c.send(bytes.Repeat(request, 5)) // without waiting for answers
			seen := map[string]bool{first.Header.Get("X-Amzn-Requestid"): true}
			for range 5 {
				seen[c.expect(http.StatusOK).Header.Get("X-Amzn-Requestid")] = true
			}
			if len(seen) != 6 || first.Header.Get("Date") != "Wed, 04 Mar 2026 05:06:07 GMT" {
				t.Errorf("%d ids, headers %v", len(seen), first.Header)
			}

			c.send(lowerNames(head)) // other case, two pieces
			c.send(append([]byte("\r\n\r\n"), body...))
			c.expect(http.StatusOK)

			c.send(append([]byte(string(head)+"\r\nExpect: 100-continue\r\n\r\n"), body[:0]...))
			c.expect(http.StatusContinue)
			c.send(body)
			c.expect(http.StatusOK)
			c.send(request) // net/http's from here on
			c.expect(http.StatusOK)

			c = dialRaw(t, url)
			c.send(bytes.Replace(request, []byte("\r\nUser-Agent: "), []byte("\r\nConnection: close\r\nUser-Agent: "),
				1))
			if !c.expect(http.StatusOK).Close {
				t.Error("the answer does not say that the connection is closed")
			}
			if _, err := c.in.ReadByte(); err == nil {
				t.Error("the connection is still open")
			}

			// A chunked body says no length, so that one which was signed is missed.
			c = dialRaw(t, url)
			chunked := regexp.MustCompile(`\r\nContent-Length: \d+`).ReplaceAll(head,
				[]byte("\r\nTransfer-Encoding: chunked"))
			c.send([]byte(string(chunked) + "\r\n\r\n" + strconv.FormatInt(int64(len(body)), 16) + "\r\n" +
				string(body) + "\r\n0\r\n\r\n"))
			c.expect(http.StatusBadRequest)
			c.send(request)
			c.expect(http.StatusOK)
		})
	}
}

// lowerNames turns the names of a head's fields to lower case.
func lowerNames(head []byte) []byte {
	return regexp.MustCompile(`\r\n[A-Za-z0-9-]+:`).ReplaceAllFunc(head, bytes.ToLower)
}

// signedRequest is a call for so many players, as it is sent.
func signedRequest(t testing.TB, p wire.Protocol, players int) []byte {
	input := map[string]any{"GameSessionId": "arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-home/x",
		"PlayerIds": names(players)}
	body, _ := json.Marshal(input)
	if p == wire.CBOR {
		body, _ = cbor.Marshal(input)
	}
	r := newRequest(p, "http://localhost:9080", "CreatePlayerSessions", body)
	r.RequestURI = ""
	r.Header.Set("User-Agent",
		"aws-sdk-go-v2/1.41.0 ua/2.1 os/linux lang/go#1.26.8 md/GOOS#linux md/GOARCH#amd64 api/gamelift#1.55.0")
	r.Header.Set("Accept-Encoding", "gzip")
	r.Header.Set("Amz-Sdk-Invocation-Id", "3f0e6a1c-1111-4222-8333-444455556666")
	r.Header.Set("Amz-Sdk-Request", "attempt=1; max=3")
	sign(t, r, body)
	var sent bytes.Buffer
	if err := r.Write(&sent); err != nil {
		t.Fatal(err)
	}
	return sent.Bytes()
}

func names(players int) (ids []string) {
	for i := range players {
		ids = append(ids, fmt.Sprintf("player-%012d", i))
	}
	return ids
}
