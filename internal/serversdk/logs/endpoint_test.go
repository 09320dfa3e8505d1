package logs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/logs"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const archive = "PK\x03\x04and the rest"

func newServer(t *testing.T, maxSize int64) (*httptest.Server, *logs.Store, *clockwork.FakeClock) {
	t.Helper()
	clock := clockwork.NewFakeClock()
	log := slog.New(slog.DiscardHandler)
	store, err := logs.Open(logs.Config{Dir: t.TempDir(), MaxSize: maxSize, Clock: clock, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	h := New(Config{Store: store, Clock: clock, Log: log,
		Authorize: func(_ context.Context, fleetID, compute, token string) (string, error) {
			if fleetID != "arn:fleet-1" || compute != "box/1" || token != "token" {
				return "", fault.New(fault.AccessDenied, "no")
			}
			return "fleet-1", nil
		},
		Spread: func(_ context.Context, key logs.Key) error {
			if key == logs.KeyOf("fleet-1", "box/1", "p-alone") {
				return fault.New(fault.ServiceUnavailable, "too few nodes")
			}
			return nil
		},
		Verify: func(_ logs.Key, _ time.Time, signature string) bool { return signature == "good" },
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !Matches(r) {
			http.Error(w, "another endpoint", http.StatusTeapot)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server, store, clock
}

// do sends a request, and returns status and body of the answer.
func do(t *testing.T, method, url, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

const target = "/prefix/agent/logs?FleetId=arn:fleet-1&ComputeName=box/1&ProcessId=p-1"

func TestPut(t *testing.T) {
	server, store, _ := newServer(t, 1000)
	for _, test := range []struct {
		target, token, body string
		want                int
	}{
		{target, "token", archive, 200},
		{target, "token", archive + " again", 200},
		{strings.Replace(target, "p-1", "p-alone", 1), "token", archive, 503},
		{target, "", archive, 403},
		{target, "other", archive, 403},
		{target + "&x=" + strings.Repeat("x", 100), "token", archive, 200},
		{strings.Replace(target, "box", "other", 1), "token", archive, 403},
		{strings.Replace(target, "p-1", "", 1), "token", archive, 400},
		{strings.Replace(target, "p-1", strings.Repeat("p", maxName+1), 1), "token", archive, 400},
		{target, "token", "no archive", 400},
		{target, "token", "PK", 400},
		{target, "token", archive + strings.Repeat("x", 1000), 503},
	} {
		if got, body := do(t, http.MethodPut, server.URL+test.target, test.token, test.body); got != test.want {
			t.Errorf("%.100s %q %.20q: %d %s", test.target, test.token, test.body, got, body)
		}
	}
	f, err := store.Open(logs.KeyOf("fleet-1", "box/1", "p-1"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); err != nil || string(text) != archive {
		t.Errorf("stored: %q, %v", text, err)
	}
}

// TestIncomplete: a log that does not arrive in whole is not stored, and one that is too large is refused by its head.
func TestIncomplete(t *testing.T) {
	server, store, _ := newServer(t, logs.MaxLog)
	for length, want := range map[int]string{100: "408", logs.MaxLog + 1: "413", -1: "411"} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		size := fmt.Sprint("Content-Length: ", length)
		if length < 0 {
			size = "Transfer-Encoding: chunked"
		}
		fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer token\r\n%s\r\n\r\n%s", target, size,
			archive)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		status, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(status, want) {
			t.Errorf("%d: %q, %v", length, status, err)
		}
		_ = conn.Close()
	}
	if _, err := store.Find(logs.KeyOf("fleet-1", "box/1", "p-1")); err == nil {
		t.Error("it is stored")
	}
}

func TestGet(t *testing.T) {
	server, _, clock := newServer(t, 1000)
	if status, body := do(t, http.MethodPut, server.URL+target, "token", archive); status != http.StatusOK {
		t.Fatal(status, body)
	}
	key := string(logs.KeyOf("fleet-1", "box/1", "p-1"))
	expires := fmt.Sprint(clock.Now().Add(15 * time.Minute).Unix())
	get := func(key, expires, signature string) (int, string) {
		return do(t, http.MethodGet, server.URL+"/logs/"+key+".zip?expires="+expires+"&signature="+signature, "", "")
	}
	if status, body := get(key, expires, "good"); status != http.StatusOK || body != archive {
		t.Errorf("%d %q", status, body)
	}
	other := string(logs.KeyOf("fleet-1", "box/1", "p-2"))
	for _, test := range []struct {
		key, expires, signature string
		want                    int
	}{
		{key, expires, "bad", 403}, {key, "soon", "good", 403}, {"..%2fsecret", expires, "good", 403},
		{other, expires, "good", 404},
	} {
		if status, body := get(test.key, test.expires, test.signature); status != test.want {
			t.Errorf("%+v: %d %s", test, status, body)
		}
	}
	clock.Advance(15 * time.Minute)
	if status, body := get(key, expires, "good"); status != http.StatusForbidden || !strings.Contains(body, "expired") {
		t.Errorf("after its end: %d %s", status, body)
	}
}
