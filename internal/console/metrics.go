package console

import (
	"context"
	"encoding/json"
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
	Spread(ctx context.Context, of metrics.Timing, quantiles []float64, from, to time.Time, period time.Duration) (
		[]metrics.Spread, error)
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
	{"Instances", []shownMetric{{"ActiveInstances", false}, {"IdleInstances", false}, {"PercentIdleInstances", false},
		{"DesiredInstances", false}, {"MinInstances", false}, {"MaxInstances", false}, {"RecycledInstances", true},
		{"InstanceInterruptions", true}}},
	{"Game", []shownMetric{{"ActiveGameSessions", false}, {"CurrentPlayerSessions", false},
		{"AvailableGameSessions", false}, {"PercentAvailableGameSessions", false}, {"ActivatingGameSessions", false},
		{"ConcurrentActivatableGameSessions", false}, {"PlayerSessionActivations", true},
		{"GameSessionInterruptions", true}}},
	{"Processes", []shownMetric{{"ActiveServerProcesses", false}, {"HealthyServerProcesses", false},
		{"PercentHealthyServerProcesses", false}, {"ServerProcessActivations", true},
		{"ServerProcessTerminations", true}, {"ServerProcessAbnormalTerminations", true}}},
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
	Period   time.Duration
	Absolute bool   // From and To were chosen
	ZoomOut  string // the link to twice the time; "": From and To were not chosen
	Periods  []choice
	Paces    []choice
	Points   bool       // each value is drawn
	Lists    []listPart // of the metrics that can be chosen
	Chosen   *graph     // that is shown alone
	All      string     // the link to all graphs
	Missing  bool       // there is no value at all
}

// RangeName returns the parameter of the range.
func (g *graphsView) RangeName() string { return g.Range.name }

// A listPart is a list of metrics to choose from.
type listPart struct {
	Title   string
	Metrics []choice
	Chosen  int
}

// A rangeChoice is the link to another range.
type rangeChoice struct {
	link
	Current bool
}

type graphGroup struct {
	Title  string
	Graphs []*graph
}

// seesMetrics reports whether there are metrics for this person.
func (v *visit) seesMetrics() bool {
	return v.h.Metrics != nil && v.h.Access.Permits(v.id, v.from, readMetrics)
}

// graphs reads and draws the metrics of dimensions, within the time of the query; nil for people who may not read them.
// The query can choose some of the metrics.
func (v *visit) graphs(groups []metricGroup, dimensions ...metrics.Dimension) (*graphsView, error) {
	if !v.seesMetrics() {
		return nil, nil
	}
	view, err := v.graphsView()
	if err != nil {
		return nil, err
	}
	view.Missing = true
	chosen := v.r.URL.Query()["show"]
	for _, group := range groups {
		drawn, list := graphGroup{Title: group.title}, listPart{Title: group.title}
		for _, m := range group.metrics {
			on := len(chosen) == 0 || slices.Contains(chosen, m.name)
			list.Metrics = append(list.Metrics, choice{m.name, titleOf(m.name), on})
			if alone := m.name == v.form("metric"); !on && !alone {
				continue
			}
			list.Chosen++
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
		view.Lists = append(view.Lists, list)
		if len(drawn.Graphs) > 0 {
			view.Groups = append(view.Groups, drawn)
		}
	}
	return view, nil
}

// graphsView returns the view of the query's time, without graphs.
func (v *visit) graphsView() (*graphsView, error) {
	view := &graphsView{Range: graphRanges[usualRange], All: v.with("metric", ""), Points: v.form("points") != ""}
	for _, r := range graphRanges {
		if r.name == v.form("range") {
			view.Range = r
		}
	}
	if err := v.setTime(view); err != nil {
		return nil, err
	}
	for _, r := range graphRanges {
		view.Choices = append(view.Choices, rangeChoice{
			link{r.text, v.withAll("range", r.name, "from", "", "to", "")}, !view.Absolute && r == view.Range})
	}
	return view, nil
}

// graph draws the sum of series of one metric.
func (v *visit) graph(view *graphsView, m shownMetric, series []metrics.Series) (*graph, error) {
	p := plot{metric: m.name, unit: v.h.Metrics.Unit(m.name), from: view.From, to: view.To, period: view.Period,
		width: graphWidth, height: graphHeight, dots: view.Points}
	if v.form("metric") == m.name {
		p.width, p.height = aloneWidth, aloneHeight
	}
	for _, s := range series {
		points, err := v.h.Metrics.Points(v.ctx, s, view.From, view.To, view.Period)
		if err != nil {
			return nil, err
		}
		p.points = addPoints(p.points, valuesOf(points, m.counted))
	}
	g := p.draw()
	g.Href = v.with("metric", m.name)
	if len(series) == 1 {
		g.Commands = copies("PromQL", metrics.PromQL(series[0], view.Period),
			"CLI line", dataCommand(view, m, series[0].Dimensions))
	}
	return g, nil
}

// with returns the link to this page with another parameter; "": without it.
func (v *visit) with(name, value string) string { return v.withAll(name, value) }

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

// A dataQuery is a query of GetMetricData, as the AWS CLI takes it.
type dataQuery struct {
	ID         string `json:"Id"`
	MetricStat struct {
		Metric struct {
			Namespace, MetricName string
			Dimensions            []metrics.Dimension
		}
		Period int
		Stat   string
	}
}

// dataCommand returns the command that reads the same values.
func dataCommand(view *graphsView, m shownMetric, dimensions []metrics.Dimension) string {
	q := dataQuery{ID: "m1"}
	q.MetricStat.Metric.Namespace, q.MetricStat.Metric.MetricName = "AWS/GameLift", m.name
	q.MetricStat.Metric.Dimensions = dimensions
	q.MetricStat.Period, q.MetricStat.Stat = int(view.Period/time.Second), "Average"
	if m.counted {
		q.MetricStat.Stat = "Sum"
	}
	text, err := json.Marshal([]dataQuery{q})
	if err != nil {
		return ""
	}
	return shell([]string{"aws", "cloudwatch", "get-metric-data", "--start-time", view.From.UTC().Format(time.RFC3339),
		"--end-time", view.To.UTC().Format(time.RFC3339), "--metric-data-queries", string(text)})
}

// regionGraphs draws the metrics of all locations together, and the times of API calls; nil for people who may not read
// them.
func (v *visit) regionGraphs(names ...string) (*graphsView, error) {
	if !v.seesMetrics() {
		return nil, nil
	}
	view, err := v.graphsView()
	if err != nil {
		return nil, err
	}
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
	return view, v.addCallTimes(view)
}

// fleetMetricsFile answers with the values of a metric of a fleet.
func fleetMetricsFile(v *visit) error {
	if err := v.h.Access.Allow(v.id, v.from, readMetrics); err != nil {
		return err
	}
	v.ctx = v.r.Context() // a download
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
