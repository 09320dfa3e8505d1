package cloudwatch_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/cloudwatch"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// start is a whole day, and now is three hours later.
var (
	start = time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	now   = start.Add(3 * time.Hour)
)

// A store has the metrics of two fleets: at each minute from start to now, a sample of ActiveGameSessions that is the
// number of minutes since start, times the number of the fleet. IdleInstances has no points.
type store struct {
	many int // more series, of a metric of their own
	asks []string
}

func fleetSeries(metric, id string) metrics.Series {
	return metrics.Series{Metric: metric, Dimensions: []metrics.Dimension{{Name: "FleetId", Value: id}}}
}

func (s *store) List(recent bool) []metrics.Series {
	all := []metrics.Series{
		fleetSeries("IdleInstances", "fleet-1"), fleetSeries("ActiveGameSessions", "fleet-2"),
		fleetSeries("ActiveGameSessions", "fleet-1"),
		{Metric: "ActiveGameSessions", Dimensions: []metrics.Dimension{{Name: "FleetId", Value: "fleet-1"},
			{Name: "Location", Value: "custom-home"}}},
		{Metric: "QueueDepth", Dimensions: []metrics.Dimension{{Name: "QueueName", Value: "a queue"}}},
		{Metric: "ActiveGameSessions", Dimensions: []metrics.Dimension{{Name: "MetricGroup", Value: "default"}}},
	}
	if recent {
		all = all[:3]
	}
	for i := range s.many {
		all = append(all, fleetSeries("Many", "fleet-"+strings.Repeat("x", i)))
	}
	slices.SortFunc(all, metrics.Series.Compare)
	return all
}

func (s *store) Points(ctx context.Context, series metrics.Series, from, to time.Time, period time.Duration) (
	points []metrics.Point, err error,
) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.asks = append(s.asks, from.Format(time.RFC3339)+" "+to.Format(time.RFC3339)+" "+period.String())
	factor := 1.0
	if len(series.Dimensions) > 0 && series.Dimensions[0].Value == "fleet-2" {
		factor = 2
	}
	if series.Metric != "ActiveGameSessions" {
		return nil, nil
	}
	for ; from.Before(to); from = from.Add(period) {
		p := metrics.Point{At: from, Minimum: math.Inf(1), Maximum: math.Inf(-1)}
		for at := from; at.Before(from.Add(period)); at = at.Add(time.Minute) {
			if at.Before(start) || !at.Before(now) {
				continue
			}
			v := factor * at.Sub(start).Minutes()
			p.Count, p.Sum, p.Minimum, p.Maximum = p.Count+1, p.Sum+v, min(p.Minimum, v), max(p.Maximum, v)
		}
		if p.Count > 0 {
			points = append(points, p)
		}
	}
	return points, nil
}

// Quantile has a value at each period for TimeToMatch: 100 times the quantile.
func (s *store) Quantile(_ context.Context, series metrics.Series, q float64, from, to time.Time,
	period time.Duration) (
	values []metrics.Quantile, err error,
) {
	for ; series.Metric == "TimeToMatch" && from.Before(to); from = from.Add(period) {
		values = append(values, metrics.Quantile{At: from, Value: 100 * q})
	}
	return values, nil
}

func (s *store) Unit(metric string) string {
	if metric == "TimeToMatch" {
		return "Seconds"
	}
	return "Count"
}

// A gate is the access of an open service, which denies some actions.
type gate struct {
	denied  map[string]bool
	refused []string
}

func (g *gate) Secret(string, string) (sigv4.Credential, bool) { return sigv4.Credential{}, false }

func (g *gate) IdentityOf(sigv4.Caller) *access.Identity { return nil }

func (g *gate) Allow(_ *access.Identity, _ access.Origin, action policy.Action, _ ...string) error {
	if g.denied[action.String()] {
		return fault.New(fault.AccessDenied, "not authorized to perform: %s", action)
	}
	return nil
}

func (g *gate) Refused(_ string, _ access.Origin, name string, _ error) {
	g.refused = append(g.refused, name)
}

// A world is an endpoint.
type world struct {
	t        testing.TB
	store    *store
	gate     *gate
	closed   bool
	handler  http.Handler
	observed []string
}

func newWorld(t testing.TB, change func(*cloudwatch.Config)) *world {
	w := &world{t: t, store: &store{}, gate: &gate{denied: map[string]bool{}}}
	c := cloudwatch.Config{
		Store: w.store, Access: w.gate, Account: "123456789012", Open: true,
		Ready: func(context.Context) bool { return true },
		Allow: func(string, string) bool { return true },
		Enter: func() bool { return !w.closed }, Leave: func() {},
		Observe: func(operation, exception string, _ float64, _, _ int) {
			w.observed = append(w.observed, strings.TrimSpace(operation+" "+exception))
		},
		Clock: clockwork.NewFakeClockAt(now), Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&c)
	}
	w.handler = cloudwatch.New(c)
	return w
}

// post sends a request to an operation in JSON.
func (w *world) post(operation, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "GraniteServiceVersion20100801."+operation)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	return w.send(r)
}

func (w *world) send(r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	w.handler.ServeHTTP(answer, r)
	if answer.Header().Get("X-Amzn-Requestid") == "" || answer.Header().Get("Date") == "" {
		w.t.Errorf("the answer lacks headers: %v", answer.Header())
	}
	return answer
}

// call returns the answer to a call that must succeed.
func (w *world) call(operation string, in map[string]any) map[string]any {
	w.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	answer := w.post(operation, string(body))
	out := map[string]any{}
	if err := json.Unmarshal(answer.Body.Bytes(), &out); err != nil || answer.Code != http.StatusOK {
		w.t.Fatalf("%s: %d %s", operation, answer.Code, answer.Body)
	}
	return out
}

// fails holds that a call fails with a code, and a message that has a text in it.
func (w *world) fails(operation, body, code, message string) {
	w.t.Helper()
	answer := w.post(operation, body)
	got, _, _ := strings.Cut(answer.Header().Get("X-Amzn-Query-Error"), ";")
	if got != code || !strings.Contains(answer.Body.String(), message) || answer.Code < 400 {
		w.t.Errorf("%s %.200s: %d %s %s, want %s with %q", operation, body, answer.Code, got, answer.Body, code,
			message)
	}
}

// text is JSON in one line.
func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// labels are the labels of results, sorted.
func labels(out map[string]any) (all []string) {
	for _, r := range out["MetricDataResults"].([]any) {
		all = append(all, r.(map[string]any)["Label"].(string))
	}
	slices.Sort(all)
	return all
}
