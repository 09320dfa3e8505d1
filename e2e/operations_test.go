package e2e

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// get fetches a page that needs no signature.
func (s *service) get(t testing.TB, path string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.HTTP+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

// metric is the value of a series; 0 when it is not there yet.
func (s *service) metric(t testing.TB, series string) float64 {
	t.Helper()
	_, page := s.get(t, "/metrics")
	for line := range strings.Lines(page) {
		if text, ok := strings.CutPrefix(line, series+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
	}
	return 0
}

func TestHealthPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		if status, body := s.get(t, path); status != http.StatusOK || body != want {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{})
	s.join(t, s.newActiveSession(t, fleet, home), "ada")

	_, page := s.get(t, "/metrics")
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil {
		t.Fatalf("the page does not parse: %v", err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "muster_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	for series, want := range map[string]float64{
		`muster_api_calls_total{exception="",operation="CreateFleet"}`:                                  1,
		`muster_api_call_seconds_count{operation="CreatePlayerSession"}`:                                1,
		`muster_server_process_sockets`:                                                                 1,
		`muster_server_process_actions_total{action="ActivateGameSession",status="200"}`:                1,
		`muster_server_process_pushes_total{action="CreateGameSession"}`:                                1,
		`muster_shard_recoveries_total{outcome="done",shard="0"}`:                                       1,
		`muster_server_process_refusals_total{status="403"}`:                                            0,
		`muster_api_calls_total{exception="GameSessionFullException",operation="CreatePlayerSessions"}`: 0,
	} {
		if got := s.metric(t, series); got != want {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	for _, series := range []string{
		"muster_journal_append_seconds_count", "muster_journal_bytes_total", "go_goroutines",
		`muster_api_bytes_total{direction="in"}`,
	} {
		if s.metric(t, series) <= 0 {
			t.Errorf("%s has no value", series)
		}
	}
}
