// Package metricmath parses and evaluates the expressions of CloudWatch's GetMetricData: arithmetic on time series,
// functions, and searches for series.
//
//	SUM(METRICS())
//	100 * active / FILL(available, 0)
//	SEARCH('{AWS/GameLift,FleetId} MetricName="ActiveGameSessions"', 'Average', 60)
//
// A value is a number, a time series, or an array of time series. An operator or a function of one argument that gets
// an array works on each of its series; two series are combined where both have a point. Points that are no finite
// numbers are left out, and reported.
//
// An expression is checked as far as possible when it is parsed. All errors are an *Error with the position.
//
// Sources: CloudWatch user guide, "Using math expressions with CloudWatch metrics", "CloudWatch search expression
// syntax".
package metricmath

import (
	"fmt"

	"github.com/muster-gg/muster/internal/metrics"
)

// MaxLength is the maximum length of an expression, in bytes. Source: MetricDataQuery.Expression.
const MaxLength = 2048

// maxDepth is how deep parentheses, calls and operators may nest.
const maxDepth = 64

// An Error is what is wrong with an expression.
type Error struct {
	Position int // in the expression, in bytes from 1
	Message  string
}

// Error returns the message with the position.
func (e *Error) Error() string { return fmt.Sprintf("at position %d: %s", e.Position, e.Message) }

func errorAt(position int, format string, args ...any) *Error {
	return &Error{position, fmt.Sprintf(format, args...)}
}

// A Series is a time series. Series are shared between values and must not be changed.
type Series struct {
	Label  string
	Metric metrics.Series // of which it is, or from which it was computed; the zero Series for several
	Stat   string         // "Average", …; "" of several metrics
	Period int64          // seconds between points without gaps, above 0

	Times  []int64 // Unix seconds, ascending
	Values []float64
}

// A Kind is the type of a value.
type Kind int

// The kinds of values.
const (
	Number Kind = iota
	Single      // one time series
	Array       // of time series
)

// String is the kind in messages.
func (k Kind) String() string {
	return [...]string{"a number", "a time series", "an array of time series"}[k]
}

// A Value is the result of an expression.
type Value struct {
	Kind   Kind
	Number float64
	Series []Series // one for Single
}

// Of returns a value of one series.
func Of(s Series) Value { return Value{Kind: Single, Series: []Series{s}} }
