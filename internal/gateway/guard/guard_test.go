package guard

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func TestConfigNamesEveryMistake(t *testing.T) {
	_, err := New(Config{
		Keys: map[string]string{"": "0123456789abcdef", "short": "short"}, AddressRate: Rate{PerSecond: -1},
		PlayerRate:     Rate{Burst: -1},
		TrustedProxies: []netip.Prefix{{}}, Tokens: &Tokens{Issuer: "somebody", Skew: -1},
	})
	for _, want := range []string{
		"has no name", `"short" has 5`, "AddressRate", "PlayerRate", "TrustedProxies", "set Tokens.KeysURL",
		"Tokens.Skew",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %s in %v", want, err)
		}
	}
	for want, cfg := range map[string]Config{
		"Tokens.Issuer is missing": {Tokens: &Tokens{}},
		"Tokens.KeysURL":           {Tokens: &Tokens{Issuer: "i", KeysURL: "keys.json"}},
		"Routes":                   {Routes: []string{"GET /a", "GET /a"}},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something about %s", err, want)
		}
	}
	registry := prometheus.NewRegistry()
	if _, err := New(Config{Registerer: registry}); err != nil {
		t.Error(err)
	}
	if _, err := New(Config{Registerer: registry}); err == nil || !strings.Contains(err.Error(), "Registerer") {
		t.Errorf("got %v for metrics that are there already", err)
	}
}

func TestRequestIDs(t *testing.T) {
	var seen string
	g := guard(t, Config{}, func(_ http.ResponseWriter, r *http.Request) { seen = RequestID(r.Context()) })
	for id, kept := range map[string]bool{
		"abc-123": true, "Root=1-67891233-abcdef012345678912345678": true, strings.Repeat("x", 128): true,
		"": false, "a b": false, "a\"b": false, "ä": false, strings.Repeat("x", 129): false, "a\r\nb": false,
	} {
		w := g.get("/", "X-Request-Id: "+id)
		if got := w.Header().Get("X-Request-Id"); got != seen || got == "" || (got == id) != kept {
			t.Errorf("%q became %q for the client and %q for the handler", id, got, seen)
		}
	}
	if RequestID(context.Background()) != "" || Subject(context.Background()) != "" ||
		of(context.Background()).key != "" || Address(context.Background()).IsValid() {
		t.Error("there is something outside of a guard")
	}
}

func TestSecurityHeadersAreThere(t *testing.T) {
	g := guard(t, Config{}, nil)
	for path := range map[string]bool{"/": true, "/healthz": true} {
		h := g.get(path).Header()
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "'none'") {
			t.Errorf("%s: %v", path, h)
		}
	}
}

func TestPanicsBecomeAnswers(t *testing.T) {
	registry := prometheus.NewRegistry()
	g := guard(t, Config{
		Registerer: registry, Scrape: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), AccessLog: true,
		Routes: []string{"GET /early", "GET /late"},
	}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			w.WriteHeader(http.StatusOK)
		}
		panic("oh no")
	})
	g.refused(g.get("/early"), http.StatusInternalServerError, "internal")
	e := g.log.entry(t, "handler panicked")
	if stack, _ := e["stack"].(string); e["panic"] != "oh no" || !strings.Contains(stack, "guard_test.go") {
		t.Errorf("the log says %v", e)
	}
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("half an answer ended with %v, want a connection that is cut", p)
			}
		}()
		g.get("/late")
	}()
	g.counted(
		`muster_gateway_requests_total{code="500",route="GET /early"} 1`,
		`muster_gateway_requests_total{code="200",route="GET /late"} 1`,
		`muster_gateway_refused_total{reason="panic"} 1`,
	)
}

