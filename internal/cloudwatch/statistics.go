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

// noStatistic is the message for another statistic.
const noStatistic = "The value %.64q for parameter %s is not offered: it must be one of " + metrics.StatisticNames +
	", or of durations a percentile from p0 to p100."

// noPercentile is the message for a percentile of a metric that has none.
const noPercentile = "The metric %.255q has no percentiles: they are recorded of durations, such as TimeToMatch."

// offersStatistic reports whether a statistic is known, for some metric.
func offersStatistic(stat string) bool {
	_, ok := metrics.Percentile(stat)
	return ok || metrics.Statistic(stat) != nil
}

// checkStatistic checks a statistic of a metric of this service.
func (h *Handler) checkStatistic(m *metric, stat, parameter string, kind fault.Kind) error {
	if metrics.Statistic(stat) != nil {
		return nil
	}
	if !offersStatistic(stat) {
		return fault.New(kind, noStatistic, stat, parameter)
	}
	if unit := h.Store.Unit(m.MetricName); m.Namespace == Namespace && unit != "" && unit != "Seconds" {
		return fault.New(kind, noPercentile, m.MetricName)
	}
	return nil
}

func (h *Handler) getMetricStatistics(ctx context.Context, in *getMetricStatisticsInput) (
	*getMetricStatisticsOutput, error,
) {
	if err := in.check(); err != nil {
		return nil, err
	}
	r := &reading{&metric{in.Namespace, in.MetricName, in.Dimensions}, in.Unit, in.StartTime, in.EndTime,
		in.Period.Or(0)}
	for _, stat := range in.ExtendedStatistics {
		if err := h.checkStatistic(r.metric, stat, "ExtendedStatistics", invalidValue); err != nil {
			return nil, err
		}
	}
	out := &getMetricStatisticsOutput{Label: in.MetricName, Datapoints: []datapoint{}}
	if len(in.ExtendedStatistics) > 0 {
		return out, h.addPercentiles(ctx, out, r, in.ExtendedStatistics)
	}
	points, err := h.points(ctx, r)
	for i := range points {
		out.Datapoints = append(out.Datapoints, shapeOfPoint(&points[i], in.Statistics, h.Store.Unit(in.MetricName)))
	}
	return out, err
}

// addPercentiles adds a point for each period with durations.
func (h *Handler) addPercentiles(ctx context.Context, out *getMetricStatisticsOutput, r *reading,
	stats []string) error {
	for _, stat := range stats {
		q, _ := metrics.Percentile(stat)
		values, err := h.quantiles(ctx, r, q)
		if err != nil {
			return err
		}
		for i, v := range values {
			if i == len(out.Datapoints) { // of the first percentile; the others have the same periods
				out.Datapoints = append(out.Datapoints, datapoint{Timestamp: v.At, Unit: h.Store.Unit(r.MetricName),
					ExtendedStatistics: map[string]float64{}})
			}
			out.Datapoints[i].ExtendedStatistics[stat] = v.Value
		}
	}
	return nil
}

func (in *getMetricStatisticsInput) check() error {
	switch {
	case len(in.Statistics) == 0 && len(in.ExtendedStatistics) == 0:
		return fault.New(missingParameter, "The parameter Statistics or ExtendedStatistics is required: one or more "+
			"of %s, "+
			"or percentiles.", metrics.StatisticNames)
	case len(in.Statistics) > 0 && len(in.ExtendedStatistics) > 0:
		return fault.New(invalidCombination,
			"The parameters Statistics and ExtendedStatistics must not be used together.")
	}
	for _, s := range in.Statistics {
		if metrics.Statistic(s) == nil {
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
			*member = wire.Some(metrics.Statistic(name)(p))
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

// A reading is what is read of a metric.
type reading struct {
	*metric
	unit     string // "": any
	from, to time.Time
	period   int32 // seconds
}

// covers returns the begin of the first period and the end, and false if there is nothing to read: the metric is in
// another namespace, or in another unit. Periods are aligned to multiples of their length.
func (r *reading) covers(s Store) (from, to time.Time, period time.Duration, ok bool) {
	from, period = time.Unix(align(r.from, int64(r.period)), 0).UTC(), time.Duration(r.period)*time.Second
	return from, r.to, period, r.Namespace == Namespace && (r.unit == "" || r.unit == s.Unit(r.MetricName))
}

// points returns the points of a metric; none if there is no such metric.
func (h *Handler) points(ctx context.Context, r *reading) ([]metrics.Point, error) {
	from, to, period, ok := r.covers(h.Store)
	if !ok {
		return nil, nil
	}
	points, err := h.Store.Points(ctx, seriesOf(r.metric), from, to, period)
	return slices.DeleteFunc(points, func(p metrics.Point) bool { return p.Count <= 0 }), err
}

// quantiles returns a percentile of a metric.
func (h *Handler) quantiles(ctx context.Context, r *reading, q float64) ([]metrics.Quantile, error) {
	from, to, period, ok := r.covers(h.Store)
	if !ok {
		return nil, nil
	}
	return h.Store.Quantile(ctx, seriesOf(r.metric), q, from, to, period)
}

// unknownTimezone is a time zone that label options cannot have.
func unknownTimezone(zone string) bool {
	return len(zone) != 5 || zone[0] != '+' && zone[0] != '-' ||
		strings.ContainsFunc(zone[1:], func(r rune) bool { return r < '0' || r > '9' }) || zone[1:3] > "14" ||
		zone[3:] > "59"
}
