// Package metrics has the metrics of a region.
package metrics

import "time"

// A Dimension is a name and a value that tell series of one metric apart.
type Dimension struct{ Name, Value string }

// A Series is one series of a metric.
type Series struct {
	Metric     string
	Dimensions []Dimension
}

// A Point aggregates a period of a series.
type Point struct {
	At                    time.Time
	Sum, Minimum, Maximum float64
	Count                 float64
}