func TestProbes(t *testing.T) {
	var broken error
	g := guard(t, Config{
		Keys: map[string]string{"game": "0123456789abcdef"}, AddressRate: Rate{PerSecond: 0.001, Burst: 1},
		Ready: func(context.Context) error { return broken }, Registerer: prometheus.NewRegistry(),
		Scrape: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "figures") }),
	}, nil)
	for range 3 { // without keys and limits
		for path, want := range map[string]string{"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ok"}`} {
			if w := g.get(path); w.Code != http.StatusOK || w.Body.String() != want {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	}
	for _, from := range []string{"127.0.0.1:1000", "[::1]:1000"} {
		if w := g.scrape(from); w.Code != http.StatusOK || w.Body.String() != "figures" {
			t.Errorf("the metrics from %s: %d %s", from, w.Code, w.Body)
		}
	}
	g.refused(g.scrape("192.0.2.77:1000"), http.StatusUnauthorized, "unauthenticated") // not the metrics' answer
	w := g.scrape("127.0.0.1:1000", "X-Forwarded-For: 192.0.2.2", "X-Api-Key: 0123456789abcdef")
	if strings.Contains(w.Body.String(), "figures") {
		t.Error("a proxy on this machine shows the metrics to strangers")
	}
	broken = errors.New("the database of the bank is gone")
	if w := g.get("/readyz"); w.Code != http.StatusServiceUnavailable || w.Body.String() != `{"status":"not ready"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if e := g.log.entry(t, "not ready"); e["error"] != broken.Error() {
		t.Errorf("%v", e)
	}
	if w := g.do(httptest.NewRequest(http.MethodPost, "/healthz", nil)); w.Code != http.StatusUnauthorized {
		t.Errorf("a POST is no probe, but got %d", w.Code)
	}
	if w := guard(t, Config{}, nil).get("/metrics"); w.Body.String() != `{"hello":"world"}` {
		t.Errorf("without metrics the path is the handler's, but got %s", w.Body)
	}
}

func TestBodiesAreLimited(t *testing.T) {
	var failed error
	g := guard(t, Config{MaxBody: 10}, func(_ http.ResponseWriter, r *http.Request) { _, failed = io.ReadAll(r.Body) })
	g.refused(g.do(httptest.NewRequest(http.MethodPost, "/", strings.NewReader("12345678901"))),
		http.StatusRequestEntityTooLarge, "body_too_large")
	if w := g.do(httptest.NewRequest(http.MethodPost, "/", strings.NewReader("1234567890"))); w.Code != http.StatusOK ||
		failed != nil {
		t.Errorf("%d, %v", w.Code, failed)
	}
	unsized := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader("12345678901")))
	g.do(unsized)
	if _, ok := errors.AsType[*http.MaxBytesError](failed); !ok {
		t.Errorf("got %v for a body that turned out too large", failed)
	}
	g = guard(t, Config{MaxBody: -1}, nil)
	w := g.do(httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", DefaultMaxBody+1))))
	if w.Code != http.StatusOK {
		t.Errorf("%d without a limit", w.Code)
	}
}

func TestCORS(t *testing.T) {
	preflight := []string{"Origin: https://play.example.com", "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: authorization,content-type"}
	options := func() *http.Request { return httptest.NewRequest(http.MethodOptions, "/create_session", nil) }
	keys := map[string]string{"game": "0123456789abcdef"}

	g := guard(t, Config{Keys: keys, Origins: []string{"https://play.example.com"}}, nil)
	w := g.do(options(), preflight...)
	if w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Origin") != "https://play.example.com" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	w = g.do(options(), "Origin: https://evil.example.com", preflight[1])
	if w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a stranger is allowed: %v", w.Header())
	}
	w = g.get("/", preflight[0], "X-Api-Key: 0123456789abcdef")
	if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Access-Control-Expose-Headers"), "X-Request-Id") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	w = guard(t, Config{Keys: keys}, nil).do(options(), preflight...)
	if w.Code != http.StatusForbidden || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("CORS is on by itself: %d %v", w.Code, w.Header())
	}
}

