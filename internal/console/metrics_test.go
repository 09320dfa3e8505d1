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
	spread map[metrics.Timing][]metrics.Spread
	err    error
}

func (m *measured) Spread(_ context.Context, of metrics.Timing, _ []float64, from, to time.Time, _ time.Duration) (
	in []metrics.Spread, err error,
) {
	for _, s := range m.spread[of] {
		if !s.At.Before(from) && s.At.Before(to) {
			in = append(in, s)
		}
	}
	return in, m.err
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
	w.answers["DescribeFleetEvents"] = &wire.DescribeFleetEventsOutput{Events: []wire.Event{
		{EventTime: noon.Add(-30 * time.Minute), EventCode: "SERVER_PROCESS_CRASHED", Message: "it crashed"},
		{EventTime: noon.Add(-40 * time.Minute), EventCode: "FLEET_SCALING_EVENT"},
		{EventTime: noon.Add(-40 * time.Minute), EventCode: "FLEET_STATE_ACTIVE"},
		{EventTime: noon.Add(-100 * time.Hour), EventCode: "FLEET_CREATED"}}}
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
		"<td class=\"n\">40</td>", "aws cloudwatch get-metric-data --start-time 2026-11-25T11:00:00Z "+
			"--end-time 2026-11-25T12:00:00Z --metric-data-queries &#39;[{&#34;Id&#34;:&#34;m1&#34;,",
		"&#34;Period&#34;:60,&#34;Stat&#34;:&#34;Average&#34;}}]&#39;",
		"sum(muster_fleet_game_sessions{fleet=&#34;fleet-1&#34;,state=&#34;active&#34;})")
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

// TestGraphChoices: the address of the page determines what is drawn, and for how long.
func TestGraphChoices(t *testing.T) {
	w, _ := newMeasured(t)
	const page = "/console/fleets/fleet-1?tab=metrics"
	body := w.shows("GET", page+"&show=ActiveGameSessions&show=MaxInstances&points=on&refresh=60&period=300", nil, 200,
		`data-watch="60"`, `<option value="60" selected>Every minute`, `<option value="300" selected>5 minutes`,
		`name="show" value="MaxInstances" checked`, `name="show" value="MinInstances">`, `class="dots" d="M`,
		`data-values="1795604400 300 `, "3 events in this time", "it crashed",
		`/console/fleets/fleet-1/metrics.csv?metric=ActiveGameSessions&amp;`,
		`<title>11:20:00 FLEET_SCALING_EVENT, 11:20:00 FLEET_STATE_ACTIVE</title>`)
	if n := strings.Count(body, "<figure"); n != 2 {
		t.Errorf("%d graphs, want those that were chosen", n)
	}
	if n := strings.Count(body, `class="mark bad"`); n != 2 || strings.Contains(body, "FLEET_CREATED") {
		t.Errorf("%d marks of failures, want one in each graph, and none of other times", n)
	}
	w.shows("GET", page+"&from=2026-11-25T11:55:00Z&to=2026-11-25T11:57", nil, 200,
		`data-values="1795607700 10 `, `name="from" type="datetime-local" value="2026-11-25T11:55"`,
		`from=2026-11-25T11%3A54%3A00Z&amp;tab=metrics&amp;to=2026-11-25T11%3A58%3A00Z" data-zoom-out>`)
	got := w.inputs["DescribeFleetEvents"].(*wire.DescribeFleetEventsInput)
	if !got.EndTime.Equal(noon.Add(-3 * time.Minute)) {
		t.Errorf("events until %v", got.EndTime)
	}
	w.shows("GET", page+"&from=2026-10-01T00:00", nil, 200, `data-values="1790812800 86400 `)
	w.shows("GET", page+"&from=2026-11-24T00:00&period=10", nil, 200, `data-values="1795478400 300 `)
	w.shows("GET", page+"&from=yesterday", nil, 400, "From: &#34;yesterday&#34; is not a time like")
	w.shows("GET", page+"&from=2026-11-25T11:55&to=2026-11-25T11:50", nil, 400, "From must be before To")
	if body := w.shows("GET", page+"&refresh=off", nil, 200); strings.Contains(body, "data-watch") {
		t.Error("the page is read again")
	}
	w.fails["DescribeFleetEvents"] = denied
	if body := w.shows("GET", page, nil, 200, "Active game sessions"); strings.Contains(body, `class="mark`) {
		t.Error("there are marks of events that the person may not read")
	}
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
