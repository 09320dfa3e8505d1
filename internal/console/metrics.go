package console

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/policy"
)

// Metrics has the values of the region's metrics. A *metrics.Store implements it.
type Metrics interface {
	Named(metric string, dimensions ...string) []metrics.Series
	Points(ctx context.Context, s metrics.Series, from, to time.Time, period time.Duration) ([]metrics.Point, error)
	Unit(metric string) string
}

// readMetrics is the action that graphs need.
var readMetrics, _ = policy.ActionOf("cloudwatch:GetMetricData")

// A shownMetric is a metric that pages show; counted: events, of which the sum is shown, not the average.
type shownMetric struct {
	name    string
	counted bool
}

// A metricGroup is the graphs under a heading.
type metricGroup struct {
	title   string
	metrics []shownMetric
}

// The graphs of a fleet, as GameLift's console groups them.
var fleetGraphs = []metricGroup{
	{"Game", []shownMetric{{"ActiveGameSessions", false}, {"CurrentPlayerSessions", false},
		{"AvailableGameSessions", false}, {"PercentAvailableGameSessions", false}, {"ActivatingGameSessions", false},
		{"ConcurrentActivatableGameSessions", false}, {"PlayerSessionActivations", true},
		{"GameSessionInterruptions", true}}},
	{"Processes", []shownMetric{{"ActiveServerProcesses", false}, {"HealthyServerProcesses", false},
		{"PercentHealthyServerProcesses", false}, {"ServerProcessActivations", true},
		{"ServerProcessTerminations", true}, {"ServerProcessAbnormalTerminations", true}}},
	{"Instances", []shownMetric{{"ActiveInstances", false}, {"IdleInstances", false}, {"PercentIdleInstances", false},
		{"DesiredInstances", false}, {"MinInstances", false}, {"MaxInstances", false}, {"RecycledInstances", true},
		{"InstanceInterruptions", true}}},
}

var queueGraphs = []metricGroup{{"Metrics", []shownMetric{{"QueueDepth", false}, {"AverageWaitTime", false},
	{"PlacementsStarted", true}, {"PlacementsSucceeded", true}, {"PlacementsFailed", true},
	{"PlacementsTimedOut", true}}}}

var configurationGraphs = []metricGroup{{"Metrics", []shownMetric{{"CurrentTickets", false}, {"TicketsStarted", true},
	{"MatchesCreated", true}, {"TimeToMatch", false}, {"TicketsTimedOut", true}, {"TicketsFailed", true}}}}

// A graphRange is a length of time that can be chosen, and the period of its values.
type graphRange struct {
	name, text     string
	length, period time.Duration
}

var graphRanges = []graphRange{
	{"15m", "15 minutes", 15 * time.Minute, 10 * time.Second},
	{"1h", "1 hour", time.Hour, time.Minute},
	{"3h", "3 hours", 3 * time.Hour, time.Minute},
	{"1d", "1 day", 24 * time.Hour, 5 * time.Minute},
	{"1w", "1 week", 7 * 24 * time.Hour, time.Hour},
	{"1mo", "1 month", 30 * 24 * time.Hour, 3 * time.Hour},
}

// graphPace is how many seconds are between two readings of a page of graphs, which has something new as often.
const graphPace = 10

// usualRange is the index of the range that is shown first.
const usualRange = 1

// A graphsView is the graphs of a page, or one of them with its values.
type graphsView struct {
	Groups   []graphGroup
	Choices  []rangeChoice
	Range    graphRange
	From, To time.Time
	Chosen   *graph // that is shown alone
	All      string // the link to all graphs
	Missing  bool   // there is no value at all
}

// RangeName returns the parameter of the range.
func (g *graphsView) RangeName() string { return g.Range.name }

// A rangeChoice is the link to another range.
type rangeChoice struct {
	link
	Current bool
}

type graphGroup struct {
	Title  string
	Graphs []*graph
}

// graphs reads and draws the metrics of dimensions, within the range of the query; nil for people who may not read
// them.
func (v *visit) graphs(groups []metricGroup, dimensions ...metrics.Dimension) (*graphsView, error) {
	if v.h.Metrics == nil || !v.h.Access.Permits(v.id, v.from, readMetrics) {
		return nil, nil
	}
	view := v.graphsView()
	view.Missing = true
	for _, group := range groups {
		drawn := graphGroup{Title: group.title}
		for _, m := range group.metrics {
			g, err := v.graph(view, m, []metrics.Series{{Metric: m.name, Dimensions: dimensions}})
			if err != nil {
				return nil, err
			}
			view.Missing = view.Missing && len(g.Values) == 0
			drawn.Graphs = append(drawn.Graphs, g)
			if m.name == v.form("metric") {
				view.Chosen = g
			}
		}
		view.Groups = append(view.Groups, drawn)
	}
	return view, nil
}

