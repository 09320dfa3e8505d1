package metricmath

import "math"

// An Environment is the request that an expression is part of.
type Environment interface {
	// Query returns the value of another query; ok is false if there is no such id.
	Query(id string) (v Value, ok bool, err error)

	// Metrics returns the series of the queries that are metrics, not expressions, whose ids contain a text.
	Metrics(containing string) ([]Series, error)

	// Search returns the series that match, with their labels.
	Search(s *Search, stat string, period int64) ([]Series, error)

	// Grid returns the first time and the end of the request, aligned to a period, in Unix seconds.
	Grid(period int64) (from, to int64)

	// Period returns the period, in seconds, of series that do not come from a metric.
	Period() int64

	// Spend is called before so many points are computed. An error ends the evaluation.
	Spend(points int) error
}

// An evaluation is one run of an expression.
type evaluation struct {
	Environment
	dropped bool
}

// Eval computes the expression. dropped: points were left out because they are no finite numbers. Errors are an *Error,
// or those of the environment.
func (x *Expression) Eval(env Environment) (v Value, dropped bool, err error) {
	e := &evaluation{Environment: env}
	v, err = x.root.eval(e)
	return v, e.dropped, err
}

func (n *numberNode) eval(*evaluation) (Value, error) { return Value{Number: n.value}, nil }

func (n *textNode) eval(*evaluation) (Value, error) {
	return Value{}, errorAt(n.position, "a text can only be an argument of SEARCH, METRICS or METRIC_COUNT")
}

func (n *idNode) eval(e *evaluation) (Value, error) {
	v, ok, err := e.Query(n.id)
	if err == nil && !ok {
		err = errorAt(n.position, "no query of the request has the id '%s'", n.id)
	}
	return v, err
}

func (n *arrayNode) eval(e *evaluation) (Value, error) {
	all := Value{Kind: Array}
	for _, element := range n.elements {
		v, err := element.eval(e)
		if err != nil {
			return Value{}, err
		}
		if v.Kind == Number {
			return Value{}, errorAt(element.at(), "an array holds time series, not numbers")
		}
		all.Series = append(all.Series, v.Series...)
		if err := e.Spend(len(v.Series)); err != nil {
			return Value{}, err
		}
	}
	return all, nil
}

func (n *callNode) eval(e *evaluation) (Value, error) { return n.function.call(e, n) }

func (n *binaryNode) eval(e *evaluation) (Value, error) {
	a, err := n.left.eval(e)
	if err != nil {
		return Value{}, err
	}
	b, err := n.right.eval(e)
	if err != nil {
		return Value{}, err
	}
	switch {
	case a.Kind == Number && b.Kind == Number:
		return Value{Number: operate(n.operator, a.Number, b.Number)}, nil
	case a.Kind == Array && b.Kind == Array:
		return Value{}, errorAt(n.position, "'%c' does not take two arrays: make one of them a time series with "+
			"SUM, AVG, MIN or MAX", n.operator)
	case b.Kind == Number:
		return e.each(a, func(v float64) float64 { return operate(n.operator, v, b.Number) })
	case a.Kind == Number:
		return e.each(b, func(v float64) float64 { return operate(n.operator, a.Number, v) })
	default:
		return e.combine(n.operator, a, b)
	}
}

func operate(operator byte, a, b float64) float64 {
	switch operator {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	case '/':
		return a / b
	default:
		return math.Pow(a, b)
	}
}

// each computes every point of every series.
func (e *evaluation) each(v Value, f func(float64) float64) (Value, error) {
	return e.perSeries(v, func(s Series, out *Series) {
		for i, value := range s.Values {
			e.add(out, s.Times[i], f(value))
		}
	})
}

// perSeries computes a series from every series.
func (e *evaluation) perSeries(v Value, f func(s Series, out *Series)) (Value, error) {
	result := Value{Kind: v.Kind, Series: make([]Series, len(v.Series))}
	for i, s := range v.Series {
		if err := e.Spend(len(s.Times) + 1); err != nil {
			return Value{}, err
		}
		out := s
		out.Times, out.Values = make([]int64, 0, len(s.Times)), make([]float64, 0, len(s.Times))
		f(s, &out)
		result.Series[i] = out
	}
	return result, nil
}

// add appends a point, if it is a finite number.
func (e *evaluation) add(s *Series, at int64, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		e.dropped = true
		return
	}
	s.Times, s.Values = append(s.Times, at), append(s.Values, value)
}

// combine applies an operator to two values of which at most one is an array.
func (e *evaluation) combine(operator byte, a, b Value) (Value, error) {
	if b.Kind == Array {
		return e.perSeries(b, func(s Series, out *Series) { e.join(operator, a.Series[0], s, out) })
	}
	return e.perSeries(a, func(s Series, out *Series) {
		if e.join(operator, s, b.Series[0], out); a.Kind == Single {
			out.describe(b.Series[0])
		}
	})
}

// join computes the points at the times of both series.
func (e *evaluation) join(operator byte, a, b Series, out *Series) {
	out.Period = max(a.Period, b.Period)
	for i, j := 0, 0; i < len(a.Times) && j < len(b.Times); {
		switch {
		case a.Times[i] < b.Times[j]:
			i++
		case a.Times[i] > b.Times[j]:
			j++
		default:
			e.add(out, a.Times[i], operate(operator, a.Values[i], b.Values[j]))
			i++
			j++
		}
	}
}

// describe keeps of a series what it shares with another one that it was computed from.
func (s *Series) describe(other Series) {
	if s.Metric.Metric != other.Metric.Metric {
		s.Metric.Metric = ""
	}
	if s.Stat != other.Stat {
		s.Stat = ""
	}
	var shared []int
	for i, d := range s.Metric.Dimensions {
		for _, o := range other.Metric.Dimensions {
			if d == o {
				shared = append(shared, i)
			}
		}
	}
	if len(shared) == len(s.Metric.Dimensions) {
		return
	}
	kept := s.Metric.Dimensions[:0:0]
	for _, i := range shared {
		kept = append(kept, s.Metric.Dimensions[i])
	}
	s.Metric.Dimensions = kept
}
