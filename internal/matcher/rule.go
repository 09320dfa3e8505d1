package matcher

import (
	"fmt"
	"math"
	"slices"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A truth is whether a rule holds. A rule is unknown while its expressions have no value; it then does not prevent a
// match.
type truth uint8

const (
	unknown truth = iota
	yes
	no
)

// A check evaluates a rule over the players in a trial. With final the result stays the same whichever players join:
// after a final no the ticket is removed again; any other no may become a yes.
type check func(t *trial) (is truth, final bool)

// A rule is a compiled rule of a level. Sort rules have no check.
type rule struct {
	*ruleset.Rule
	check   check
	figures func(t *trial) string // why the last check failed, for people; may be nil
	anyTeam bool                  // the result does not depend on the players' teams
}

func (l *level) compileRules(p *Pool) {
	for i := range l.set.Rules {
		r := &l.set.Rules[i]
		c := compiler{p, fold(r.Fold)}
		compiled := c.rule(r)
		compiled.anyTeam = p.anyTeam(r)
		l.quotas = append(l.quotas, c.quotas(l, &compiled)...)
		l.rules = append(l.rules, compiled)
		if compiled.check != nil && !r.Operand {
			l.top = append(l.top, i)
		}
	}
}

func (c compiler) rule(r *ruleset.Rule) rule {
	made := rule{Rule: r}
	switch r.Type {
	case ruleset.Comparison:
		c.comparison(&made)
	case ruleset.Distance:
		c.distance(&made)
	case ruleset.BatchDistance:
		c.batchDistance(&made)
	case ruleset.Collection:
		c.collection(&made)
	case ruleset.Compound:
		made.check = compound(r.Statement)
	case ruleset.Latency:
		c.latency(&made)
	}
	return made
}

// holds evaluates a rule and counts it for the ticket that joined last.
func (t *trial) holds(i int) (is truth, final bool) {
	is, final = t.level.rules[i].check(t)
	if t.silent {
		return is, final
	}
	switch counts := t.tickets[len(t.tickets)-1].counts; {
	case is == yes:
		counts[i].passed++
	case is == no && final:
		counts[i].failed++
	}
	return is, final
}

// figures returns what a rule compared when it failed.
func (t *trial) figures(i int) string {
	if f := t.level.rules[i].figures; f != nil {
		return f(t)
	}
	return ""
}

// evaluate evaluates the rules that are no operands. broken is the first that can never hold again, or -1; good reports
// whether all hold now.
func (t *trial) evaluate() (broken int, good bool) {
	t.open = t.open[:0]
	for _, i := range t.level.top {
		is, final := t.holds(i)
		if is != no {
			continue
		}
		if final {
			return i, false
		}
		t.open = append(t.open, i)
	}
	return -1, len(t.open) == 0
}

// fail counts the open rules of a complete trial as failed.
func (t *trial) fail() {
	counts := t.tickets[len(t.tickets)-1].counts
	for _, i := range t.open {
		counts[i].failed++
	}
}

var relations = map[string]func(a, b float64) bool{
	"<":  func(a, b float64) bool { return a < b },
	"<=": func(a, b float64) bool { return a <= b },
	"=":  func(a, b float64) bool { return a == b },
	"!=": func(a, b float64) bool { return a != b },
	">":  func(a, b float64) bool { return a > b },
	">=": func(a, b float64) bool { return a >= b },
}

// grows reports whether a − b never decreases.
func grows(a, b trend) bool {
	return (a == fixed || a == rising) && (b == fixed || b == falling)
}

// settled reports whether the result of a relation between a and b is final.
func settled(op string, a, b float64, ta, tb trend) bool {
	up, down := grows(ta, tb), grows(tb, ta)
	if up && down {
		return true
	}
	switch op {
	case "<":
		return up && a >= b || down && a < b
	case "<=":
		return up && a > b || down && a <= b
	case ">":
		return up && a > b || down && a <= b
	case ">=":
		return up && a >= b || down && a < b
	default:
		return up && a > b || down && a < b
	}
}

func (c compiler) comparison(made *rule) {
	strings := made.Measurements[0].Type.Of == ruleset.KindString
	switch {
	case made.Reference == nil && strings:
		c.equalTexts(made)
	case made.Reference == nil:
		c.equalNumbers(made)
	case strings:
		c.compareTexts(made)
	default:
		c.compareNumbers(made)
	}
}

// measured returns the compiled measurements of a rule, which are numbers.
func (c compiler) measured(r *rule) []numbers {
	all := make([]numbers, len(r.Measurements))
	for i, e := range r.Measurements {
		all[i] = c.numbers(e)
	}
	return all
}

// reference returns the number that measurements are compared with.
func (c compiler) reference(r *ruleset.Reference) numbers {
	if r.Expr != nil {
		return c.numbers(r.Expr)
	}
	return constant(*r.Number)
}

// compareNumbers compares every element of every measurement with the reference.
func (c compiler) compareNumbers(made *rule) {
	measured, reference, op := c.measured(made), c.reference(made.Reference), made.Operation
	holds := relations[op]
	made.check = overElements(measured, reference, func(a, b float64, ta, tb trend) (bool, bool) {
		return holds(a, b), settled(op, a, b, ta, tb)
	})
	made.figures = c.elementFigures(measured, reference, func(a, b float64) (string, bool) {
		return fmt.Sprintf("%v, not %s %v", a, op, b), !holds(a, b)
	})
}

// overElements returns the check that every element of the measurements passes a test against the reference. The test
// returns whether it passes, and whether that is final.
func overElements(measured []numbers, reference numbers, test func(a, b float64, ta, tb trend) (ok, final bool)) check {
	return func(t *trial) (truth, bool) {
		t.scratch()
		all, ok := reference.get(t, t.floats)
		if !ok || len(all) == 0 {
			return unknown, false
		}
		is, final, against := yes, true, all[0]
		for i := range measured {
			m := &measured[i]
			elements, ok := m.get(t, all[:1])
			t.floats = elements[:0]
			if !ok || len(elements) == 1 {
				final = false
				if is == yes {
					is = unknown
				}
				continue
			}
			final = final && m.one
			for _, v := range elements[1:] {
				passed, stays := test(v, against, m.trend, reference.trend)
				switch {
				case !passed && stays:
					return no, true
				case !passed:
					is, final = no, false
				case !stays:
					final = false
				}
			}
		}
		return is, final && is == yes
	}
}

func (c compiler) distance(made *rule) {
	measured, reference := c.measured(made), c.reference(made.Reference)
	least, most := math.Inf(-1), math.Inf(1)
	if made.MinDistance != nil {
		least = *made.MinDistance
	}
	if made.MaxDistance != nil {
		most = *made.MaxDistance
	}
	made.check = overElements(measured, reference, func(a, b float64, ta, tb trend) (bool, bool) {
		d := math.Abs(a - b)
		switch {
		case grows(ta, tb) && grows(tb, ta):
			return d >= least && d <= most, true
		case a > b && grows(ta, tb), a < b && grows(tb, ta): // the distance never decreases
			return d >= least && d <= most, d > most || d >= least && math.IsInf(most, 1)
		default:
			return d >= least && d <= most, false
		}
	})
	made.figures = c.elementFigures(measured, reference, func(a, b float64) (string, bool) {
		d := math.Abs(a - b)
		if d > most {
			return fmt.Sprintf("distance %v, at most %v", d, most), true
		}
		return fmt.Sprintf("distance %v, at least %v", d, least), d < least
	})
}

// equalNumbers checks that all elements are equal or, with !=, all different.
func (c compiler) equalNumbers(made *rule) {
	measured, same := c.measured(made), made.Operation == "="
	stays := !slices.ContainsFunc(measured, func(n numbers) bool { return n.trend != fixed })
	read := func(t *trial) (all []float64, ok bool) {
		t.scratch()
		all, ok = t.floats, true
		for i := range measured {
			var known bool
			before := len(all)
			all, known = measured[i].get(t, all)
			if !known {
				all, ok = all[:before], false
			}
			ok = ok && len(all) > before
		}
		t.floats = all[:0]
		return all, ok
	}
	made.check = func(t *trial) (truth, bool) {
		all, ok := read(t)
		return equality(all, same, ok, stays)
	}
	made.figures = func(t *trial) string {
		all, _ := read(t)
		if same {
			return fmt.Sprintf("%v and %v are not the same", slices.Min(all), slices.Max(all))
		}
		return "two values are the same"
	}
}

// equality compares elements with each other; complete is false when some are unknown.
func equality[T comparable](all []T, same, complete, stays bool) (truth, bool) {
	for i, v := range all {
		before := all[:i]
		if same {
			before = all[:min(i, 1)]
		}
		for _, u := range before {
			if (u == v) != same {
				return no, stays
			}
		}
	}
	if !complete {
		return unknown, false
	}
	return yes, false
}

// textsOf compiles measurements that are strings. The nesting does not matter here, so flatten is removed.
func (c compiler) textsOf(r *rule) []texts {
	all := make([]texts, len(r.Measurements))
	for i, e := range r.Measurements {
		for e.Func == "flatten" {
			e = e.Arg
		}
		all[i] = c.strings(e)
	}
	return all
}

// permanent reports whether a string in the lists stays there.
func (x texts) permanent() bool { return x.trend == fixed || x.trend == rising }

// leaves returns all strings of the measurements; ok is false when one has none yet.
func (t *trial) leaves(measured []texts) (all []int32, ok bool) {
	t.scratch()
	all, ok = t.strings[:0], true
	for i := range measured {
		before := len(all)
		if v, known := measured[i].get(t); known {
			all = v.flat(measured[i].depth, all)
		}
		ok = ok && len(all) > before
	}
	t.strings = all[:0]
	return all, ok
}

func (c compiler) equalTexts(made *rule) {
	measured, same := c.textsOf(made), made.Operation == "="
	stays := allPermanent(measured)
	made.check = func(t *trial) (truth, bool) {
		all, ok := t.leaves(measured)
		return equality(all, same, ok, stays)
	}
	made.figures = func(t *trial) string {
		all, _ := t.leaves(measured)
		for _, n := range all {
			if same && n != all[0] {
				return fmt.Sprintf("%q and %q are not the same", t.pool.strings.text(all[0]), t.pool.strings.text(n))
			}
		}
		return "two values are the same"
	}
}

func allPermanent(measured []texts) bool {
	return !slices.ContainsFunc(measured, func(x texts) bool { return !x.permanent() })
}

// compareTexts checks that every string is equal to the reference or, with !=, none is.
func (c compiler) compareTexts(made *rule) {
	measured, same := c.textsOf(made), made.Operation == "="
	reference, stays := c.pool.strings.number(*made.Reference.Text), allPermanent(measured)
	differing := func(t *trial) (all []int32, at int, ok bool) {
		all, ok = t.leaves(measured)
		return all, slices.IndexFunc(all, func(n int32) bool { return (n == reference) != same }), ok
	}
	made.check = func(t *trial) (truth, bool) {
		switch _, at, ok := differing(t); {
		case at >= 0:
			return no, stays
		case !ok:
			return unknown, false
		default:
			return yes, false
		}
	}
	made.figures = func(t *trial) string {
		all, at, _ := differing(t)
		if at < 0 {
			return ""
		}
		return fmt.Sprintf("%q, not %s %q", t.pool.strings.text(all[at]), made.Operation, *made.Reference.Text)
	}
}

// batchDistance checks that the values of all tickets are near to each other, or equal strings.
func (c compiler) batchDistance(made *rule) {
	if c.pool.set.Attributes[made.Attribute].Type == ruleset.String {
		c.oneText(made)
		return
	}
	column, most := c.pool.columns.number(made.Attribute, c.fold.of(ruleset.Number)), *made.MaxDistance
	spread := func(t *trial) float64 {
		low, high := math.Inf(1), math.Inf(-1)
		for i := range t.teams {
			for _, v := range t.teams[i].numbers[column] {
				low, high = min(low, v), max(high, v)
			}
		}
		return high - low
	}
	made.check = func(t *trial) (truth, bool) {
		if spread(t) > most {
			return no, true
		}
		return yes, false
	}
	made.figures = func(t *trial) string { return fmt.Sprintf("distance %v, at most %v", spread(t), most) }
}

func (c compiler) oneText(made *rule) {
	column := c.pool.columns.text(made.Attribute)
	other := func(t *trial) (first, other int32, differ bool) {
		first = -1
		for i := range t.teams {
			for _, n := range t.teams[i].texts[column] {
				if first < 0 {
					first = n
				}
				if n != first {
					return first, n, true
				}
			}
		}
		return first, first, false
	}
	made.check = func(t *trial) (truth, bool) {
		if _, _, differ := other(t); differ {
			return no, true
		}
		return yes, false
	}
	made.figures = func(t *trial) string {
		a, b, _ := other(t)
		return fmt.Sprintf("%q and %q are not the same", t.pool.strings.text(a), t.pool.strings.text(b))
	}
}

// elementFigures describes the first element that fails.
func (c compiler) elementFigures(
	measured []numbers, reference numbers, describe func(a, b float64) (text string, failed bool),
) func(*trial) string {
	return func(t *trial) string {
		t.scratch()
		against, ok := reference.get(t, nil)
		if !ok || len(against) == 0 {
			return ""
		}
		for i := range measured {
			elements, _ := measured[i].get(t, nil)
			for _, v := range elements {
				if text, failed := describe(v, against[0]); failed {
					return text
				}
			}
		}
		return ""
	}
}
