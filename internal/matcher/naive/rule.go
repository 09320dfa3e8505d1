package naive

import (
	"math"
	"slices"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A truth is the result of a rule; unknown: its expressions have no value.
type truth int

const (
	unknown truth = iota
	yes
	no
)

func is(ok bool) truth {
	if ok {
		return yes
	}
	return no
}

func all(truths []truth) truth {
	switch {
	case slices.Contains(truths, no):
		return no
	case slices.Contains(truths, unknown):
		return unknown
	default:
		return yes
	}
}

func (m *match) rule(r *ruleset.Rule) truth {
	switch r.Type {
	case ruleset.Comparison:
		if r.Reference == nil {
			return m.equality(r)
		}
		return m.each(r, func(v, reference any) bool { return compare(r.Operation, v, reference) })
	case ruleset.Distance:
		return m.each(r, func(v, reference any) bool {
			d := math.Abs(v.(float64) - reference.(float64))
			return (r.MaxDistance == nil || d <= *r.MaxDistance) && (r.MinDistance == nil || d >= *r.MinDistance)
		})
	case ruleset.BatchDistance:
		return m.batchDistance(r)
	case ruleset.Collection:
		return m.collection(r)
	case ruleset.Compound:
		return m.statement(r.Statement)
	case ruleset.Latency:
		return m.latency(r)
	default: // sort rules
		return yes
	}
}

func compare(op string, a, b any) bool {
	switch op {
	case "=":
		return a == b
	case "!=":
		return a != b
	}
	x, y := a.(float64), b.(float64)
	switch op {
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	default:
		return x >= y
	}
}

// each tests every element of every measurement against the reference.
func (m *match) each(r *ruleset.Rule, test func(v, reference any) bool) truth {
	reference, ok := m.reference(r)
	if !ok {
		return unknown
	}
	var truths []truth
	for _, e := range r.Measurements {
		elements, ok := m.elements(e, r.Fold)
		if !ok {
			truths = append(truths, unknown)
		}
		for _, v := range elements {
			truths = append(truths, is(test(v, reference)))
		}
	}
	return all(truths)
}

// reference returns what measurements are compared with.
func (m *match) reference(r *ruleset.Rule) (any, bool) {
	switch ref := r.Reference; {
	case ref.Number != nil:
		return *ref.Number, true
	case ref.Text != nil:
		return *ref.Text, true
	case ref.Expr != nil:
		return m.eval(ref.Expr, r.Fold)
	default:
		var list []any
		for _, s := range ref.List {
			list = append(list, s)
		}
		return list, true
	}
}

// elements returns the numbers or strings of an expression; ok is false when there are none.
func (m *match) elements(e *ruleset.Expr, fold ruleset.Fold) ([]any, bool) {
	v, ok := m.eval(e, fold)
	if !ok {
		return nil, false
	}
	all := leaves(v)
	return all, len(all) > 0
}

func leaves(v any) []any {
	list, ok := v.([]any)
	if !ok {
		return []any{v}
	}
	var all []any
	for _, v := range list {
		all = append(all, leaves(v)...)
	}
	return all
}

// equality compares all elements with each other.
func (m *match) equality(r *ruleset.Rule) truth {
	var every []any
	complete := true
	for _, e := range r.Measurements {
		elements, ok := m.elements(e, r.Fold)
		every = append(every, elements...)
		complete = complete && ok
	}
	for i, v := range every {
		for _, u := range every[:i] {
			if (u == v) != (r.Operation == "=") {
				return no
			}
		}
	}
	if !complete {
		return unknown
	}
	return yes
}

func (m *match) batchDistance(r *ruleset.Rule) truth {
	var every []any
	for _, team := range m.teams {
		for _, p := range team {
			every = append(every, m.value(p, r.Attribute, r.Fold))
		}
	}
	for _, v := range every {
		for _, u := range every {
			if text, ok := v.(string); ok {
				if text != u {
					return no
				}
				continue
			}
			if v.(float64)-u.(float64) > *r.MaxDistance {
				return no
			}
		}
	}
	return yes
}

func (m *match) collection(r *ruleset.Rule) truth {
	bounded := func(n int) truth {
		return is((r.MinCount == nil || n >= *r.MinCount) && (r.MaxCount == nil || n <= *r.MaxCount))
	}
	var every [][]any
	complete := true
	for _, e := range r.Measurements {
		v, ok := m.eval(e, r.Fold)
		var lists [][]any
		if ok {
			lists = innermost(v.([]any), e.Type.Depth)
		}
		every = append(every, lists...)
		complete = complete && len(lists) > 0
	}
	switch r.Operation {
	case "contains":
		n := 0
		for _, list := range every {
			for _, v := range list {
				if v == *r.Reference.Text {
					n++
				}
			}
		}
		return bounded(n)
	case "intersection":
		if len(every) == 0 {
			return unknown
		}
		return bounded(len(common(every)))
	}
	reference, ok := m.reference(r)
	if !ok {
		return unknown
	}
	truths := []truth{is(true)}
	if !complete {
		truths = append(truths, unknown)
	}
	for _, list := range every {
		truths = append(truths, bounded(len(common([][]any{list, reference.([]any)}))))
	}
	return all(truths)
}

// innermost returns the lists that contain no lists.
func innermost(list []any, depth int) [][]any {
	if depth <= 1 {
		return [][]any{list}
	}
	var all [][]any
	for _, v := range list {
		all = append(all, innermost(v.([]any), depth-1)...)
	}
	return all
}

// common returns the distinct values that all lists contain.
func common(lists [][]any) []any {
	var of []any
	for _, v := range lists[0] {
		everywhere := !slices.Contains(of, v)
		for _, list := range lists {
			everywhere = everywhere && slices.Contains(list, v)
		}
		if everywhere {
			of = append(of, v)
		}
	}
	return of
}

func (m *match) statement(s *ruleset.Statement) truth {
	if s.Op == "" {
		return m.rule(&m.set.Rules[s.Rule])
	}
	var truths []truth
	for _, arg := range s.Args {
		truths = append(truths, m.statement(arg))
	}
	switch s.Op {
	case "not":
		return negate(truths[0])
	case "and":
		return all(truths)
	case "or":
		for i := range truths {
			truths[i] = negate(truths[i])
		}
		return negate(all(truths))
	}
	holding := 0
	for _, t := range truths {
		if t == yes {
			holding++
		}
	}
	switch {
	case holding > 1:
		return no
	case slices.Contains(truths, unknown):
		return unknown
	default:
		return is(holding == 1)
	}
}

func negate(t truth) truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	default:
		return unknown
	}
}

// latency searches one location that all tickets accept, with latencies near to the reference.
func (m *match) latency(r *ruleset.Rule) truth {
	for location := range m.tickets[0].Players[0].Latency {
		var values, weighted []float64
		for _, t := range m.tickets {
			var each []float64
			for _, p := range t.Players {
				if ms, ok := p.Latency[location]; ok {
					each = append(each, float64(ms))
				}
			}
			if len(each) < len(t.Players) {
				break
			}
			v := foldNumbers(each, r.Fold)
			if r.MaxLatency != nil && v > *r.MaxLatency {
				break
			}
			values = append(values, v)
			weighted = append(weighted, slices.Repeat([]float64{v}, len(each))...)
		}
		if len(values) == len(m.tickets) && near(r, values, weighted) {
			return yes
		}
	}
	return no
}

func near(r *ruleset.Rule, values, weighted []float64) bool {
	if r.MaxDistance == nil {
		return true
	}
	reference := slices.Min(values)
	if r.FromAverage {
		reference = foldNumbers(weighted, ruleset.FoldAvg)
	}
	return !slices.ContainsFunc(values, func(v float64) bool { return math.Abs(v-reference) > *r.MaxDistance })
}