// graphsView returns the view of the query's range, without graphs. It ends with the last whole period.
func (v *visit) graphsView() *graphsView {
	view := &graphsView{Range: graphRanges[usualRange], All: v.with("metric", "")}
	for _, r := range graphRanges {
		if r.name == v.form("range") {
			view.Range = r
		}
	}
	for _, r := range graphRanges {
		view.Choices = append(view.Choices, rangeChoice{link{r.text, v.with("range", r.name)}, r == view.Range})
	}
	view.To = v.h.Clock.Now().Truncate(view.Range.period)
	view.From = view.To.Add(-view.Range.length)
	return view
}

// graph draws the sum of series of one metric.
func (v *visit) graph(view *graphsView, m shownMetric, series []metrics.Series) (*graph, error) {
	p := plot{metric: m.name, unit: v.h.Metrics.Unit(m.name), from: view.From, to: view.To, period: view.Range.period,
		width: graphWidth, height: graphHeight}
	if v.form("metric") == m.name {
		p.width, p.height = aloneWidth, aloneHeight
	}
	for _, s := range series {
		points, err := v.h.Metrics.Points(v.ctx, s, view.From, view.To, view.Range.period)
		if err != nil {
			return nil, err
		}
		p.points = addPoints(p.points, valuesOf(points, m.counted))
	}
	g := p.draw()
	g.Href = v.with("metric", m.name)
	if len(series) == 1 {
		g.Commands = copies("CLI line", statisticsCommand(view, m, series[0].Dimensions))
	}
	return g, nil
}

// with returns the link to this page with another parameter; "": without it.
func (v *visit) with(name, value string) string {
	q := v.r.URL.Query()
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	return "?" + q.Encode()
}

// addPoints adds the values of two series. Both are ascending.
func addPoints(a, b []graphPoint) []graphPoint {
	if len(a) == 0 {
		return b
	}
	at := map[time.Time]int{}
	for i := range a {
		at[a[i].at] = i
	}
	for _, p := range b {
		if i, ok := at[p.at]; ok {
			a[i].value += p.value
		} else {
			a = append(a, p)
		}
	}
	slices.SortFunc(a, func(x, y graphPoint) int { return x.at.Compare(y.at) })
	return a
}

// statisticsCommand returns the command that reads the same values.
func statisticsCommand(view *graphsView, m shownMetric, dimensions []metrics.Dimension) string {
	statistic := "Average"
	if m.counted {
		statistic = "Sum"
	}
	words := []string{"aws", "cloudwatch", "get-metric-statistics", "--namespace", "AWS/GameLift", "--metric-name",
		m.name, "--statistics", statistic, "--period", fmt.Sprint(int(view.Range.period / time.Second)),
		"--start-time", view.From.UTC().Format(time.RFC3339), "--end-time", view.To.UTC().Format(time.RFC3339),
		"--dimensions"}
	for _, d := range dimensions {
		words = append(words, "Name="+d.Name+",Value="+d.Value)
	}
	return shell(words)
}

// regionGraphs draws the metrics of all locations together; nil for people who may not read them.
func (v *visit) regionGraphs(names ...string) (*graphsView, error) {
	if v.h.Metrics == nil || !v.h.Access.Permits(v.id, v.from, readMetrics) {
		return nil, nil
	}
	view := v.graphsView()
	group := graphGroup{}
	for _, name := range names {
		g, err := v.graph(view, shownMetric{name: name}, v.h.Metrics.Named(name, "Location"))
		if err != nil {
			return nil, err
		}
		g.Href = ""
		group.Graphs = append(group.Graphs, g)
	}
	view.Groups = []graphGroup{group}
	return view, nil
}

// fleetMetricsFile answers with the values of a metric of a fleet.
func fleetMetricsFile(v *visit) error {
	if err := v.h.Access.Allow(v.id, v.from, readMetrics); err != nil {
		return err
	}
	view, err := v.graphs(fleetGraphs, v.fleetDimensions(v.r.PathValue("fleet"))...)
	if err != nil {
		return err
	}
	if view == nil || view.Chosen == nil {
		return invalid("Metric: choose one of the metrics of a fleet.")
	}
	return v.download(view.Chosen.Metric, []string{"time_utc", "value"},
		func(string) (rows [][]string, next string, err error) {
			for _, each := range view.Chosen.Values {
				rows = append(rows, []string{instant(each.At), each.Value})
			}
			return rows, "", nil
		})
}

// fleetDimensions returns the dimensions of a fleet, or of one of its locations if the query has one.
func (v *visit) fleetDimensions(fleetID string) []metrics.Dimension {
	d := []metrics.Dimension{{Name: "FleetId", Value: fleetID}}
	if location := v.form("location"); location != "" {
		d = append(d, metrics.Dimension{Name: "Location", Value: location})
	}
	return d
}
