package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/config"
)

// TestPusher pushes the metrics of a service when it stops, to the collector that its environment names.
func TestPusher(t *testing.T) {
	bodies := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		bodies <- string(text)
	}))
	defer collector.Close()
	_, stop := startGateway(t, func(c *config.Config) {
		c.Environ = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	body := <-bodies
	for _, part := range []string{
		"muster_build_info", "go_goroutines", "muster_journal_append_seconds", "service.name",
	} {
		if !strings.Contains(body, part) {
			t.Errorf("%d bytes without %s", len(body), part)
		}
	}
}

// TestBadPushVariable does not start a service, nor a gateway, whose metrics would not arrive.
func TestBadPushVariable(t *testing.T) {
	environ := []string{"OTEL_METRICS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}
	c := config.Default()
	c.Data, c.Environ = t.TempDir(), environ
	g := config.DefaultStandaloneGateway()
	g.Environ = environ
	for name, err := range map[string]error{
		"service": Run(context.Background(), c), "gateway": RunGateway(context.Background(), g),
	} {
		if err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_PROTOCOL") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
