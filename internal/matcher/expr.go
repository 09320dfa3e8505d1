package matcher

import (
	"math"
	"slices"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A trend is how the elements of an expression change as players join. It decides whether a broken rule may hold again.
type trend uint8

const (
	free    trend = iota // any way
	fixed                // elements do not change; others may be added
	rising               // no element decreases
	falling              // no element increases
)

// numbers is a compiled expression of numbers: its elements, however nested.
type numbers struct {
	trend trend
	one   bool // exactly one element in every match
	// get appends the elements; ok is false while there is no value, such as the average of no players.
	get func(t *trial, to []float64) (elements []float64, ok bool)
}

// nested is a string list of any depth: items, or lists of lists.
type nested struct {
	items []int32
	lists []nested
}

// A compiler compiles the rules of a level to closures.
type compiler struct {
	pool *Pool
	fold fold // of the rule
}

// A fold is that of a rule. It applies to attributes of its kind; of others each player keeps its own value.
type fold ruleset.Fold

func (f fold) of(t ruleset.Type) ruleset.Fold {
	lists := ruleset.Fold(f) == ruleset.FoldUnion || ruleset.Fold(f) == ruleset.FoldIntersection
	if lists != (t == ruleset.StringList) {
		return ""
	}
	return ruleset.Fold(f)
}

// numbers compiles an expression of numbers. Functions apply to the innermost lists, usually one per team.
func (c compiler) numbers(e *ruleset.Expr) numbers {
	if each := c.perPlayer(e); each != nil {
		return c.everyPlayer(source(e), each)
	}
	switch e.Func {
	case "flatten":
		return c.numbers(e.Arg)
	case "count":
		return c.count(e)
	}
	if each := c.perPlayer(e.Arg); each != nil {
		return c.perTeam(e.Func, source(e.Arg), each)
	}
	return c.overall(e)
}

// source returns the path of an expression.
func source(e *ruleset.Expr) *ruleset.Path {
	for e.Path == nil {
		e = e.Arg
	}
	return e.Path
}

// perPlayer returns a function that appends one number per player of a team, for expressions that have such numbers;
// else nil.
func (c compiler) perPlayer(e *ruleset.Expr) func(m *team, to []float64) []float64 {
	path := source(e)
	switch {
	case e.Func == "" && e.Type.Of == ruleset.KindNumber:
		column := c.pool.columns.number(path.Slot, c.fold.of(ruleset.Number))
		return func(m *team, to []float64) []float64 { return append(to, m.numbers[column]...) }
	case e.Func == "count" && e.Arg.Func == "" && c.isList(path):
		column := c.pool.columns.list(path.Slot, c.fold.of(ruleset.StringList))
		return func(m *team, to []float64) []float64 {
			for _, list := range m.lists[column] {
				to = append(to, float64(len(list.items)))
			}
			return to
		}
	default:
		return nil
	}
}

// everyPlayer returns the values of the players.
func (c compiler) everyPlayer(path *ruleset.Path, each func(*team, []float64) []float64) numbers {
	return numbers{trend: fixed, get: func(t *trial, to []float64) ([]float64, bool) {
		for _, i := range path.Teams {
			to = each(&t.teams[i], to)
		}
		return to, true
	}}
}

// perTeam returns a function of each team's values.
func (c compiler) perTeam(name string, path *ruleset.Path, each func(*team, []float64) []float64) numbers {
	reduce := reducers[name]
	return numbers{trend: reduce.trend, one: !path.Grouped, get: func(t *trial, to []float64) ([]float64, bool) {
		for _, i := range path.Teams {
			before := len(to)
			to = each(&t.teams[i], to)
			v, ok := reduce.of(to[before:])
			if !ok {
				return to[:before], false
			}
			to = append(to[:before], v)
		}
		return to, true
	}}
}

// overall returns a function of all elements of the argument.
func (c compiler) overall(e *ruleset.Expr) numbers {
	arg, reduce := c.numbers(e.Arg), reducers[e.Func]
	n := numbers{trend: reduce.trend, one: true}
	if arg.trend != fixed {
		// Each team has one element, and the function has a value only when all of them have.
		n.trend = free
		if reduce.follows {
			n.trend = arg.trend
		}
	}
	n.get = func(t *trial, to []float64) ([]float64, bool) {
		before := len(to)
		all, ok := arg.get(t, to)
		if !ok {
			return to, false
		}
		v, ok := reduce.of(all[before:])
		return append(all[:before], v), ok
	}
	return n
}

// A reducer is a function of a list of numbers.
type reducer struct {
	trend   trend                           // when numbers are added
	follows bool                            // it rises or falls with the numbers
	of      func([]float64) (float64, bool) // must not reorder
}

var reducers = map[string]reducer{
	"min":    {falling, true, some(slices.Min[[]float64])},
	"max":    {rising, true, some(slices.Max[[]float64])},
	"avg":    {free, true, some(average)},
	"median": {free, true, some(median)},
	"sum":    {free, true, func(of []float64) (float64, bool) { return sum(of), true }},
	"stddev": {free, false, some(deviation)},
}

// some returns a function that has no value for an empty list.
func some(f func([]float64) float64) func([]float64) (float64, bool) {
	return func(of []float64) (float64, bool) {
		if len(of) == 0 {
			return 0, false
		}
		return f(of), true
	}
}

func sum(of []float64) float64 {
	s := 0.0
	for _, v := range of {
		s += v
	}
	return s
}

// average never leaves the range of its numbers, as rounding might.
func average(of []float64) float64 {
	s, low, high := 0.0, of[0], of[0]
	for _, v := range of {
		s += v
		low, high = min(low, v), max(high, v)
	}
	return max(low, min(high, s/float64(len(of))))
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// deviation is the standard deviation of a population.
func deviation(of []float64) float64 {
	mean, squares := average(of), 0.0
	for _, v := range of {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(of)))
}

// count returns the number of elements of each innermost list.
func (c compiler) count(e *ruleset.Expr) numbers {
	path := source(e)
	flat := e.Arg.Func == "flatten" && e.Arg.Arg.Func == ""
	switch {
	case e.Arg.Type.Of == ruleset.KindTeam:
		return constant(float64(len(path.Teams)))
	case (flat || e.Arg.Func == "") && !c.isList(path):
		return countPlayers(path.Teams, e.Type.Depth > 0)
	case e.Arg.Type.Of == ruleset.KindString:
		return c.countNested(e.Arg)
	default:
		return c.countNumbers(e.Arg)
	}
}

// isList reports whether a path is a list for each player.
func (c compiler) isList(path *ruleset.Path) bool {
	return path.Of == ruleset.OfAttribute && c.pool.set.Attributes[path.Slot].Type == ruleset.StringList
}

func constant(v float64) numbers {
	get := func(_ *trial, to []float64) ([]float64, bool) { return append(to, v), true }
	return numbers{trend: fixed, one: true, get: get}
}

func countPlayers(teams []int, each bool) numbers {
	return numbers{trend: rising, one: !each, get: func(t *trial, to []float64) ([]float64, bool) {
		all := 0
		for _, i := range teams {
			all += t.teams[i].players
			if each {
				to = append(to, float64(t.teams[i].players))
			}
		}
		if !each {
			to = append(to, float64(all))
		}
		return to, true
	}}
}

// countNumbers counts the results of another function.
func (c compiler) countNumbers(arg *ruleset.Expr) numbers {
	of := c.numbers(arg)
	return numbers{trend: rising, one: true, get: func(t *trial, to []float64) ([]float64, bool) {
		before := len(to)
		all, ok := of.get(t, to)
		return append(all[:before], float64(len(all)-before)), ok
	}}
}

// countNested counts the strings in each innermost list.
func (c compiler) countNested(arg *ruleset.Expr) numbers {
	of := c.strings(arg)
	return numbers{trend: of.trend, one: of.depth == 1, get: func(t *trial, to []float64) ([]float64, bool) {
		v, ok := of.get(t)
		if !ok {
			return to, false
		}
		return v.lengths(of.depth, to), true
	}}
}

// lengths appends those of the innermost lists.
func (n nested) lengths(depth int, to []float64) []float64 {
	if depth <= 1 {
		return append(to, float64(len(n.items)))
	}
	for _, list := range n.lists {
		to = list.lengths(depth-1, to)
	}
	return to
}

// flat appends the strings of all lists.
func (n nested) flat(depth int, to []int32) []int32 {
	if depth <= 1 {
		return append(to, n.items...)
	}
	for _, list := range n.lists {
		to = list.flat(depth-1, to)
	}
	return to
}

// innermost appends the lists of strings.
func (n nested) innermost(depth int, to []nested) []nested {
	if depth <= 1 {
		return append(to, n)
	}
	for _, list := range n.lists {
		to = list.innermost(depth-1, to)
	}
	return to
}

// texts is a compiled expression of strings. Its trend is how its lists change: rising ones get items, falling ones
// lose them, and with fixed only lists are added.
type texts struct {
	trend trend
	depth int
	get   func(t *trial) (v nested, ok bool) // valid until the next expression is read
}

func (c compiler) strings(e *ruleset.Expr) texts {
	x := texts{depth: e.Type.Depth}
	switch e.Func {
	case "":
		return c.stringPath(e)
	case "flatten":
		x.trend, x.get = c.flatten(e)
	default: // set_intersection
		x.trend, x.get = c.intersection(e)
	}
	return x
}

// stringPath compiles the lists of the teams' players: of strings, or of their lists.
func (c compiler) stringPath(e *ruleset.Expr) texts {
	path := e.Path
	of := c.teamStrings(path)
	x := texts{depth: e.Type.Depth, trend: rising}
	if c.isList(path) {
		x.trend = fixed
	}
	if !path.Grouped {
		x.get = func(t *trial) (nested, bool) { return of(&t.teams[path.Teams[0]]), true }
		return x
	}
	x.get = func(t *trial) (nested, bool) {
		from := len(t.nested)
		for _, i := range path.Teams {
			t.nested = append(t.nested, of(&t.teams[i]))
		}
		return nested{lists: t.nested[from:len(t.nested):len(t.nested)]}, true
	}
	return x
}

// teamStrings returns a function that reads the strings of one team.
func (c compiler) teamStrings(path *ruleset.Path) func(*team) nested {
	switch {
	case path.Of == ruleset.OfPlayerIDs:
		c.pool.columns.ids = true
		return func(m *team) nested { return nested{items: m.ids} }
	case c.isList(path):
		column := c.pool.columns.list(path.Slot, c.fold.of(ruleset.StringList))
		return func(m *team) nested { return nested{lists: m.lists[column]} }
	default:
		column := c.pool.columns.text(path.Slot)
		return func(m *team) nested { return nested{items: m.texts[column]} }
	}
}

// flatten removes the outer level of lists.
func (c compiler) flatten(e *ruleset.Expr) (trend, func(*trial) (nested, bool)) {
	arg := c.strings(e.Arg)
	direction := arg.trend
	if direction == fixed && arg.depth == 2 {
		direction = rising
	}
	return direction, func(t *trial) (nested, bool) {
		v, ok := arg.get(t)
		if !ok {
			return v, false
		}
		if arg.depth > 2 {
			from := len(t.nested)
			for _, list := range v.lists {
				t.nested = append(t.nested, list.lists...)
			}
			return nested{lists: t.nested[from:len(t.nested):len(t.nested)]}, true
		}
		from := len(t.items)
		for _, list := range v.lists {
			t.items = append(t.items, list.items...)
		}
		return nested{items: t.items[from:len(t.items):len(t.items)]}, true
	}
}

// intersection returns the common items of the lists, per list of lists if there is one more level.
func (c compiler) intersection(e *ruleset.Expr) (trend, func(*trial) (nested, bool)) {
	arg := c.strings(e.Arg)
	direction := falling
	if arg.trend != fixed {
		direction = free
	}
	return direction, func(t *trial) (nested, bool) {
		v, ok := arg.get(t)
		if !ok {
			return v, false
		}
		if arg.depth <= 2 {
			common, ok := t.common(v.lists)
			return nested{items: common}, ok
		}
		from := len(t.nested)
		for _, lists := range v.lists {
			common, ok := t.common(lists.lists)
			if !ok {
				return nested{}, false
			}
			t.nested = append(t.nested, nested{items: common})
		}
		return nested{lists: t.nested[from:len(t.nested):len(t.nested)]}, true
	}
}

// common returns the items that all lists contain; ok is false when there are none.
func (t *trial) common(lists []nested) (items []int32, ok bool) {
	if len(lists) == 0 {
		return nil, false
	}
	m := &t.marks
	m.begin(len(t.pool.strings.strings), uint32(len(lists)+1)) //nolint:gosec // a few thousand at most
	for i, list := range lists {                               // items of all lists up to i have the mark i+1
		for _, item := range list.items {
			if m.of(item) == uint32(i) { //nolint:gosec // see above
				m.set(item, uint32(i+1)) //nolint:gosec // see above
			}
		}
	}
	from, all := len(t.items), uint32(len(lists)) //nolint:gosec // see above
	for _, item := range lists[0].items {
		if m.of(item) == all {
			m.set(item, 0) // count it once
			t.items = append(t.items, item)
		}
	}
	return t.items[from:len(t.items):len(t.items)], true
}

// marks maps strings to small numbers, in constant time. The default is 0.
type marks struct {
	values []uint32 // base + mark; values below base are stale
	base   uint32
	next   uint32 // above all marks that were set
}

// begin clears all marks. New ones are below the limit.
func (m *marks) begin(strings int, limit uint32) {
	if len(m.values) < strings {
		m.values = append(m.values, make([]uint32, strings-len(m.values)+strings/2)...)
	}
	if m.next > math.MaxUint32-limit {
		clear(m.values)
		m.next = 0
	}
	m.base = m.next
	m.next += limit
}

func (m *marks) of(item int32) uint32 {
	if v := m.values[item]; v > m.base {
		return v - m.base
	}
	return 0
}

func (m *marks) set(item int32, mark uint32) { m.values[item] = m.base + mark }

// scratch clears the scratch of the previous rule.
func (t *trial) scratch() {
	t.nested, t.items, t.floats = t.nested[:0], t.items[:0], t.floats[:0]
}