func TestAccessLogSaysWhoAndWhatButNoSecrets(t *testing.T) {
	g := guard(t, Config{Keys: map[string]string{"studio": "0123456789abcdef"}, AccessLog: true,
		Routes: []string{"POST /v1/sessions/{id}/players"}}, nil)
	r := httptest.NewRequest(http.MethodPost, "/v1/sessions/gsess-1/players?token=hidden",
		strings.NewReader(`{"uuid":"ada"}`))
	r.RemoteAddr = "192.0.2.7:1234"
	w := g.do(r, "X-Api-Key: 0123456789abcdef", "X-Request-Id: req-1")
	want := map[string]any{
		"method": "POST", "route": "POST /v1/sessions/{id}/players", "status": 200.0, "bytes": float64(w.Body.Len()),
		"request": "req-1", "address": "192.0.2.7", "key": "studio",
	}
	e := g.log.entry(t, "request")
	for name, value := range want {
		if e[name] != value {
			t.Errorf("%s is %v, want %v", name, e[name], value)
		}
	}
	for _, secret := range []string{"0123456789abcdef", "hidden", "ada", "gsess-1"} {
		if strings.Contains(g.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	g := guard(t, Config{
		Registerer: registry, Scrape: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		Keys:   map[string]string{"studio": "0123456789abcdef"},
		Routes: []string{"GET /find_session"},
	}, nil)
	g.get("/find_session", "X-Api-Key: 0123456789abcdef")
	g.get("/find_session")
	for _, path := range []string{"/a", "/b", "/find_session/x"} {
		g.get(path, "X-Api-Key: wrong")
	}
	g.counted(
		`muster_gateway_requests_total{code="200",route="GET /find_session"} 1`,
		`muster_gateway_requests_total{code="401",route="GET /find_session"} 1`,
		`muster_gateway_requests_total{code="401",route="unknown"} 3`,
		`muster_gateway_refused_total{reason="bad_credentials"} 3`,
		`muster_gateway_refused_total{reason="no_credentials"} 1`, `muster_gateway_requests_in_flight 1`,
		`muster_gateway_request_seconds_count{route="GET /find_session"} 2`,
	)
}

// counted checks that /metrics has these lines.
func (g *guarded) counted(want ...string) {
	g.Helper()
	figures := g.scrape("127.0.0.1:1").Body.String()
	for _, line := range want {
		if !strings.Contains(figures, line+"\n") {
			g.Errorf("no %s in\n%s", line, figures)
		}
	}
}

// A stream must pass through a guard as it is written.
func TestStreamsFlow(t *testing.T) {
	more := make(chan struct{})
	g := guard(t, Config{AccessLog: true}, func(w http.ResponseWriter, r *http.Request) {
		for _, event := range []string{"one", "two"} {
			_, _ = io.WriteString(w, event)
			if f, ok := w.(http.Flusher); !ok || http.NewResponseController(w).Flush() != nil {
				t.Error("it cannot flush")
			} else {
				f.Flush()
			}
			select {
			case <-more:
			case <-r.Context().Done():
			}
		}
	})
	server := httptest.NewServer(g.handler)
	defer server.Close()
	answer, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for _, want := range []string{"one", "two"} {
		got := make([]byte, 3)
		if _, err := io.ReadFull(answer.Body, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v", got, err)
		}
		more <- struct{}{}
	}
}

func TestRefuseHasItsOwnForm(t *testing.T) {
	g := guard(t, Config{
		Keys: map[string]string{"studio": "0123456789abcdef"},
		Refuse: func(w http.ResponseWriter, _ *http.Request, f Refusal) {
			w.WriteHeader(f.Status)
			_, _ = io.WriteString(w, "refused: "+f.Code)
		},
	}, nil)
	if w := g.get("/"); w.Code != http.StatusUnauthorized || w.Body.String() != "refused: unauthenticated" ||
		w.Header().Get("WWW-Authenticate") == "" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
}

// TestRefusedRequestsDoNotFillTheLog refuses many requests, and says so once a second.
func TestRefusedRequestsDoNotFillTheLog(t *testing.T) {
	g := guard(t, Config{
		Keys: map[string]string{"studio": "0123456789abcdef"}, AccessLog: true, Routes: []string{"GET /known"},
		Ready: func(context.Context) error { return errors.New("no service") },
	}, nil)
	count := func(level, message string) int {
		return strings.Count(g.log.String(), `"level":"`+level+`","msg":"`+message+`"`)
	}
	for range 50 {
		g.get("/known") // without credentials
		g.get("/other")
		g.get("/readyz")
	}
	g.clock.Advance(time.Second)
	g.get("/known")
	if requests, ready := count("INFO", "request"), count("WARN", "not ready"); requests != 2 || ready != 1 ||
		!strings.Contains(g.log.String(), `"suppressed":`) {
		t.Errorf("%d requests and %d probes are logged:\n%.2000s", requests, ready, g.log)
	}
	g.get("/known", "X-Api-Key: 0123456789abcdef")
	before := count("INFO", "request")
	for range 5 {
		g.get("/known", "X-Api-Key: 0123456789abcdef")
	}
	if got := count("INFO", "request") - before; got != 5 {
		t.Errorf("%d of 5 requests with credentials are logged", got)
	}
}

// TestForeignOriginsAreRefused keeps web pages of other hosts from having an effect, of
// which they would only not see the answer.
func TestForeignOriginsAreRefused(t *testing.T) {
	called := false
	handler := func(http.ResponseWriter, *http.Request) { called = true }
	for _, c := range []struct {
		allowed []string
		origin  string // "": none is sent
		want    bool   // the request passes
	}{
		{nil, "", true},
		{nil, "http://example.com", true}, // the host of the requests
		{nil, "https://EXAMPLE.com", true},
		{nil, "https://evil.example.com", false},
		{nil, "http://example.com:8080", false},
		{nil, "null", false},
		{[]string{"https://play.example.com"}, "https://play.example.com", true},
		{[]string{"https://play.example.com"}, "https://evil.example.com", false},
		{[]string{"https://play.example.com"}, "http://example.com", true},
		{[]string{"*"}, "https://evil.example.com", true},
	} {
		g := guard(t, Config{Origins: c.allowed}, handler)
		called = false
		r := httptest.NewRequest(http.MethodPost, "/create_session", nil)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := g.do(r)
		if called != c.want {
			t.Errorf("origin %q with %v: passed is %t", c.origin, c.allowed, called)
		}
		if !c.want {
			g.refused(w, http.StatusForbidden, "forbidden")
		}
	}
}
