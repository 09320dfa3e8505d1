package cloudwatch

import (
	"context"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/cloudwatch/metricmath"
	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// metricsPage is how many metrics a page of ListMetrics has. Source: API reference, ListMetrics.
const metricsPage = 500

// recentlyActive is the only value of RecentlyActive.
const recentlyActive = "PT3H"

func (h *Handler) listMetrics(_ context.Context, in *listMetricsInput) (*listMetricsOutput, error) {
	if in.RecentlyActive != "" && in.RecentlyActive != recentlyActive {
		return nil, fault.New(invalidValue, "The value %.64q for parameter RecentlyActive is invalid: it must be %s.",
			in.RecentlyActive, recentlyActive)
	}
	query := in.query()
	after, err := readToken(in.NextToken, query)
	if err != nil {
		return nil, fault.New(invalidValue, "The parameter NextToken is not from an answer to the same query. "+
			"Start again without it.")
	}
	out := &listMetricsOutput{Metrics: []metric{}}
	for _, s := range h.series(in) {
		key := keyOf(s)
		if key <= after {
			continue
		}
		if len(out.Metrics) == metricsPage {
			out.NextToken = token(query, keyOf(seriesOf(&out.Metrics[metricsPage-1])))
			break
		}
		out.Metrics = append(out.Metrics, shapeOf(s))
		if in.IncludeLinkedAccounts.Or(false) {
			out.OwningAccounts = append(out.OwningAccounts, h.Account)
		}
	}
	return out, nil
}

// query is what a token is bound to.
func (in *listMetricsInput) query() []byte {
	q := *in
	q.NextToken = ""
	return opListMetrics.AppendInput(nil, wire.CBOR, &q)
}

// series returns the series that are asked for, in the order of their keys.
func (h *Handler) series(in *listMetricsInput) []metrics.Series {
	if in.Namespace != "" && in.Namespace != Namespace || in.OwningAccount != "" && in.OwningAccount != h.Account {
		return nil
	}
	return slices.DeleteFunc(h.Store.List(in.RecentlyActive != ""), func(s metrics.Series) bool {
		return in.MetricName != "" && s.Metric != in.MetricName || slices.ContainsFunc(in.Dimensions,
			func(f dimensionFilter) bool { return !f.matches(s) })
	})
}

// matches reports whether a series has the dimension.
func (f *dimensionFilter) matches(s metrics.Series) bool {
	name := metricmath.CanonicalDimension(f.Name)
	return slices.ContainsFunc(s.Dimensions, func(d metrics.Dimension) bool {
		return d.Name == name && (f.Value == "" || d.Value == f.Value)
	})
}

// keyOf returns a text that tells series apart, and sorts them as Series.Compare does.
func keyOf(s metrics.Series) string {
	var b strings.Builder
	b.WriteString(s.Metric)
	for _, d := range s.Dimensions {
		b.WriteString("\x00" + d.Name + "\x01" + d.Value)
	}
	return b.String()
}

func shapeOf(s metrics.Series) metric {
	m := metric{Namespace: Namespace, MetricName: s.Metric, Dimensions: make([]dimension, len(s.Dimensions))}
	for i, d := range s.Dimensions {
		m.Dimensions[i] = dimension(d)
	}
	return m
}

// seriesOf returns the series of a metric.
func seriesOf(m *metric) metrics.Series {
	s := metrics.Series{Metric: m.MetricName, Dimensions: make([]metrics.Dimension, len(m.Dimensions))}
	for i, d := range m.Dimensions {
		s.Dimensions[i] = metrics.Dimension{Name: metricmath.CanonicalDimension(d.Name), Value: d.Value}
	}
	return s
}
