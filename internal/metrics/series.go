package metrics

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A Dimension is a name and value that a series has.
type Dimension struct{ Name, Value string }

// A Series names the values of one metric for one set of dimensions.
type Series struct {
	Metric     string      // CloudWatch's name
	Dimensions []Dimension // in the order of the catalogue
}

// Compare orders series by metric, then by dimensions.
func (s Series) Compare(o Series) int {
	return cmp.Or(strings.Compare(s.Metric, o.Metric), slices.CompareFunc(s.Dimensions, o.Dimensions,
		func(a, b Dimension) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value))
		}))
}

// A Point sums up the values of a series in a period. Its average is Sum/Count.
type Point struct {
	At                    time.Time // begin of the period, UTC
	Sum, Minimum, Maximum float64
	Count                 float64 // samples
}

// A Quantile is an estimate from the histogram of a period.
type Quantile struct {
	At    time.Time // begin of the period, UTC
	Value float64   // in the unit of the metric
}
