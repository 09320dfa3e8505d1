package cloudwatch

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/cloudwatch/metricmath"
	"github.com/muster-gg/muster/internal/metrics"
)

// labelFound sets the labels of the series that a search has found: the parts in which they differ, values of
// dimensions before the metric; the metric's name if there is one series.
func labelFound(found []metricmath.Series) {
	if len(found) == 0 {
		return
	}
	metric := len(found) == 1 || !all(found, func(s *metricmath.Series) bool {
		return s.Metric.Metric == found[0].Metric.Metric
	})
	for i := range found {
		s := &found[i]
		var parts []string
		for _, d := range s.Metric.Dimensions {
			shared := all(found, func(s *metricmath.Series) bool { return slices.Contains(s.Metric.Dimensions, d) })
			if !shared {
				parts = append(parts, d.Value)
			}
		}
		if metric || len(parts) == 0 {
			parts = append(parts, s.Metric.Metric)
		}
		s.Label = strings.Join(parts, " ")
	}
}

// all reports whether something holds for all series.
func all(series []metricmath.Series, holds func(*metricmath.Series) bool) bool {
	return !slices.ContainsFunc(series, func(s metricmath.Series) bool { return !holds(&s) })
}

// dynamic is a part of a label that is replaced. Source: CloudWatch user guide, "Using dynamic labels".
var dynamic = regexp.MustCompile(`\$\{\s*(?:([A-Z_]+)|PROP\(\s*'([^']*)'\s*\))\s*\}`)

// label returns the label of a result.
func (d *data) label(q *dataQuery, kind metricmath.Kind, s *metricmath.Series) string {
	standard := s.Label
	if q.expression != nil && kind == metricmath.Single || standard == "" {
		standard = q.in.Id
	}
	switch text := q.in.Label; {
	case text == "":
		if q.expression == nil {
			return s.Metric.Metric
		}
		return standard
	case q.expression != nil && kind == metricmath.Array && !dynamic.MatchString(text):
		return text + " " + standard
	default:
		return dynamic.ReplaceAllStringFunc(text, func(part string) string {
			match := dynamic.FindStringSubmatch(part)
			value, ok := d.dynamic(match[1], match[2], standard, s)
			if !ok {
				return part
			}
			return value
		})
	}
}

// dynamic returns the value of ${name} or ${PROP('property')}; false if there is no such part, which then stays.
func (d *data) dynamic(name, property, standard string, s *metricmath.Series) (value string, ok bool) {
	if name == "LABEL" {
		return standard, true
	}
	if name != "" {
		return d.ofPoints(name, s)
	}
	if dimension, ok := strings.CutPrefix(property, "Dim."); ok {
		dimension = metricmath.CanonicalDimension(dimension)
		i := slices.IndexFunc(s.Metric.Dimensions, func(d metrics.Dimension) bool { return d.Name == dimension })
		if i < 0 {
			return "", true
		}
		return s.Metric.Dimensions[i].Value, true
	}
	switch property {
	case "AccountId":
		return d.h.Account, true
	case "MetricName":
		return s.Metric.Metric, true
	case "Namespace":
		return Namespace, true
	case "Period":
		return strconv.FormatInt(s.Period, 10), true
	case "Stat":
		return s.Stat, true
	default:
		return "", false
	}
}

// ofPoints returns a statistic of the points of a series, or its time.
func (d *data) ofPoints(name string, s *metricmath.Series) (string, bool) {
	name, isTime := strings.CutSuffix(name, "_TIME")
	if len(s.Values) == 0 {
		return "--", slices.Contains([]string{"AVG", "FIRST", "LAST", "MAX", "MIN", "SUM"}, name)
	}
	at := 0
	switch name {
	case "AVG", "SUM":
		total := 0.0
		for _, v := range s.Values {
			total += v
		}
		if name == "AVG" {
			total /= float64(len(s.Values))
		}
		return shown(total), !isTime
	case "FIRST":
	case "LAST":
		at = len(s.Values) - 1
	case "MAX":
		at = slices.Index(s.Values, slices.Max(s.Values))
	case "MIN":
		at = slices.Index(s.Values, slices.Min(s.Values))
	default:
		return "", false
	}
	if isTime {
		return time.Unix(s.Times[at], 0).In(d.zone).Format("2006-01-02T15:04:05Z07:00"), true
	}
	return shown(s.Values[at]), true
}

// shown is a value in a label.
func shown(value float64) string {
	text := strconv.FormatFloat(value, 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
