package otlp

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// TestConvert converts messages that are given in Prometheus' text form.
func TestConvert(t *testing.T) {
	for name, c := range map[string]struct{ family, want string }{
		"counter": {
			`name: "calls_total" help: "Calls." type: COUNTER unit: "1"
			metric { label { name: "operation" value: "ListFleets" }
			counter { value: 3 created_timestamp { seconds: 5 } } }
			metric { label { name: "operation" value: "Ünï" } counter { value: 0.5 } }`,
			`{"name": "calls_total", "description": "Calls.", "unit": "1", "sum": {"isMonotonic": true,
			"aggregationTemporality": "AGGREGATION_TEMPORALITY_CUMULATIVE", "dataPoints": [
			{"attributes": [{"key": "operation", "value": {"stringValue": "ListFleets"}}],
			"startTimeUnixNano": "5000000000", "timeUnixNano": "9000000000", "asDouble": 3},
			{"attributes": [{"key": "operation", "value": {"stringValue": "Ünï"}}],
			"timeUnixNano": "9000000000", "asDouble": 0.5}]}}`,
		},
		"gauge": {
			`name: "g" type: GAUGE metric { gauge { value: nan } } metric { gauge { value: inf } timestamp_ms: 7 }`,
			`{"name": "g", "gauge": {"dataPoints": [{"timeUnixNano": "9000000000", "asDouble": "NaN"},
			{"timeUnixNano": "7000000", "asDouble": "Infinity"}]}}`,
		},
		"untyped": {
			`name: "u" type: UNTYPED metric { untyped { value: -1 } }`,
			`{"name": "u", "gauge": {"dataPoints": [{"timeUnixNano": "9000000000", "asDouble": -1}]}}`,
		},
		"histogram": {
			`name: "h" type: HISTOGRAM metric { histogram { sample_count: 10 sample_sum: 4.5
			bucket { upper_bound: 0.1 cumulative_count: 2 } bucket { upper_bound: 1 cumulative_count: 7 } } }`,
			`{"name": "h", "histogram": {"aggregationTemporality": "AGGREGATION_TEMPORALITY_CUMULATIVE", "dataPoints": [
			{"timeUnixNano": "9000000000", "count": "10", "sum": 4.5, "bucketCounts": ["2", "5", "3"],
			"explicitBounds": [0.1, 1]}]}}`,
		},
		"histogram with a bucket without bound": {
			`name: "h" type: HISTOGRAM metric { histogram { sample_count: 4 sample_sum: nan
			bucket { upper_bound: 1 cumulative_count: 4 } bucket { upper_bound: inf cumulative_count: 4 } } }`,
			`{"name": "h", "histogram": {"aggregationTemporality": "AGGREGATION_TEMPORALITY_CUMULATIVE", "dataPoints": [
			{"timeUnixNano": "9000000000", "count": "4", "sum": "NaN", "bucketCounts": ["4", "0"],
			"explicitBounds": [1]}]}}`,
		},
		"native histogram": {
			`name: "h" type: HISTOGRAM metric { histogram { sample_count: 4 sample_sum: 2 schema: 3 } }`,
			`{"name": "h", "histogram": {"aggregationTemporality": "AGGREGATION_TEMPORALITY_CUMULATIVE", "dataPoints": [
			{"timeUnixNano": "9000000000", "count": "4", "sum": 2, "bucketCounts": ["4"]}]}}`,
		},
		"summary": {
			`name: "s" type: SUMMARY metric { summary { sample_count: 2 sample_sum: 3 created_timestamp { seconds: 1 }
			quantile { quantile: 0 value: 1 } quantile { quantile: 0.5 value: nan } } }`,
			`{"name": "s", "summary": {"dataPoints": [{"startTimeUnixNano": "1000000000", "timeUnixNano": "9000000000",
			"count": "2", "sum": 3, "quantileValues": [{"value": 1}, {"quantile": 0.5, "value": "NaN"}]}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var family dto.MetricFamily
			var want metrics.Metric
			if err := prototext.Unmarshal([]byte(c.family), &family); err != nil {
				t.Fatal(err)
			}
			if err := protojson.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if got := convert(&family, time.Unix(9, 0)); !proto.Equal(got, &want) {
				t.Errorf("got %v", protojson.Format(got))
			}
		})
	}
	if got := convert(&dto.MetricFamily{Type: dto.MetricType_GAUGE_HISTOGRAM.Enum()}, time.Unix(9, 0)); got != nil {
		t.Errorf("a histogram of gauges became %v", got)
	}
}

// TestRegistry converts what a registry really gathers: starts are known, and counts add up.
func TestRegistry(t *testing.T) {
	registry := prometheus.NewRegistry()
	calls := prometheus.NewCounter(prometheus.CounterOpts{Name: "calls_total", Help: "Calls."})
	took := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "took", Help: "T.", Buckets: []float64{1, math.Inf(1)},
	})
	registry.MustRegister(calls, took)
	calls.Inc()
	for _, seconds := range []float64{.5, 2, 3} {
		took.Observe(seconds)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := message(families, map[string]string{"b": "2", "a": "1"}, "v1", time.Now()).ResourceMetrics[0]
	if a := all.Resource.Attributes; len(a) != 2 || a[0].Key != "a" || a[1].Value.GetStringValue() != "2" {
		t.Errorf("resource %v", a)
	}
	scope := all.ScopeMetrics[0]
	if scope.Scope.Name != scopeName || scope.Scope.Version != "v1" || len(scope.Metrics) != 2 {
		t.Fatalf("scope %v", scope)
	}
	if p := scope.Metrics[0].GetSum().DataPoints[0]; p.GetAsDouble() != 1 || p.StartTimeUnixNano == 0 {
		t.Errorf("counter %v", p)
	}
	p := scope.Metrics[1].GetHistogram().DataPoints[0]
	if p.StartTimeUnixNano == 0 || len(p.BucketCounts) != 2 || p.BucketCounts[0] != 1 || p.BucketCounts[1] != 2 {
		t.Errorf("histogram %v", p)
	}
}
