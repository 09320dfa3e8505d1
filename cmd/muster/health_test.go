package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/muster-gg/muster"
)

func TestHealth(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			http.Error(w, "recovering", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ready\n"))
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	closed := httptest.NewServer(handler)
	closed.Close()
	address := func(s *httptest.Server) string { return s.Listener.Addr().String() }

	for _, test := range []struct {
		name    string
		environ []string
		args    []string
		status  int
		want    string
	}{
		{"by a variable", []string{"MUSTER_LISTEN=" + address(plain)}, nil, exitOK, "ready\n"},
		{"by a flag", nil, []string{"--listen", address(plain)}, exitOK, "ready\n"},
		{"TLS only", nil, []string{"--listen", address(secure), "--plaintext", "refuse"}, exitOK, "ready\n"},
		{"not ready", nil, []string{"--url", plain.URL + "/other"}, exitFailure, "503 Service Unavailable: recovering"},
		{"nothing listens", nil, []string{"--listen", address(closed)}, exitFailure, "refused"},
		{"any port", nil, []string{"--listen", ":0"}, exitMisuse, "give --url"},
		{"no URL", nil, []string{"--url", ":"}, exitMisuse, "missing protocol scheme"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := execute(t, test.environ, append([]string{"health"}, test.args...)...)
			if got.status != test.status || !strings.Contains(got.stdout+got.stderr, test.want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestReadinessURL(t *testing.T) {
	for listen, want := range map[string]string{
		":9080": "http://127.0.0.1:9080/readyz", "0.0.0.0:80": "http://127.0.0.1:80/readyz",
		"[::]:80": "http://127.0.0.1:80/readyz", "[::1]:80": "http://[::1]:80/readyz",
		"10.0.0.5:9080": "http://10.0.0.5:9080/readyz",
	} {
		if got, err := readinessURL(muster.Config{Listen: listen}); err != nil || got != want {
			t.Errorf("%s: %s, %v", listen, got, err)
		}
	}
}
