package guard

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// epoch is when the tests begin by their clock.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// guarded is a handler behind a guard with a fake clock. Without one, hello answers.
type guarded struct {
	*testing.T
	*Guard
	handler http.Handler
	clock   *clockwork.FakeClock
	log     *lines
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"hello":"world"}`) }

func guard(t *testing.T, cfg Config, next http.HandlerFunc) *guarded {
	t.Helper()
	g := &guarded{T: t, clock: clockwork.NewFakeClockAt(epoch), log: &lines{}}
	cfg.Clock, cfg.Log = g.clock, slog.New(slog.NewJSONHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if g.Guard, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	if next == nil {
		next = hello
	}
	g.handler = g.Wrap(next)
	return g
}

// get asks with headers as "Name: value".
func (g *guarded) get(path string, headers ...string) *httptest.ResponseRecorder {
	return g.do(httptest.NewRequest(http.MethodGet, path, nil), headers...)
}

// scrape asks for the metrics from an address.
func (g *guarded) scrape(from string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.RemoteAddr = from
	return g.do(r, headers...)
}

func (g *guarded) do(r *http.Request, headers ...string) *httptest.ResponseRecorder {
	g.Helper()
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	return w
}

// refused checks the form of a refusal.
func (g *guarded) refused(w *httptest.ResponseRecorder, status int, code string) {
	g.Helper()
	var body map[string]string
	err := json.Unmarshal(w.Body.Bytes(), &body)
	if w.Code != status || err != nil || body["code"] != code || body["error"] == "" ||
		body["requestId"] != w.Header().Get("X-Request-Id") || len(body) != 3 {
		g.Errorf("got %d %s, want %d %s", w.Code, w.Body, status, code)
	}
	if w.Header().Get("Content-Type") != "application/json" {
		g.Errorf("the refusal is %q", w.Header().Get("Content-Type"))
	}
}

// lines is a log that can be read.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// entry is the first line of the log with the message.
func (l *lines) entry(t *testing.T, message string) (e map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		e = nil
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e["msg"] == message {
			return e
		}
	}
	t.Fatalf("no %q in the log:\n%s", message, l)
	return nil
}
