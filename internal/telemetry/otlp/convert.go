package otlp

import (
	"maps"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// scopeName is the instrumentation scope of all metrics.
const scopeName = "github.com/muster-gg/muster"

const cumulative = metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE

// message returns a request's body. MetricsData has the same fields as ExportMetricsServiceRequest, whose package would
// link gRPC.
func message(of []*dto.MetricFamily, attributes map[string]string, version string, now time.Time) *metrics.MetricsData {
	scope := &metrics.ScopeMetrics{Scope: &common.InstrumentationScope{Name: scopeName, Version: version}}
	for _, family := range of {
		if m := convert(family, now); m != nil {
			scope.Metrics = append(scope.Metrics, m)
		}
	}
	source := &resource.Resource{}
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		source.Attributes = append(source.Attributes, attribute(key, attributes[key]))
	}
	return &metrics.MetricsData{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource: source, ScopeMetrics: []*metrics.ScopeMetrics{scope},
	}}}
}

func attribute(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

// convert returns a metric; nil for a kind that OTLP does not have. Names stay as they are at /metrics, so that the
// same dashboards fit.
func convert(family *dto.MetricFamily, now time.Time) *metrics.Metric {
	m := &metrics.Metric{Name: family.GetName(), Description: family.GetHelp(), Unit: family.GetUnit()}
	switch family.GetType() {
	case dto.MetricType_COUNTER:
		m.Data = &metrics.Metric_Sum{Sum: &metrics.Sum{
			DataPoints: points(family, now, counter), IsMonotonic: true, AggregationTemporality: cumulative,
		}}
	case dto.MetricType_GAUGE, dto.MetricType_UNTYPED:
		m.Data = &metrics.Metric_Gauge{Gauge: &metrics.Gauge{DataPoints: points(family, now, gauge)}}
	case dto.MetricType_HISTOGRAM:
		m.Data = &metrics.Metric_Histogram{Histogram: &metrics.Histogram{
			DataPoints: points(family, now, histogram), AggregationTemporality: cumulative,
		}}
	case dto.MetricType_SUMMARY:
		m.Data = &metrics.Metric_Summary{Summary: &metrics.Summary{DataPoints: points(family, now, summary)}}
	default:
		return nil
	}
	return m
}

// A series is what the points of all kinds share.
type series struct {
	labels []*common.KeyValue
	time   uint64
}

func points[P any](family *dto.MetricFamily, now time.Time, point func(*dto.Metric, series) P) (all []P) {
	for _, m := range family.Metric {
		s := series{time: uint64(now.UnixNano())}
		if m.TimestampMs != nil {
			s.time = uint64(m.GetTimestampMs()) * uint64(time.Millisecond)
		}
		for _, label := range m.Label {
			s.labels = append(s.labels, attribute(label.GetName(), label.GetValue()))
		}
		all = append(all, point(m, s))
	}
	return all
}

// start returns when a series began: 0, unknown, if the registry does not have it. The counters of fleets, queues and
// matchmaking are such, because they continue after a restart of the service.
func start(created *timestamppb.Timestamp) uint64 {
	if created == nil {
		return 0
	}
	return uint64(created.AsTime().UnixNano())
}

func counter(m *dto.Metric, s series) *metrics.NumberDataPoint {
	p := number(m.Counter.GetValue(), s)
	p.StartTimeUnixNano = start(m.Counter.GetCreatedTimestamp())
	return p
}

func gauge(m *dto.Metric, s series) *metrics.NumberDataPoint {
	return number(m.Gauge.GetValue()+m.Untyped.GetValue(), s) // one of them is there
}

func number(value float64, s series) *metrics.NumberDataPoint {
	return &metrics.NumberDataPoint{
		Attributes: s.labels, TimeUnixNano: s.time, Value: &metrics.NumberDataPoint_AsDouble{AsDouble: value},
	}
}

// histogram turns cumulative buckets into those of OTLP, each with its own count. The last one has no bound. A native
// histogram, of which the registry has none, becomes its count and sum.
func histogram(m *dto.Metric, s series) *metrics.HistogramDataPoint {
	h := m.Histogram
	sum := h.GetSampleSum()
	p := &metrics.HistogramDataPoint{
		Attributes: s.labels, TimeUnixNano: s.time, StartTimeUnixNano: start(h.GetCreatedTimestamp()),
		Count: h.GetSampleCount(), Sum: &sum,
	}
	var below uint64
	for _, b := range h.Bucket {
		if math.IsInf(b.GetUpperBound(), 1) {
			break
		}
		p.ExplicitBounds = append(p.ExplicitBounds, b.GetUpperBound())
		p.BucketCounts = append(p.BucketCounts, b.GetCumulativeCount()-below)
		below = b.GetCumulativeCount()
	}
	p.BucketCounts = append(p.BucketCounts, p.Count-below)
	return p
}

func summary(m *dto.Metric, s series) *metrics.SummaryDataPoint {
	p := &metrics.SummaryDataPoint{
		Attributes: s.labels, TimeUnixNano: s.time, StartTimeUnixNano: start(m.Summary.GetCreatedTimestamp()),
		Count: m.Summary.GetSampleCount(), Sum: m.Summary.GetSampleSum(),
	}
	for _, q := range m.Summary.Quantile {
		p.QuantileValues = append(p.QuantileValues, &metrics.SummaryDataPoint_ValueAtQuantile{
			Quantile: q.GetQuantile(), Value: q.GetValue(),
		})
	}
	return p
}
