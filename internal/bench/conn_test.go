package bench

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sigv4"
)

var testCredentials = sigv4.ClientCredentials{AccessKey: "AKIDBENCH", SecretKey: "secret", Region: "eu-west-1"}

func dialing(t *testing.T, url string) *conn {
	t.Helper()
	e, err := parseEndpoint(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &conn{endpoint: e, signer: signer{credentials: testCredentials, host: e.host}}
	t.Cleanup(c.close)
	return c
}

func TestAnswers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "GameLift.")
		body, _ := io.ReadAll(r.Body)
		switch operation {
		case "Chunked":
			for _, part := range []string{`{"a":`, `"b"}`} {
				_, _ = io.WriteString(w, part)
				w.(http.Flusher).Flush()
			}
		case "Closing":
			w.Header().Set("Connection", "close")
			_, _ = w.Write(body)
		case "Refused":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w,
				`{"__type": "com.amazonaws.gamelift#NotFoundException", "Message": "No such fleet."}`)
		case "Broken":
			http.Error(w, "bad gateway", http.StatusBadGateway)
		default:
			_, _ = w.Write(body)
		}
	}))
	defer server.Close()
	c := dialing(t, server.URL)
	for _, test := range []struct{ operation, body, want string }{
		{"Echo", `{"x":1}`, `{"x":1}`},
		{"Chunked", `{}`, `{"a":"b"}`},
		{"Echo", `{"x":2}`, `{"x":2}`}, // nothing of the chunks is left on the connection
		{"Closing", `{"x":3}`, `{"x":3}`},
		{"Echo", `{"x":4}`, `{"x":4}`}, // over a new connection
		{"Echo", strings.Repeat("x", 100_000), strings.Repeat("x", 100_000)},
	} {
		got, err := c.call(t.Context(), test.operation, []byte(test.body))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: got %.100q, %v", test.operation, got, err)
		}
	}
	for operation, want := range map[string]CallError{
		"Refused": {"Refused", 400, "NotFoundException", "No such fleet."},
		"Broken":  {"Broken", 502, "HTTP 502", ""},
	} {
		_, err := c.call(t.Context(), operation, []byte("{}"))
		if got, ok := errors.AsType[*CallError](err); !ok || *got != want {
			t.Errorf("%s: got %v", operation, err)
		}
	}
}

// A service that hangs up, or speaks something else, costs one call.
func TestBrokenConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for _, answer := range []string{"", "SSH-2.0-x\r\n", "HTTP/1.1 200 OK\r\nContent-Length: " +
			"-1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "HTTP/1.1 200 OK\r\nContent-Length: " +
			"2\r\n\r\n{}"} {
			raw, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(raw)); err == nil {
				_, _ = io.WriteString(raw, answer)
			}
			_ = raw.Close()
		}
	}()
	c := dialing(t, "http://"+listener.Addr().String())
	for i := range 4 {
		if got, err := c.call(t.Context(), "Echo", nil); err == nil {
			t.Errorf("call %d: got %q", i, got)
		}
	}
	if got, err := c.call(t.Context(), "Echo", nil); err != nil || string(got) != "{}" {
		t.Errorf("got %q, %v", got, err)
	}
	_ = listener.Close()
	<-served
}

func TestEndpoints(t *testing.T) {
	for raw, want := range map[string]string{
		"http://127.0.0.1:9080":                    "127.0.0.1:9080",
		"https://gamelift.eu-west-1.amazonaws.com": "gamelift.eu-west-1.amazonaws.com:443",
		"http://example.com/":                      "example.com:80", "ws://example.com": "", "example.com": "",
		"http://example.com/gamelift": "",
	} {
		e, err := parseEndpoint(raw, nil)
		if e.address != want || (err != nil) != (want == "") {
			t.Errorf("%s: %+v, %v", raw, e, err)
		}
	}
}

type oneKey sigv4.ClientCredentials

func (k oneKey) Secret(id, _ string) (sigv4.Credential, bool) {
	return sigv4.Credential{Secret: k.SecretKey, SessionToken: k.SessionToken, Principal: "p"}, id == k.AccessKey
}

// The signatures are good, day after day, with and without a session token.
func TestSignatures(t *testing.T) {
	temporary := testCredentials
	temporary.SessionToken = "token+/="
	for _, credentials := range []sigv4.ClientCredentials{testCredentials, temporary} {
		s := signer{credentials: credentials, host: "localhost:9080"}
		verifier := sigv4.New(sigv4.Config{Keys: oneKey(credentials)})
		now := time.Date(2026, 2, 28, 23, 59, 59, 999e6, time.UTC)
		for range 4 {
			body := []byte(`{"at":"` + now.String() + `"}`)
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(s.appendRequest(nil, now, "ListFleets", body))))
			if err != nil {
				t.Fatal(err)
			}
			sent, err := io.ReadAll(r.Body)
			if err != nil || !bytes.Equal(sent, body) || r.Header.Get("X-Amz-Target") != "GameLift.ListFleets" {
				t.Errorf("sent %q, %v", sent, err)
			}
			request := listen.RequestOf(r)
			if _, err := verifier.Verify(&request, sha256.Sum256(sent), now); err != nil {
				t.Error(err)
			}
			now = now.Add(500 * time.Millisecond)
		}
	}
}

// BenchmarkCall is what a call costs the load generator by itself, with a body
// of 25 players: signing and writing, and reading an answer of the usual size.
func BenchmarkCall(b *testing.B) {
	client, server := net.Pipe()
	defer func() { _ = client.Close() }()
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 9000\r\nContent-Type: " + contentType +
		"\r\nDate: Fri, 20 Nov 2026 17:45:13 GMT\r\n\r\n" + strings.Repeat("x", 9000))
	go func() {
		defer func() { _ = server.Close() }()
		buf := make([]byte, 64<<10)
		for {
			if _, err := server.Read(buf); err != nil {
				return
			}
			if _, err := server.Write(answer); err != nil {
				return
			}
		}
	}()
	c := &conn{signer: signer{credentials: testCredentials, host: "localhost:9080"}, raw: client,
		in: bufio.NewReaderSize(client, 16<<10), watch: func() bool { return true }}
	body := []byte(`{"GameSessionId":"x","PlayerIds":["` + strings.Repeat(`player-1234-1234","`, 25) + `"]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.call(b.Context(), "CreatePlayerSessions", body); err != nil {
			b.Fatal(err)
		}
	}
}
