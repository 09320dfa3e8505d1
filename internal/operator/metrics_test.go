package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/metrics"
)

// measured has at each full minute the minute of the hour, but no value at minute 2.
type measured struct{ asked []string }

func (m *measured) Values(_ context.Context, s metrics.Series, statistic string, from, to time.Time,
	period time.Duration,
) (values []metrics.Quantile, err error) {
	m.asked = append(m.asked, fmt.Sprint(s.Metric, s.Dimensions, statistic))
	for ; from.Before(to); from = from.Add(period) {
		if minute := from.Minute(); minute != 2 {
			values = append(values, metrics.Quantile{At: from, Value: float64(minute)})
		}
	}
	return values, nil
}

func (*measured) Unit(metric string) string {
	if strings.HasPrefix(metric, "TimeTo") {
		return "Seconds"
	}
	return "Count"
}

func TestMetricsQuery(t *testing.T) {
	m := &measured{}
	w := newWorld(t, func(c *Config) { c.Metrics = m })
	const head = "/v1/metrics/query?from=2026-11-26T10:00:30Z&to=2026-11-26T10:04:00Z&"
	status, body := w.get(head + "metric=IdleInstances&metric=ActiveGameSessions&fleet=fleet-1&location=here")
	want := `{"period":60,"dimensions":{"FleetId":"fleet-1","Location":"here"},` +
		`"times":[1795687200,1795687260,1795687320,1795687380],"series":[` +
		`{"metric":"ActiveGameSessions","statistic":"Average","unit":"Count","values":[0,1,null,3]},` +
		`{"metric":"IdleInstances","statistic":"Average","unit":"Count","values":[0,1,null,3]}]}`
	if status != 200 || strings.TrimSpace(body) != want {
		t.Errorf("%d %s\nwant %s", status, body, want)
	}
	for query, asked := range map[string]string{
		"metric=RuleEvaluationsPassed&configuration=c&rule=r-1&statistic=Sum": "RuleEvaluationsPassed" +
			"[{ConfigurationName-RuleName c-r-1}]Sum",
		"metric=TimeToMatch&configuration=c&statistic=p99.9": "TimeToMatch[{ConfigurationName c}]p99.9",
		"metric=QueueDepth&queue=q&location=l":               "QueueDepth[{QueueName q} {Location l}]Average",
		"metric=ActiveInstances&group=g":                     "ActiveInstances[{MetricGroup g}]Average",
		"metric=Placement+custom-home&queue=q":               "Placement custom-home[{QueueName q}]Average",
	} {
		m.asked = nil
		if status, body := w.get(head + query); status != 200 || fmt.Sprint(m.asked) != "["+asked+"]" {
			t.Errorf("%s: %d %s, asked %v", query, status, body, m.asked)
		}
	}
	var table MetricTable
	_, body = w.get("/v1/metrics/query?metric=CurrentTickets&configuration=c")
	if err := json.Unmarshal([]byte(body), &table); err != nil || len(table.Times) < 180 || len(table.Times) > 181 {
		t.Errorf("without a time: %d times, %v", len(table.Times), err)
	}
}

func TestMetricsQueryErrors(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Metrics = &measured{} })
	for query, message := range map[string]string{
		"":                                                       "Parameter metric was given 0 times",
		"metric=Nothing&fleet=f":                                 "there is no such metric",
		"metric=ActiveGameSessions":                              "selected by nothing: give fleet, or fleet and",
		"metric=ActiveGameSessions&queue=q":                      "cannot be selected by queue: give fleet",
		"metric=RuleEvaluationsPassed":                           "give configuration and rule.",
		"metric=MaxInstances&group=g":                            "cannot be selected by group",
		"metric=IdleInstances&fleet=f&x=1":                       "Unknown parameter",
		"metric=IdleInstances&fleet=f&fleet":                     "Parameter fleet was given 2 times; give it once.",
		"metric=IdleInstances&fleet=f&statistic=Median":          "Parameter statistic is \\\"Median\\\"",
		"metric=IdleInstances&fleet=f&statistic=p99":             "has no percentiles",
		"metric=IdleInstances&fleet=f&period=7":                  "Parameter period is \\\"7\\\"",
		"metric=IdleInstances&fleet=f&period=-60":                "Parameter period is",
		"metric=IdleInstances&fleet=f&from=today":                "Parameter from is \\\"today\\\"",
		"metric=IdleInstances&fleet=f&to=1":                      "Parameter to is \\\"1\\\"",
		"metric=IdleInstances&fleet=f&from=2199-01-01T00:00:00Z": "it must be before to",
		"metric=IdleInstances&fleet=f&from=2026-11-20T00:00:00Z&to=2026-11-21T23:00:00Z": "2820 periods, and at",
	} {
		if status, body := w.get("/v1/metrics/query?" + query); status != 400 || !strings.Contains(body, message) {
			t.Errorf("%s: %d %s, want %s", query, status, body, message)
		}
	}
	for key, want := range map[string]int{"AKID": 200, "": 403} {
		status, body := w.ask("GET", "/v1/metrics/query?metric=IdleInstances&fleet=f", key)
		if status != want {
			t.Errorf("with key %q: %d %s", key, status, body)
		}
	}
}
