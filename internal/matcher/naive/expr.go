package naive

import (
	"math"
	"slices"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// eval returns the value of an expression: a float64, a string, or a list of values. ok is false when there is none, as
// for the average of no players.
func (m *match) eval(e *ruleset.Expr, fold ruleset.Fold) (any, bool) {
	if e.Func == "" {
		return m.path(e.Path, fold), true
	}
	arg, ok := m.eval(e.Arg, fold)
	if !ok {
		return nil, false
	}
	list := arg.([]any)
	if e.Func == "flatten" {
		flat := []any{}
		for _, v := range list {
			flat = append(flat, v.([]any)...)
		}
		return flat, true
	}
	depth := 1
	if e.Func == "set_intersection" {
		depth = 2
	}
	return apply(e.Func, list, e.Arg.Type.Depth-depth)
}

// apply calls a function with a list, or, with levels, with each list in it.
func apply(function string, list []any, levels int) (any, bool) {
	if levels == 0 {
		return call(function, list)
	}
	results := []any{}
	for _, v := range list {
		result, ok := apply(function, v.([]any), levels-1)
		if !ok {
			return nil, false
		}
		results = append(results, result)
	}
	return results, true
}

func call(function string, list []any) (any, bool) {
	switch function {
	case "count":
		return float64(len(list)), true
	case "set_intersection":
		if len(list) == 0 {
			return nil, false
		}
		var lists [][]any
		for _, v := range list {
			lists = append(lists, v.([]any))
		}
		return append([]any{}, common(lists)...), true
	}
	var numbers []float64
	total := 0.0
	for _, v := range list {
		numbers = append(numbers, v.(float64))
		total += v.(float64)
	}
	if function == "sum" {
		return total, true
	}
	if len(numbers) == 0 {
		return nil, false
	}
	mean := foldNumbers(numbers, ruleset.FoldAvg)
	switch function {
	case "min":
		return slices.Min(numbers), true
	case "max":
		return slices.Max(numbers), true
	case "avg":
		return mean, true
	case "stddev":
		squares := 0.0
		for _, v := range numbers {
			squares += (v - mean) * (v - mean)
		}
		return math.Sqrt(squares / float64(len(numbers))), true
	default: // median
		slices.Sort(numbers)
		n := len(numbers)
		return (numbers[(n-1)/2] + numbers[n/2]) / 2, true
	}
}

// path returns the selection of a path, grouped by team for a list of teams.
func (m *match) path(path *ruleset.Path, fold ruleset.Fold) any {
	teams := []any{}
	for _, i := range path.Teams {
		players := []any{}
		for _, p := range m.teams[i] {
			switch path.Of {
			case ruleset.OfPlayerIDs:
				players = append(players, p.ID)
			case ruleset.OfAttribute:
				players = append(players, m.value(p, path.Slot, fold))
			default:
				players = append(players, nil)
			}
		}
		teams = append(teams, players)
	}
	if !path.Grouped {
		return teams[0]
	}
	return teams
}

// raw returns a player's own value.
func (m *match) raw(p *matcher.Player, slot int) ruleset.Value {
	a := m.set.Attributes[slot]
	if v, ok := p.Attributes[a.Name]; ok {
		return v
	}
	return a.Default
}

// value returns the value of a player's party.
func (m *match) value(p player, slot int, fold ruleset.Fold) any {
	own := m.raw(p.Player, slot)
	switch own.Type {
	case ruleset.Number:
		if fold == ruleset.FoldUnion || fold == ruleset.FoldIntersection {
			return own.N
		}
		var each []float64
		for i := range p.party {
			each = append(each, m.raw(&p.party[i], slot).N)
		}
		return foldNumbers(each, fold)
	case ruleset.String:
		return own.S
	case ruleset.StringList:
		return m.list(p, slot, fold)
	default:
		return nil
	}
}

// list returns the string list of a player's party.
func (m *match) list(p player, slot int, fold ruleset.Fold) any {
	var lists [][]any
	union := []any{}
	for i := range p.party {
		var list []any
		for _, s := range m.raw(&p.party[i], slot).SL {
			list = append(list, s)
			if !slices.Contains(union, any(s)) {
				union = append(union, s)
			}
		}
		lists = append(lists, list)
	}
	switch fold {
	case ruleset.FoldUnion:
		return union
	case ruleset.FoldIntersection:
		return append([]any{}, common(lists)...)
	default:
		list := []any{}
		for _, s := range m.raw(p.Player, slot).SL {
			if !slices.Contains(list, any(s)) {
				list = append(list, s)
			}
		}
		return list
	}
}

func foldNumbers(of []float64, fold ruleset.Fold) float64 {
	switch fold {
	case ruleset.FoldMin:
		return slices.Min(of)
	case ruleset.FoldMax:
		return slices.Max(of)
	}
	total := 0.0
	for _, v := range of {
		total += v
	}
	return total / float64(len(of))
}
