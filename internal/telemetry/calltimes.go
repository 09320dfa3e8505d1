package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// A Histogram counts durations.
type Histogram struct {
	Bounds []float64 // upper bounds in seconds, ascending
	Counts []uint64  // of the durations up to each bound, those up to lower bounds included
	Count  uint64    // of all
	Sum    float64   // seconds
}

// CallTimes returns how long all API calls took since the start.
func (m *Metrics) CallTimes() Histogram {
	all := Histogram{Bounds: seconds, Counts: make([]uint64, len(seconds))}
	operations := make(chan prometheus.Metric)
	go func() {
		m.callSeconds.Collect(operations)
		close(operations)
	}()
	for each := range operations {
		var read dto.Metric
		if err := each.Write(&read); err != nil {
			continue // which a histogram of this package does not do
		}
		for i, b := range read.Histogram.Bucket {
			all.Counts[i] += b.GetCumulativeCount()
		}
		all.Count += read.Histogram.GetSampleCount()
		all.Sum += read.Histogram.GetSampleSum()
	}
	return all
}
