package cloudwatch

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxStatistics is how many points GetMetricStatistics returns. Source: API reference, GetMetricStatistics.
const maxStatistics = 1440

// statistics are those that are stored. Source: data type Statistic.
var statistics = map[string]func(p *metrics.Point) float64{
	"SampleCount": func(p *metrics.Point) float64 { return p.Count },
	"Average":     func(p *metrics.Point) float64 { return p.Sum / p.Count },
	"Sum":         func(p *metrics.Point) float64 { return p.Sum },
	"Minimum":     func(p *metrics.Point) float64 { return p.Minimum },
	"Maximum":     func(p *metrics.Point) float64 { return p.Maximum },
}

const statisticNames = "SampleCount, Average, Sum, Minimum, Maximum"

// noStatistic is the message for another statistic.
const noStatistic = "The value %.64q for parameter %s is not offered: it must be one of " + statisticNames +
	". For percentiles use histogram_quantile of Prometheus on the metrics at /metrics."

func (h *Handler) getMetricStatistics(ctx context.Context, in *getMetricStatisticsInput) (
	*getMetricStatisticsOutput, error,
) {
	if err := in.check(); err != nil {
		return nil, err
	}
	out := &getMetricStatisticsOutput{Label: in.MetricName, Datapoints: []datapoint{}}
	m := metric{in.Namespace, in.MetricName, in.Dimensions}
	period, _ := in.Period.Get()
	points, err := h.points(ctx, &m, in.Unit, in.StartTime, in.EndTime, period)
	for i := range points {
		out.Datapoints = append(out.Datapoints, shapeOfPoint(&points[i], in.Statistics, h.Store.Unit(in.MetricName)))
	}
	return out, err
}

func (in *getMetricStatisticsInput) check() error {
	switch {
	case len(in.Statistics) == 0 && len(in.ExtendedStatistics) == 0:
		return fault.New(missingParameter, "The parameter Statistics is required: one or more of %s.", statisticNames)
	case len(in.Statistics) > 0 && len(in.ExtendedStatistics) > 0:
		return fault.New(invalidCombination,
			"The parameters Statistics and ExtendedStatistics must not be used together.")
	case len(in.ExtendedStatistics) > 0:
		return fault.New(invalidValue, noStatistic, in.ExtendedStatistics[0], "ExtendedStatistics")
	}
	for _, s := range in.Statistics {
		if statistics[s] == nil {
			return fault.New(invalidValue, noStatistic, s, "Statistics")
		}
	}
	if !in.StartTime.Before(in.EndTime) {
		return fault.New(invalidValue, "The parameter StartTime must be less than the parameter EndTime.")
	}
	period, _ := in.Period.Get()
	if err := checkPeriod(period, invalidValue, "Period"); err != nil {
		return err
	}
	if n := pointsIn(in.StartTime, in.EndTime, int64(period)); n > maxStatistics {
		return fault.New(invalidCombination, "You have requested up to %d datapoints, which exceeds the limit of %d. "+
			"You may reduce the datapoints requested by increasing Period, or decreasing the time range.", n,
			maxStatistics)
	}
	return nil
}

func shapeOfPoint(p *metrics.Point, wanted []string, unit string) datapoint {
	d := datapoint{Timestamp: p.At, Unit: unit}
	for name, member := range map[string]*wire.Opt[float64]{
		"SampleCount": &d.SampleCount, "Average": &d.Average, "Sum": &d.Sum, "Minimum": &d.Minimum,
		"Maximum": &d.Maximum,
	} {
		if slices.Contains(wanted, name) {
			*member = wire.Some(statistics[name](p))
		}
	}
	return d
}

// maxPeriod is the longest period, in seconds. Source: API reference, GetMetricStatistics.
const maxPeriod = 86400

// checkPeriod checks a period in seconds. The service records every 10 seconds.
func checkPeriod(period int32, kind fault.Kind, parameter string) error {
	if period == 10 || period == 30 || period > 0 && period%60 == 0 && period <= maxPeriod {
		return nil
	}
	return fault.New(kind, "The value %d for parameter %s is invalid: it must be 10, 30 or a multiple of 60 "+
		"seconds, at most %d.", period, parameter, maxPeriod)
}

// align returns the beginning of the period that has a time, in Unix seconds.
func align(t time.Time, period int64) int64 {
	s := t.Unix()
	return s - (s%period+period)%period
}

// pointsIn returns how many periods are in a range of time. If the range is not aligned to the period, it may have one
// more point.
func pointsIn(from, to time.Time, period int64) int64 {
	length := time.Duration(period) * time.Second
	return int64((to.Sub(from)-1)/length) + 1
}

// A retention is how long points of short periods are kept. Source: CloudWatch user guide, "Metrics retention".
type retention struct {
	every int64 // periods that are no multiple of this, in seconds
	kept  time.Duration
}

var retentions = []retention{
	{60, 3 * time.Hour}, {300, 15 * 24 * time.Hour}, {3600, 63 * 24 * time.Hour}, {1 << 62, 455 * 24 * time.Hour},
}

// points returns the points of a metric; none if there is no such metric, or in another unit. The points of a period
// are those of all times in it, aligned to multiples of the period.
func (h *Handler) points(ctx context.Context, m *metric, unit string, from, to time.Time, period int32) (
	[]metrics.Point, error,
) {
	if m.Namespace != Namespace || unit != "" && unit != h.Store.Unit(m.MetricName) {
		return nil, nil
	}
	seconds := int64(period)
	for _, r := range retentions {
		if seconds%r.every != 0 {
			if oldest := h.Clock.Now().Add(-r.kept); from.Before(oldest) {
				from = oldest
			}
			break
		}
	}
	if !from.Before(to) {
		return nil, nil
	}
	points, err := h.Store.Points(ctx, seriesOf(m), time.Unix(align(from, seconds), 0).UTC(), to,
		time.Duration(seconds)*time.Second)
	return slices.DeleteFunc(points, func(p metrics.Point) bool { return p.Count <= 0 }), err
}

// unknownTimezone is a time zone that label options cannot have.
func unknownTimezone(zone string) bool {
	return len(zone) != 5 || zone[0] != '+' && zone[0] != '-' ||
		strings.ContainsFunc(zone[1:], func(r rune) bool { return r < '0' || r > '9' }) || zone[1:3] > "14" ||
		zone[3:] > "59"
}
