package console

import (
	"context"
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/wire"
)

// measured are metrics of a test, by their names.
type measured struct {
	points map[string][]metrics.Point
	listed []metrics.Series
	asked  []metrics.Series
	named  []string
	err    error
}

func (m *measured) Named(metric string, names ...string) []metrics.Series {
	m.named = append(m.named, metric+" "+strings.Join(names, " "))
	return m.listed
}

func (m *measured) Unit(metric string) string {
	if strings.HasPrefix(metric, "Percent") {
		return "Percent"
	}
	return "Count"
}

func (m *measured) Points(_ context.Context, s metrics.Series, from, to time.Time, _ time.Duration) (
	in []metrics.Point, err error,
) {
	m.asked = append(m.asked, s)
	for _, p := range m.points[s.Metric] {
		if !p.At.Before(from) && p.At.Before(to) {
			in = append(in, p)
		}
	}
	return in, m.err
}

// noon is the time of newWorld's clock.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func minute(n int, sum, count float64) metrics.Point {
	return metrics.Point{At: noon.Add(time.Duration(n) * time.Minute), Sum: sum, Maximum: sum, Count: count}
}

func newMeasured(t *testing.T) (*world, *measured) {
	m := &measured{points: map[string][]metrics.Point{
		"ActiveGameSessions":       {minute(-60, 6, 6), minute(-59, 18, 6), minute(-10, 240, 6)},
		"PlayerSessionActivations": {minute(-2, 7, 6)},
	}}
	w := newWorld(t, func(c *Config) { c.Metrics = m })
	w.answers["DescribeFleetAttributes"] = &wire.DescribeFleetAttributesOutput{FleetAttributes: []wire.FleetAttributes{
		{FleetId: "fleet-1", FleetArn: "arn", Name: "arena"}}}
	w.answers["DescribeFleetUtilization"] = &wire.DescribeFleetUtilizationOutput{}
	w.answers["DescribeFleetLocationAttributes"] = &wire.DescribeFleetLocationAttributesOutput{}
	return w, m
}

// TestFleetMetrics: gauges are averages, events are sums, gaps stay gaps, and one metric can be shown with its values.
func TestFleetMetrics(t *testing.T) {
	w, m := newMeasured(t)
	body := w.shows("GET", "/console/fleets/fleet-1?tab=metrics&location=custom-home", nil, 200, `data-watch="10"`,
		`aria-label="Active game sessions: last 40, between 1 and 40"`, "Player session activations: last 7,",
		"Percent idle instances: no value in this time", `href="?location=custom-home&amp;range=1d&amp;tab=metrics"`)
	if strings.Count(body, "<figure") != 22 || strings.Count(body, `class="line"`) != 2 {
		t.Errorf("%d graphs, %d with a line", strings.Count(body, "<figure"), strings.Count(body, `class="line"`))
	}
	want := []metrics.Dimension{{Name: "FleetId", Value: "fleet-1"}, {Name: "Location", Value: "custom-home"}}
	if !slices.Equal(m.asked[0].Dimensions, want) {
		t.Errorf("asked for %v", m.asked[0])
	}
	w.shows("GET", "/console/fleets/fleet-1?tab=metrics&range=1h&metric=ActiveGameSessions", nil, 200, "All metrics",
		"<td class=\"n\">40</td>", "aws cloudwatch get-metric-statistics --namespace AWS/GameLift "+
			"--metric-name ActiveGameSessions --statistics Average --period 60 --start-time 2026-11-25T11:00:00Z")
	out := w.do("GET", "/console/fleets/fleet-1/metrics.csv?metric=ActiveGameSessions", nil)
	rows, err := csv.NewReader(out.Body).ReadAll()
	if err != nil || len(rows) != 4 || !slices.Equal(rows[3], []string{"2026-11-25 11:50:00", "40"}) {
		t.Errorf("%v, %v", rows, err)
	}
	w.shows("GET", "/console/fleets/fleet-1/metrics.csv?metric=Nothing", nil, 400, "choose one of the metrics")
	m.points = nil
	w.shows("GET", "/console/fleets/fleet-1?tab=metrics", nil, 200, "There is no value in this time.")
	m.err = errors.New("the journal fails")
	w.shows("GET", "/console/fleets/fleet-1?tab=metrics", nil, 500)
	w.fails["cloudwatch:GetMetricData"] = denied
	w.shows("GET", "/console/fleets/fleet-1?tab=metrics", nil, 200, "you need the permission")
	w.shows("GET", "/console/fleets/fleet-1/metrics.csv?metric=ActiveGameSessions", nil, 403)
}

// TestRegionGraphs: the graphs of the overview add up the locations.
func TestRegionGraphs(t *testing.T) {
	w, m := newMeasured(t)
	for _, location := range []string{"custom-home", "custom-away"} {
		m.listed = append(m.listed, metrics.Series{Metric: "ActiveGameSessions",
			Dimensions: []metrics.Dimension{{Name: "Location", Value: location}}})
	}
	w.answers["ListFleets"] = &wire.ListFleetsOutput{FleetIds: []string{"fleet-1"}}
	w.shows("GET", "/console/", nil, 200, "Active game sessions: last 80, between 2 and 80")
	if m.named[0] != "ActiveGameSessions Location" {
		t.Errorf("the overview asks for %v", m.named)
	}
}

func TestDrawGraph(t *testing.T) {
	p := plot{metric: "ActiveGameSessions", unit: "Count", width: graphWidth, height: graphHeight, from: noon,
		to: noon.Add(4 * time.Minute), period: time.Minute}
	for i, value := range map[int]float64{0: 3, 1: 30, 3: 0.5} {
		p.points = append(p.points, graphPoint{noon.Add(time.Duration(i) * time.Minute), value})
	}
	slices.SortFunc(p.points, func(a, b graphPoint) int { return a.at.Compare(b.at) })
	g := p.draw()
	if g.Line != "M44 116h0L121 40M275 123h0" || g.Data != "1795608000 60 3 30  0.5" || g.Rows[1].Text != "20" {
		t.Errorf("%q, %q, %+v", g.Line, g.Data, g.Rows)
	}
	if !strings.HasPrefix(g.Area, "M44 124V116L121 40V124Z") {
		t.Errorf("the area is %q", g.Area)
	}
	for value, top := range map[float64]float64{0: 2, 2: 2, 3: 4, 5: 10, 11: 20, 201: 400, 1e6: 1e6} {
		p.points = []graphPoint{{noon, value}}
		if got := p.top(); got != top {
			t.Errorf("the axis of %v ends with %v, want %v", value, got, top)
		}
	}
	for value, text := range map[float64]string{12.3456: "12.3", 1234.5: "1234", 7: "7", 0.00123: "0.00123"} {
		if got := p.text(value); got != text {
			t.Errorf("%v is %q, want %q", value, got, text)
		}
	}
	if got := titleOf("ConcurrentActivatableGameSessions"); got != "Concurrent activatable game sessions" {
		t.Error(got)
	}
}
