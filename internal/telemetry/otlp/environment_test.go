package otlp

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	exporter = "OTEL_EXPORTER_OTLP_"
	endpoint = exporter + "ENDPOINT=http://collector:4318"
)

// TestEnabled pushes only when the environment names the exporter or an endpoint.
func TestEnabled(t *testing.T) {
	for environ, url := range map[string]string{
		"":                                       "",
		"PATH=/bin":                              "",
		"OTEL_METRICS_EXPORTER=none":             "",
		exporter + "PROTOCOL=grpc":               "", // for other signals
		exporter + "ENDPOINT=":                   "",
		endpoint:                                 "http://collector:4318/v1/metrics",
		endpoint + "/otlp/":                      "http://collector:4318/otlp/v1/metrics",
		endpoint + " OTEL_METRICS_EXPORTER=none": "",
		endpoint + " OTEL_SDK_DISABLED=True":     "",
		endpoint + " OTEL_SDK_DISABLED=false":    "http://collector:4318/v1/metrics",
		"OTEL_METRICS_EXPORTER=otlp":             "http://localhost:4318/v1/metrics",
		endpoint + " " + exporter + "METRICS_ENDPOINT=https://in.example/x?key=1": "https://in.example/x?key=1",
	} {
		got := ""
		switch s, err := Load(strings.Fields(environ)); {
		case err != nil:
			t.Errorf("%s: %v", environ, err)
		case s != nil:
			got = s.url.String()
		}
		if got != url {
			t.Errorf("%s: pushes to %q, want %q", environ, got, url)
		}
	}
}

func TestSettings(t *testing.T) {
	s, err := Load([]string{
		endpoint, exporter + "HEADERS=a=1", exporter + "METRICS_HEADERS=Authorization=Basic%20YTpi, x-key = k%2C1 ,",
		exporter + "TIMEOUT=1", exporter + "METRICS_TIMEOUT=2500", exporter + "COMPRESSION=gzip",
		exporter + "METRICS_COMPRESSION=none", exporter + "PROTOCOL=http/protobuf",
		"OTEL_METRIC_EXPORT_INTERVAL=1000", "OTEL_METRIC_EXPORT_TIMEOUT=700", "OTEL_SERVICE_NAME=games",
		"OTEL_RESOURCE_ATTRIBUTES=service.name=other,deployment.environment.name=a%3Db,service.instance.id=i-1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.interval != time.Second || s.limit != 700*time.Millisecond || s.attempt != 2500*time.Millisecond || s.gzip {
		t.Errorf("%+v", s)
	}
	if len(s.header) != 2 || s.header.Get("Authorization") != "Basic YTpi" || s.header.Get("X-Key") != "k,1" {
		t.Errorf("header %v", s.header)
	}
	if want := map[string]string{
		serviceName: "games", "deployment.environment.name": "a=b", serviceInstance: "i-1",
	}; !maps.Equal(s.resource, want) {
		t.Errorf("resource %v, want %v", s.resource, want)
	}
	s, err = Load([]string{endpoint})
	if err != nil || s.interval != time.Minute || s.limit != 30*time.Second || s.attempt != 10*time.Second {
		t.Errorf("defaults %+v, %v", s, err)
	}
}

// TestBadVariables names the variable and the fix, and never a value that may be secret.
func TestBadVariables(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for entry, want := range map[string]string{
		"OTEL_SDK_DISABLED=1":                             "true or false",
		"OTEL_METRICS_EXPORTER=prometheus":                "otlp or none",
		exporter + "ENDPOINT=collector:4317":              "http://collector:4318",
		exporter + "METRICS_ENDPOINT=http://":             "http://collector:4318",
		exporter + "PROTOCOL=grpc":                        "set http/protobuf",
		exporter + "METRICS_PROTOCOL=http/json":           "set http/protobuf",
		exporter + "COMPRESSION=zstd":                     "gzip or none",
		exporter + "TIMEOUT=10s":                          "milliseconds",
		exporter + "HEADERS=secret":                       "entry 1 is not key=value",
		exporter + "HEADERS=a=b,c=%zsecret":               "entry 2 is not key=value",
		exporter + "HEADERS=a b=secret":                   "not a header",
		exporter + "HEADERS=a=secret%0A":                  "control characters",
		exporter + "CERTIFICATE=/missing":                 "no such file",
		exporter + "CERTIFICATE=" + empty:                 "no certificate in PEM",
		exporter + "CLIENT_CERTIFICATE=/missing":          "or neither",
		exporter + "METRICS_CLIENT_KEY=" + empty:          "or neither",
		"OTEL_METRIC_EXPORT_INTERVAL=0":                   "milliseconds",
		"OTEL_METRIC_EXPORT_TIMEOUT=-1":                   "milliseconds",
		"OTEL_RESOURCE_ATTRIBUTES=service.name":           "entry 1",
		exporter + "METRICS_TEMPORALITY_PREFERENCE=delta": "cumulative",
	} {
		name, _, _ := strings.Cut(entry, "=")
		_, err := Load([]string{endpoint, entry})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", entry, err, want)
		} else if !strings.HasPrefix(err.Error(), name) && !strings.Contains(err.Error(), "or neither") {
			t.Errorf("%s: %v does not name the variable", entry, err)
		}
	}
}
