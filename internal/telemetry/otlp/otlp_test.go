package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A rig is a pusher with a clock that the test turns.
type rig struct {
	*Pusher
	clock    *clockwork.FakeClock
	registry *prometheus.Registry
	log      *bytes.Buffer
}

func newRig(t *testing.T, environ ...string) *rig {
	t.Helper()
	settings, err := Load(environ)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{clock: clockwork.NewFakeClock(), registry: prometheus.NewRegistry(), log: &bytes.Buffer{}}
	r.Pusher, err = New(Config{
		Settings: settings, Registry: r.registry, Version: "v1", Instance: "node-1", Clock: r.clock,
		Log: slog.New(slog.NewTextHandler(r.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.client.CloseIdleConnections)
	return r
}

// pushed returns how many pushes had an outcome.
func (r *rig) pushed(t *testing.T, outcome string) float64 {
	t.Helper()
	var m dto.Metric
	if err := r.pushes.WithLabelValues(outcome).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.Counter.GetValue()
}

// await waits until some timers wait for the clock.
func (r *rig) await(t *testing.T, timers int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := r.clock.BlockUntilContext(ctx, timers); err != nil {
		t.Fatal(err)
	}
}

// start runs the pusher until stop is called.
func (r *rig) start(t *testing.T) (stop context.CancelFunc, ended chan error) {
	ctx, stop := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return stop, ended
}

func collector(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return exporter + "ENDPOINT=" + server.URL
}

// decode reads a request as a collector does.
func decode(t *testing.T, r *http.Request) *metrics.MetricsData {
	t.Helper()
	body, err := gzip.NewReader(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	all := &metrics.MetricsData{}
	if err := proto.Unmarshal(text, all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRun pushes at the interval, again when the collector was busy, and once more at the end.
func TestRun(t *testing.T) {
	requests := make(chan *metrics.MetricsData, 3)
	statuses := make(chan int, 3)
	address := collector(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/metrics" || r.Header.Get("X-Key") != "k 1" ||
			r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Content-Encoding") != "gzip" ||
			r.Header.Get("User-Agent") != "muster/v1" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		requests <- decode(t, r)
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(<-statuses)
	})
	r := newRig(t, address, exporter+"HEADERS=x-key=k%201", exporter+"COMPRESSION=gzip",
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test")
	calls := prometheus.NewCounter(prometheus.CounterOpts{Name: "calls_total", Help: "Calls."})
	r.registry.MustRegister(calls)
	calls.Add(7)
	stop, ended := r.start(t)

	r.await(t, 1) // the interval
	r.clock.Advance(time.Minute)
	first := <-requests
	statuses <- http.StatusServiceUnavailable
	r.await(t, 3) // besides, the limit of the push and the pause
	r.clock.Advance(4 * time.Second)
	r.await(t, 3)
	r.clock.Advance(time.Second)
	if second := <-requests; !proto.Equal(first, second) {
		t.Errorf("the retry has %v, the first try had %v", second, first)
	}
	statuses <- http.StatusOK
	r.await(t, 1)
	calls.Inc()
	stop()
	last := <-requests
	statuses <- http.StatusOK
	if err := <-ended; err != nil {
		t.Error(err)
	}
	attributes := first.ResourceMetrics[0].Resource.Attributes
	got := make(map[string]string)
	for _, a := range attributes {
		got[a.Key] = a.Value.GetStringValue()
	}
	if len(got) != 4 || got[serviceName] != "muster" || got[serviceVersion] != "v1" ||
		got[serviceInstance] != "node-1" {
		t.Errorf("resource %v", got)
	}
	for i, data := range []*metrics.MetricsData{first, last} {
		m := data.ResourceMetrics[0].ScopeMetrics[0].Metrics[0]
		if m.Name != "calls_total" || m.GetSum().DataPoints[0].GetAsDouble() != float64(7+i) {
			t.Errorf("push %d: %v", i, m)
		}
	}
	if r.pushed(t, failed) != 0 || strings.Contains(r.log.String(), "failed") {
		t.Error(r.log)
	}
}

// TestOutcomes pushes once to a collector that always answers the same.
func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		status       int
		header, body string
		outcome, log string
	}{
		"success":               {200, "", "", sent, ""},
		"partial success":       {200, "", "\x0a\x06\x08\x03\x12\x02no", partial, "rejected 3 data points: no"},
		"warning":               {200, "", "\x0a\x05\x12\x03old", sent, "warning=old"},
		"malformed answer":      {200, "", "\x0a\x06\x08", sent, ""},
		"bad request":           {400, "", "\x08\x03\x12\x05names", rejected, "400 Bad Request names"},
		"server error":          {500, "", "", rejected, "500"},
		"redirect":              {307, "Location=/elsewhere", "", rejected, "307"},
		"busy for longer":       {429, "Retry-After=60", "", failed, "429"},
		"busy until a date":     {503, "Retry-After=Wed, 04 Apr 2096 00:00:00 GMT", "", failed, "503"},
		"busy, with bad header": {504, "Retry-After=soon", "", failed, "504"},
	} {
		t.Run(name, func(t *testing.T) {
			address := collector(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/x-protobuf")
				if key, value, ok := strings.Cut(c.header, "="); ok {
					w.Header().Set(key, value)
				}
				if r.URL.Path != "/v1/metrics" {
					t.Errorf("requested %s", r.URL.Path)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			// The limit leaves no time for a pause, which is half a second or more.
			r := newRig(t, address, "OTEL_METRIC_EXPORT_TIMEOUT=400")
			r.push(t.Context(), r.limit)
			n, log := r.pushed(t, c.outcome), r.log.String()
			if n != 1 || !strings.Contains(log, c.log) || (c.log == "") != (log == "") {
				t.Errorf("%g with %s, log %q", n, c.outcome, log)
			}
		})
	}
}

// TestLogOnce logs a failure that lasts once, and its end.
func TestLogOnce(t *testing.T) {
	status := http.StatusBadRequest
	r := newRig(t, collector(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	for _, status = range []int{400, 400, 401, 400, 200, 200, 400} {
		r.push(t.Context(), r.limit)
	}
	if got := strings.Count(r.log.String(), "metrics push failed"); got != 3 {
		t.Errorf("%d failures in the log, want 400, 401 and again 400:\n%s", got, r.log)
	}
	if got := strings.Count(r.log.String(), "metrics push recovered"); got != 1 || r.pushed(t, rejected) != 5 {
		t.Errorf("%d recoveries in the log, %g rejected", got, r.pushed(t, rejected))
	}
}

// TestHangingCollector gives up an attempt, and the last push after its limit.
func TestHangingCollector(t *testing.T) {
	arrived := make(chan bool, 8)
	address := collector(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- true
		<-r.Context().Done()
	})
	r := newRig(t, address, exporter+"TIMEOUT=20", "OTEL_METRIC_EXPORT_TIMEOUT=400")
	r.push(t.Context(), r.limit)
	if r.pushed(t, failed) != 1 || !strings.Contains(r.log.String(), "deadline exceeded") {
		t.Errorf("log %s", r.log)
	}
	r = newRig(t, address)
	stop, ended := r.start(t)
	stop()
	<-arrived
	<-arrived
	r.clock.Advance(lastLimit)
	if err := <-ended; err != nil || r.pushed(t, failed) != 1 {
		t.Errorf("%v, log %s", err, r.log)
	}
}

// TestTLS pushes to a collector that asks for a client's certificate.
func TestTLS(t *testing.T) {
	var known *x509.Certificate
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.TLS.PeerCertificates[0].Equal(known) {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	known = server.Certificate() // that of the client, too
	t.Cleanup(server.Close)
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert := write("cert.pem", "CERTIFICATE", server.Certificate().Raw)
	address := exporter + "ENDPOINT=" + server.URL
	authority := exporter + "CERTIFICATE=" + cert
	identity := []string{exporter + "CLIENT_CERTIFICATE=" + cert,
		exporter + "CLIENT_KEY=" + write("key.pem", "PRIVATE KEY", key)}
	for name, c := range map[string]struct {
		environ []string
		outcome string
	}{
		"both":                  {append(identity, address, authority), sent},
		"no client certificate": {[]string{address, authority}, failed},
		"unknown authority":     {append(identity, address), failed},
	} {
		r := newRig(t, append(c.environ, "OTEL_METRIC_EXPORT_TIMEOUT=400")...)
		if r.push(t.Context(), r.limit); r.pushed(t, c.outcome) != 1 {
			t.Errorf("%s: log %s", name, r.log)
		}
	}
}

// TestIncompleteRegistry pushes what there is when one collector of the registry fails.
func TestIncompleteRegistry(t *testing.T) {
	r := newRig(t, collector(t, func(http.ResponseWriter, *http.Request) {}))
	desc := prometheus.NewDesc("broken", "B.", nil, nil)
	r.registry.MustRegister(broken{desc})
	r.push(t.Context(), r.limit)
	r.push(t.Context(), r.limit)
	if r.pushed(t, sent) != 2 || strings.Count(r.log.String(), "some metrics are missing") != 1 {
		t.Errorf("log %s", r.log)
	}
}

type broken struct{ desc *prometheus.Desc }

func (b broken) Describe(to chan<- *prometheus.Desc) { to <- b.desc }
func (b broken) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.NewInvalidMetric(b.desc, errors.New("it is broken"))
}

// TestNoPush runs without settings.
func TestNoPush(t *testing.T) {
	if p, err := New(Config{}); err != nil || p.Run(t.Context()) != nil {
		t.Error(err)
	}
}
