package metricmath

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A function of expressions.
type function struct {
	name        string
	least, most int // arguments
	call        func(e *evaluation, c *callNode) (Value, error)
	check       func(c *callNode) *Error // of the arguments, before evaluation; may be nil
}

func (f *function) takes() string {
	switch {
	case f.most == 0:
		return "no arguments"
	case f.least == f.most && f.most == 1:
		return "1 argument"
	case f.least == f.most:
		return fmt.Sprintf("%d arguments", f.most)
	default:
		return fmt.Sprintf("%d to %d arguments", f.least, f.most)
	}
}

// functions are those that are offered.
var functions = func() map[string]*function {
	all := map[string]*function{}
	for _, f := range []*function{
		{name: "ABS", least: 1, most: 1, call: pointwise(math.Abs)},
		{name: "CEIL", least: 1, most: 1, call: pointwise(math.Ceil)},
		{name: "FLOOR", least: 1, most: 1, call: pointwise(math.Floor)},
		{name: "SUM", least: 1, most: 1, call: reduction(sum)},
		{name: "AVG", least: 1, most: 1, call: reduction(average)},
		{name: "MIN", least: 1, most: 1, call: reduction(slices.Min[[]float64])},
		{name: "MAX", least: 1, most: 1, call: reduction(slices.Max[[]float64])},
		{name: "DIFF", least: 1, most: 1, call: difference(func(change, _ float64) float64 { return change })},
		{name: "RATE", least: 1, most: 1, call: difference(func(change, s float64) float64 { return change / s })},
		{name: "FILL", least: 2, most: 2, call: fill, check: checkFill},
		{name: "METRICS", least: 0, most: 1, call: allMetrics, check: checkTexts},
		{name: "METRIC_COUNT", least: 1, most: 1, call: count},
		{name: "PERIOD", least: 1, most: 1, call: period},
		{name: "REMOVE_EMPTY", least: 1, most: 1, call: removeEmpty},
		{name: "SEARCH", least: 2, most: 3, call: search, check: checkSearch},
		{name: "TIME_SERIES", least: 1, most: 1, call: constant},
	} {
		all[f.name] = f
	}
	return all
}()

var functionNames = strings.Join(slices.Sorted(maps.Keys(functions)), ", ")

// wrong is the error of an argument of another kind.
func (c *callNode) wrong(i int, want string, got Kind) *Error {
	return errorAt(c.args[i].at(), "the function %s takes %s, not %s", c.function.name, want, got)
}

// seriesArgument evaluates the first argument, which must not be a number.
func (e *evaluation) seriesArgument(c *callNode) (Value, error) {
	v, err := c.args[0].eval(e)
	if err == nil && v.Kind == Number {
		err = c.wrong(0, "time series", v.Kind)
	}
	return v, err
}

