package operator

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Metrics has the values of the region's metrics. A *metrics.Store implements it.
type Metrics interface {
	Values(ctx context.Context, series metrics.Series, statistic string, from, to time.Time, period time.Duration) (
		[]metrics.Quantile, error)
	Unit(metric string) string
}

const (
	maxMetricPoints  = 1440 // of a series. Source: API reference, GetMetricStatistics
	maxMetricSeries  = 100
	maxMetricPeriod  = 86400 // seconds. Source: as above
	usualMetricTime  = 3 * time.Hour
	usualStatistic   = "Average"
	recordedInterval = 10 // seconds
)

// metricDimensions are the parameters that select a series, with the names of their dimensions.
var metricDimensions = []struct{ parameter, dimension string }{
	{"fleet", "FleetId"}, {"group", "MetricGroup"}, {"queue", "QueueName"}, {"configuration", "ConfigurationName"},
	{"location", "Location"},
}

// ruleDimension is the dimension of a rule, whose value begins with that of the configuration.
const ruleDimension = "ConfigurationName-RuleName"

var metricParameters = []string{"metric", "fleet", "location", "group", "queue", "configuration", "rule", "statistic",
	"period", "from", "to"}

// A MetricTable has series of metrics in columns, as plotting libraries take them.
type MetricTable struct {
	Period     int               `json:"period"` // seconds
	Dimensions map[string]string `json:"dimensions"`
	Times      []int64           `json:"times"` // when periods begin, in Unix seconds
	Series     []MetricColumn    `json:"series"`
}

// A MetricColumn has a value for each time; nil: there is none.
type MetricColumn struct {
	Metric    string     `json:"metric"`
	Statistic string     `json:"statistic"`
	Unit      string     `json:"unit"`
	Values    []*float64 `json:"values"`
}

// A metricQuery is a checked request.
type metricQuery struct {
	names      []string
	dimensions []metrics.Dimension
	statistic  string
	from, to   time.Time // from begins a period
	period     time.Duration
}

// queryMetrics returns the values that GetMetricData returns for the same series.
func (d *Handler) queryMetrics(c *call) (*MetricTable, error) {
	q, err := d.metricQuery(c)
	if err != nil {
		return nil, err
	}
	table := &MetricTable{Period: int(q.period / time.Second), Dimensions: map[string]string{}, Times: []int64{},
		Series: []MetricColumn{}}
	for _, each := range q.dimensions {
		table.Dimensions[each.Name] = each.Value
	}
	for at := q.from; at.Before(q.to); at = at.Add(q.period) {
		table.Times = append(table.Times, at.Unix())
	}
	for _, name := range q.names {
		values, err := d.Metrics.Values(c.Context(), metrics.Series{Metric: name, Dimensions: q.dimensions},
			q.statistic, q.from, q.to, q.period)
		if err != nil {
			return nil, err
		}
		column := MetricColumn{name, q.statistic, d.Metrics.Unit(name), make([]*float64, len(table.Times))}
		for i := range values {
			if at := int(values[i].At.Sub(q.from) / q.period); at >= 0 && at < len(column.Values) {
				column.Values[at] = &values[i].Value
			}
		}
		table.Series = append(table.Series, column)
	}
	return table, nil
}

func (d *Handler) metricQuery(c *call) (q metricQuery, err error) {
	query := c.URL.Query()
	q.names = slices.Compact(slices.Sorted(slices.Values(query["metric"])))
	if len(q.names) > 1 { // the only parameter that may be repeated
		query.Set("metric", q.names[0])
		c.URL.RawQuery = query.Encode()
	}
	values, err := c.parameters()
	if err != nil {
		return q, err
	}
	if len(q.names) == 0 || len(q.names) > maxMetricSeries {
		return q, fault.New(fault.InvalidRequest, "Parameter metric was given %d times: give it once for each metric, "+
			"such as ActiveGameSessions, at most %d times.", len(q.names), maxMetricSeries)
	}
	q.dimensions = dimensionsOf(query)
	q.statistic = cmp.Or(values["statistic"], usualStatistic)
	for _, name := range q.names {
		if err := d.checkSeries(name, &q); err != nil {
			return q, err
		}
	}
	return q, q.setTime(values, d.Clock.Now())
}

