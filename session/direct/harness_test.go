package direct_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
	"github.com/muster-gg/muster/mustertest"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/direct"
)

// TestMain takes away what the environment says of AWS.
func TestMain(m *testing.M) {
	for _, name := range os.Environ() {
		if name, _, _ := strings.Cut(name, "="); strings.HasPrefix(name, "AWS_") {
			must(os.Unsetenv(name))
		}
	}
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_MAX_ATTEMPTS": "2",
	} {
		must(os.Setenv(name, value))
	}
	leaktest.Main(m)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

const (
	region = "eu-central-1"
	fleet  = "fleet-11111111-2222-3333-4444-555555555555"
	gsess  = "arn:aws:gamelift:eu-central-1::gamesession/" + fleet + "/custom-attic/gsess-1"
)

// A script answers the API for operations that a test names. It reads and writes
// with the shapes of the API's model, so a request that the model forbids is
// refused.
type script struct {
	testing.TB
	*httptest.Server

	mu       sync.Mutex
	handlers map[string]wire.Handler
	calls    []string
	changed  chan struct{} // has one after a call
}

func newScript(t testing.TB, handlers ...wire.Handler) *script {
	t.Helper()
	s := &script{TB: t, handlers: map[string]wire.Handler{}, changed: make(chan struct{}, 1)}
	for _, h := range handlers {
		s.handlers[h.Info.Name] = h
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	operation := path.Base(r.URL.Path)
	s.note(operation)
	h, known := s.handlers[operation]
	if !known {
		s.Errorf("unexpected call of %s", operation)
		w.WriteHeader(http.StatusNotImplemented)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	status, answer := http.StatusOK, []byte(nil)
	if err := h.Serve(r.Context(), wire.CBOR, body, &answer); err != nil {
		f := fault.Of(err)
		status, answer = f.Kind.HTTPStatus(), wire.AppendError(nil, wire.CBOR, f, h.Info.Models(f.Kind))
	}
	w.Header().Set("smithy-protocol", "rpc-v2-cbor")
	w.Header().Set("Content-Type", "application/cbor")
	w.WriteHeader(status)
	if _, err := w.Write(answer); err != nil {
		return // the client has gone
	}
}

func (s *script) note(operation string) {
	s.mu.Lock()
	s.calls = append(s.calls, operation)
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// made are the operations that were called, in order.
func (s *script) made() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.calls, " ")
}

// await waits until an operation has been called.
func (s *script) await(operation string) {
	s.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !strings.Contains(s.made(), operation) {
		select {
		case <-s.changed:
		case <-limit.C:
			s.Fatalf("%s was not called: %s", operation, s.made())
		}
	}
}

// lost is what a handler calls when its answer shall not arrive.
func lost() { panic(http.ErrAbortHandler) }

// A provider is all that New returns.
type provider interface {
	session.Provider
	session.Matchmaker
	session.Releaser
}

// provider makes a configured provider for the script.
func (s *script) provider(target direct.Target) provider {
	s.Helper()
	return newProvider(s, direct.Config{Endpoint: s.URL, Region: region, Target: target})
}

// newProvider makes a configured provider that ends with its test.
func newProvider(t testing.TB, cfg direct.Config) provider {
	t.Helper()
	if cfg.Credentials == nil {
		cfg.Credentials = mustertest.StaticKey("AKIDEXAMPLE", "secret")
	}
	cfg.HTTPClient = &http.Client{Transport: &http.Transport{}}
	t.Cleanup(cfg.HTTPClient.CloseIdleConnections)
	cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	p := direct.New(cfg).(provider)
	if err := p.Configure(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return p
}

// wantError checks the kind and the service's code of a failure.
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

const patience = 60 * time.Second

// answers binds an operation to answers, one for each call; the last one repeats.
func answers[I, O any](op wire.Operation[I, O], list ...*O) wire.Handler {
	var mu sync.Mutex
	return op.Handle(func(context.Context, *I) (*O, error) {
		mu.Lock()
		defer mu.Unlock()
		next := list[0]
		if len(list) > 1 {
			list = list[1:]
		}
		return next, nil
	})
}
