package metrics

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// computed are the statistics that each point has. Source: CloudWatch API reference, data type Statistic.
var computed = map[string]func(p *Point) float64{
	"SampleCount": func(p *Point) float64 { return p.Count },
	"Average":     func(p *Point) float64 { return p.Sum / p.Count },
	"Sum":         func(p *Point) float64 { return p.Sum },
	"Minimum":     func(p *Point) float64 { return p.Minimum },
	"Maximum":     func(p *Point) float64 { return p.Maximum },
}

// StatisticNames are the names of the statistics that each point has, for messages.
const StatisticNames = "SampleCount, Average, Sum, Minimum, Maximum"

// Statistic returns the function that computes a statistic of a point with samples; nil for an unknown one.
func Statistic(name string) func(p *Point) float64 { return computed[name] }

// Percentile returns the quantile of a statistic such as p99.9.
func Percentile(name string) (q float64, ok bool) {
	number, ok := strings.CutPrefix(name, "p")
	if !ok || strings.Trim(number, "0123456789.") != "" {
		return 0, false
	}
	p, err := strconv.ParseFloat(number, 64)
	return p / 100, err == nil && p <= 100
}

// Values returns a statistic of a series in each period that has samples; nil for an unknown statistic, and for a
// percentile of a metric that is no duration. Otherwise it is like Points.
func (s *Store) Values(
	ctx context.Context, series Series, statistic string, from, to time.Time, period time.Duration,
) ([]Quantile, error) {
	if q, ok := Percentile(statistic); ok {
		return s.Quantile(ctx, series, q, from, to, period)
	}
	value := computed[statistic]
	points, err := s.Points(ctx, series, from, to, period)
	if err != nil || value == nil {
		return nil, err
	}
	values := make([]Quantile, len(points))
	for i := range points {
		values[i] = Quantile{points[i].At, value(&points[i])}
	}
	return values, nil
}

// DimensionsOf returns the sets of dimensions with which a metric is recorded, in the order of the catalogue; nil for
// an unknown metric.
func DimensionsOf(metric string) (sets [][]string) {
	if location, ok := strings.CutPrefix(metric, queues.columns[placedAt].name); ok && location != "" {
		return [][]string{dimensions[byQueue]}
	}
	for set := range setCount {
		if columnNamed(set, metric) >= 0 {
			sets = append(sets, dimensions[set])
		}
	}
	return sets
}