// dimensionsOf returns the dimensions that a query selects.
func dimensionsOf(query url.Values) (all []metrics.Dimension) {
	for _, d := range metricDimensions {
		value := query.Get(d.parameter)
		switch rule := query.Get("rule"); {
		case d.parameter == "configuration" && rule != "":
			all = append(all, metrics.Dimension{Name: ruleDimension, Value: value + "-" + rule})
		case value != "":
			all = append(all, metrics.Dimension{Name: d.dimension, Value: value})
		}
	}
	return all
}

// checkSeries checks that a metric is recorded with the dimensions and the statistic.
func (d *Handler) checkSeries(name string, q *metricQuery) error {
	sets := metrics.DimensionsOf(name)
	if sets == nil {
		return fault.New(fault.InvalidRequest, "Parameter metric is %.100q: there is no such metric. ListMetrics of "+
			"CloudWatch lists those that have values.", name)
	}
	var given []string
	for _, each := range q.dimensions {
		given = append(given, each.Name)
	}
	if !slices.ContainsFunc(sets, func(set []string) bool { return slices.Equal(set, given) }) {
		var choices []string
		for _, set := range sets {
			choices = append(choices, parametersOfSet(set))
		}
		return fault.New(fault.InvalidRequest, "The metric %.100s cannot be selected by %s: give %s.", name,
			cmp.Or(parametersOfSet(given), "nothing"), strings.Join(choices, ", or "))
	}
	if metrics.Statistic(q.statistic) != nil {
		return nil
	}
	if _, ok := metrics.Percentile(q.statistic); !ok {
		return fault.New(fault.InvalidRequest, "Parameter statistic is %.100q: it must be one of %s, or of durations "+
			"a percentile such as p99.", q.statistic, metrics.StatisticNames)
	}
	if d.Metrics.Unit(name) != "Seconds" {
		return fault.New(fault.InvalidRequest, "Parameter statistic is %.100q: the metric %.100s has no percentiles, "+
			"which are of durations such as TimeToMatch. Use one of %s.", q.statistic, name, metrics.StatisticNames)
	}
	return nil
}

// parametersOfSet returns the parameters of a set of dimensions: "fleet and location".
func parametersOfSet(set []string) string {
	var names []string
	for _, dimension := range set {
		if dimension == ruleDimension {
			names = append(names, "configuration", "rule")
		}
		for _, d := range metricDimensions {
			if d.dimension == dimension {
				names = append(names, d.parameter)
			}
		}
	}
	return strings.Join(names, " and ")
}

// setTime sets the range and the period.
func (q *metricQuery) setTime(values map[string]string, now time.Time) error {
	q.to = now
	var err error
	for name, to := range map[string]*time.Time{"from": &q.from, "to": &q.to} {
		if values[name] == "" {
			continue
		}
		if *to, err = timeOf(values[name]); err != nil || to.Year() < 1970 || to.Year() > 2200 {
			return fault.New(fault.InvalidRequest, "Parameter %s is %.100q: it must be a time from 1970 to 2200 like "+
				"2026-01-31T12:00:00Z.", name, values[name])
		}
	}
	if values["from"] == "" {
		q.from = q.to.Add(-usualMetricTime)
	}
	if !q.from.Before(q.to) {
		return fault.New(fault.InvalidRequest, "Parameter from is %s: it must be before to, %s.",
			q.from.UTC().Format(time.RFC3339), q.to.UTC().Format(time.RFC3339))
	}
	text := cmp.Or(values["period"], "60")
	n, err := strconv.Atoi(text)
	if err != nil || n != recordedInterval && n != 3*recordedInterval && (n < 60 || n%60 != 0 || n > maxMetricPeriod) {
		return fault.New(fault.InvalidRequest, "Parameter period is %.100q: it must be 10, 30 or a multiple of 60 "+
			"seconds, at most %d.", text, maxMetricPeriod)
	}
	q.period = time.Duration(n) * time.Second
	q.from = time.Unix(q.from.Unix()-q.from.Unix()%int64(n), 0).UTC()
	if points := (q.to.Sub(q.from)-1)/q.period + 1; points > maxMetricPoints {
		return fault.New(fault.InvalidRequest, "Parameter period is %s: from %s to %s are %d periods, and at most %d "+
			"are allowed. Increase period, or choose a shorter time.", text, q.from.Format(time.RFC3339),
			q.to.UTC().Format(time.RFC3339), points, maxMetricPoints)
	}
	return nil
}
