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

// TestMetricsAreLocal answers the metrics to this machine, or at an address of their own.
func TestMetricsAreLocal(t *testing.T) {
	get := func(url string, headers ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	const series = "go_goroutines"
	t.Run("on the other ports", func(t *testing.T) {
		e, stop := startGateway(t, func(*config.Config) {})
		for _, base := range []string{e.HTTP, e.Gateway} {
			if status, text := get(base + "/metrics"); status != http.StatusOK || !strings.Contains(text, series) {
				t.Errorf("%s: %d %.100s", base, status, text)
			}
			if status, text := get(base+"/metrics", "X-Forwarded-For", "192.0.2.1"); status != http.StatusForbidden ||
				strings.Contains(text, series) {
				t.Errorf("%s for a client of a proxy: %d %.100s", base, status, text)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	t.Run("on their own", func(t *testing.T) {
		e, stop := startGateway(t, func(c *config.Config) { c.MetricsListen = "127.0.0.1:0" })
		if status, text := get(e.Metrics); status != http.StatusOK || !strings.Contains(text, series) {
			t.Errorf("%d %.100s", status, text)
		}
		for _, base := range []string{e.HTTP, e.Gateway} {
			if status, text := get(base + "/metrics"); status == http.StatusOK || strings.Contains(text, series) {
				t.Errorf("%s: %d %.100s", base, status, text)
			}
		}
		if status, text := get(e.HTTP + "/metrics"); status != http.StatusNotFound ||
			!strings.Contains(text, "metrics-listen") {
			t.Errorf("%d %.100s", status, text)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	elsewhere := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	elsewhere.RemoteAddr = "192.0.2.1:1000"
	w := httptest.NewRecorder()
	localMetrics(http.NotFoundHandler()).ServeHTTP(w, elsewhere)
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "metrics-listen") {
		t.Errorf("from elsewhere: %d %s", w.Code, w.Body)
	}
	if _, err := openMetrics(context.Background(), "127.0.0.1:bad", nil, http.NotFoundHandler(), nil); err == nil ||
		!strings.Contains(err.Error(), "metrics-listen") {
		t.Errorf("an address that cannot be used: %v", err)
	}
}