// pointwise is a function of every value.
func pointwise(f func(float64) float64) func(*evaluation, *callNode) (Value, error) {
	return func(e *evaluation, c *callNode) (Value, error) {
		v, err := c.args[0].eval(e)
		if err != nil {
			return Value{}, err
		}
		if v.Kind == Number {
			return Value{Number: f(v.Number)}, nil
		}
		return e.each(v, f)
	}
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

func average(values []float64) float64 { return sum(values) / float64(len(values)) }

// reduction makes a number of a time series, and a time series of an array: at each time, of the series with a point.
func reduction(f func([]float64) float64) func(*evaluation, *callNode) (Value, error) {
	return func(e *evaluation, c *callNode) (Value, error) {
		v, err := c.args[0].eval(e)
		switch {
		case err != nil || v.Kind == Number:
			return v, err
		case v.Kind == Array:
			s, err := e.reduce(v.Series, f)
			return Of(s), err
		case len(v.Series[0].Values) == 0:
			return Value{Number: math.NaN()}, nil
		default:
			return Value{Number: f(v.Series[0].Values)}, nil
		}
	}
}

func (e *evaluation) reduce(all []Series, f func([]float64) float64) (Series, error) {
	out := Series{Period: e.Period()}
	points := map[int64][]float64{}
	for i, s := range all {
		if err := e.Spend(len(s.Times) + 1); err != nil {
			return out, err
		}
		if i == 0 {
			out.Metric, out.Stat, out.Period = s.Metric, s.Stat, s.Period
		}
		out.describe(s)
		out.Period = max(out.Period, s.Period)
		for j, at := range s.Times {
			points[at] = append(points[at], s.Values[j])
		}
	}
	for _, at := range slices.Sorted(maps.Keys(points)) {
		e.add(&out, at, f(points[at]))
	}
	return out, nil
}

// difference computes from each point and the one before it.
func difference(f func(change, seconds float64) float64) func(*evaluation, *callNode) (Value, error) {
	return func(e *evaluation, c *callNode) (Value, error) {
		v, err := e.seriesArgument(c)
		if err != nil {
			return Value{}, err
		}
		return e.perSeries(v, func(s Series, out *Series) {
			for i := 1; i < len(s.Times); i++ {
				e.add(out, s.Times[i], f(s.Values[i]-s.Values[i-1], float64(s.Times[i]-s.Times[i-1])))
			}
		})
	}
}

// repeat and linear are the words for the second argument of FILL.
const (
	repeat = "REPEAT"
	linear = "LINEAR"
)

// checkFill checks the word. The parser makes a text of it.
func checkFill(c *callNode) *Error {
	if t, ok := c.args[1].(*textNode); ok && t.text != repeat && t.text != linear {
		return errorAt(t.position, "the function FILL takes a number, a time series, %s or %s", repeat, linear)
	}
	return nil
}

func fill(e *evaluation, c *callNode) (Value, error) {
	v, err := e.seriesArgument(c)
	if err != nil {
		return Value{}, err
	}
	filler, err := e.filler(c)
	if err != nil {
		return Value{}, err
	}
	result := Value{Kind: v.Kind}
	for _, s := range v.Series {
		from, to := e.Grid(s.Period)
		if err := e.Spend(int((to-from)/s.Period) + 1 + len(s.Times)); err != nil {
			return Value{}, err
		}
		out, i := s, 0
		out.Times, out.Values = nil, nil
		for at := from; at < to; at += s.Period {
			for i < len(s.Times) && s.Times[i] < at {
				i++
			}
			if i < len(s.Times) && s.Times[i] == at {
				e.add(&out, at, s.Values[i])
			} else if value, ok := filler(&s, i, at); ok {
				e.add(&out, at, value)
			}
		}
		result.Series = append(result.Series, out)
	}
	return result, nil
}

// A filler returns the value at a time without a point, before point next.
type filler func(s *Series, next int, at int64) (value float64, ok bool)

// filler returns that of the second argument.
func (e *evaluation) filler(c *callNode) (filler, error) {
	if t, ok := c.args[1].(*textNode); ok {
		if t.text == repeat {
			return repeated, nil
		}
		return interpolated, nil
	}
	v, err := c.args[1].eval(e)
	if err != nil {
		return nil, err
	}
	switch v.Kind {
	case Number:
		return func(*Series, int, int64) (float64, bool) { return v.Number, true }, nil
	case Single:
		other := v.Series[0]
		return func(_ *Series, _ int, at int64) (float64, bool) {
			i, ok := slices.BinarySearch(other.Times, at)
			if !ok {
				return 0, false
			}
			return other.Values[i], true
		}, nil
	default:
		return nil, c.wrong(1, "a number, a time series, REPEAT or LINEAR", v.Kind)
	}
}

func repeated(s *Series, next int, _ int64) (float64, bool) {
	if next == 0 {
		return 0, false
	}
	return s.Values[next-1], true
}

func interpolated(s *Series, next int, at int64) (float64, bool) {
	if next == 0 || next == len(s.Times) {
		return 0, false
	}
	share := float64(at-s.Times[next-1]) / float64(s.Times[next]-s.Times[next-1])
	return s.Values[next-1] + share*(s.Values[next]-s.Values[next-1]), true
}

// checkTexts holds the arguments to be texts.
func checkTexts(c *callNode) *Error {
	for _, arg := range c.args {
		if _, ok := arg.(*textNode); !ok {
			return errorAt(arg.at(), "the function %s takes a text in quotes", c.function.name)
		}
	}
	return nil
}

func allMetrics(e *evaluation, c *callNode) (Value, error) {
	containing := ""
	if len(c.args) > 0 {
		containing = c.args[0].(*textNode).text
	}
	all, err := e.Metrics(containing)
	if err != nil {
		return Value{}, err
	}
	return Value{Kind: Array, Series: all}, e.Spend(len(all))
}

func count(e *evaluation, c *callNode) (Value, error) {
	v, err := e.seriesArgument(c)
	return Value{Number: float64(len(v.Series))}, err
}

func period(e *evaluation, c *callNode) (Value, error) {
	v, err := e.seriesArgument(c)
	if err == nil && v.Kind != Single {
		err = c.wrong(0, "a time series", v.Kind)
	}
	if err != nil {
		return Value{}, err
	}
	return Value{Number: float64(v.Series[0].Period)}, nil
}

func removeEmpty(e *evaluation, c *callNode) (Value, error) {
	v, err := e.seriesArgument(c)
	if err != nil || v.Kind == Single {
		return v, err
	}
	v.Series = slices.DeleteFunc(slices.Clone(v.Series), func(s Series) bool { return len(s.Times) == 0 })
	return v, e.Spend(len(v.Series))
}

// constant makes a time series of a number.
func constant(e *evaluation, c *callNode) (Value, error) {
	v, err := c.args[0].eval(e)
	if err == nil && v.Kind != Number {
		err = c.wrong(0, "a number", v.Kind)
	}
	if err != nil {
		return Value{}, err
	}
	s := Series{Period: e.Period()}
	from, to := e.Grid(s.Period)
	if err := e.Spend(int((to-from)/s.Period) + 1); err != nil {
		return Value{}, err
	}
	for at := from; at < to; at += s.Period {
		e.add(&s, at, v.Number)
	}
	return Of(s), nil
}

// checkSearch parses what is searched for.
func checkSearch(c *callNode) (err *Error) {
	if err := checkTexts(&callNode{function: c.function, args: c.args[:2]}); err != nil {
		return err
	}
	text := c.args[0].(*textNode)
	if c.search, err = parseSearch(text.text, text.position); err != nil {
		return err
	}
	if len(c.args) < 3 {
		return nil
	}
	if n, ok := c.args[2].(*numberNode); !ok || n.value != math.Trunc(n.value) || n.value < 1 || n.value > MaxPeriod {
		return errorAt(c.args[2].at(), "the period of SEARCH is a whole number of seconds, 1 to %d", MaxPeriod)
	}
	return nil
}

// MaxPeriod is the longest period, in seconds. Source: MetricStat.Period, one day.
const MaxPeriod = 86400

func search(e *evaluation, c *callNode) (Value, error) {
	seconds := e.Period()
	if len(c.args) == 3 {
		seconds = int64(c.args[2].(*numberNode).value)
	}
	all, err := e.Search(c.search, c.args[1].(*textNode).text, seconds)
	return Value{Kind: Array, Series: all}, cmp.Or(err, e.Spend(len(all)))
}
