package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/gateway"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	gsess    = "arn:aws:gamelift:eu-central-1::gamesession/fleet-1/custom-attic/gsess-1"
	patience = 60 * time.Second
)

// A call is a request as the gateway has seen it.
type call struct {
	line   string // method and URI
	body   string
	header http.Header
}

// A script is a gateway that gives one answer to everything.
type script struct {
	*httptest.Server
	mu    sync.Mutex
	calls []call
}

// answer makes a gateway that answers with a status and a body.
func answer(t testing.TB, status int, body string) *script {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if _, err := io.WriteString(w, body); err != nil {
			t.Error(err)
		}
	})
}

// serve makes a gateway that answers as handler does.
func serve(t testing.TB, handler http.HandlerFunc) *script {
	t.Helper()
	s := new(script)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.calls = append(s.calls, call{r.Method + " " + r.RequestURI, string(body), r.Header})
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// last is the latest call.
func (s *script) last(t testing.TB) call {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) == 0 {
		t.Fatal("the gateway was not called")
	}
	return s.calls[len(s.calls)-1]
}

// A provider is all that New returns.
type provider interface {
	session.Provider
	session.Matchmaker
	session.TicketWatcher
	session.Releaser
}

// provider makes a configured provider for the script.
func (s *script) provider(t testing.TB, change ...func(*gateway.Config)) provider {
	t.Helper()
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	cfg := gateway.Config{URL: s.URL, HTTPClient: &http.Client{Transport: transport}}
	for _, f := range change {
		f(&cfg)
	}
	p := gateway.New(cfg).(provider)
	if err := p.Configure(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return p
}

// wantError checks the kind and the gateway's code of a failure.
func wantError(t testing.TB, err, kind error, code string) {
	t.Helper()
	e, ok := errors.AsType[*session.Error](err)
	switch {
	case !ok:
		t.Errorf("got %v, want an error of the session package", err)
	case !errors.Is(err, kind), e.Code != code:
		t.Errorf("got %v (%v, code %q), want %v with code %q", err, e.Kind, e.Code, kind, code)
	case e.Op == "" || e.Message == "":
		t.Errorf("%#v says too little", e)
	}
}
