package matcher

import (
	"fmt"
	"math"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A span is the inclusive bounds of a count.
type span struct{ least, most int }

func (r *rule) span() span {
	s := span{0, math.MaxInt}
	if r.MinCount != nil {
		s.least = *r.MinCount
	}
	if r.MaxCount != nil {
		s.most = *r.MaxCount
	}
	return s
}

// holds reports whether n is in the bounds, and whether that is final when n changes with trend t.
func (s span) holds(n int, t trend) (ok, final bool) {
	ok = n >= s.least && n <= s.most
	switch t {
	case fixed:
		final = true
	case rising:
		final = n > s.most || ok && s.most == math.MaxInt
	case falling:
		final = n < s.least || ok && s.least <= 0
	case free:
	}
	return ok, final
}

// check converts holds to the result of a rule.
func (s span) check(n int, t trend) (truth, bool) {
	ok, final := s.holds(n, t)
	if ok {
		return yes, final
	}
	return no, final
}

func (s span) String() string {
	switch {
	case s.most == math.MaxInt:
		return fmt.Sprintf("at least %d", s.least)
	case s.least <= 0:
		return fmt.Sprintf("at most %d", s.most)
	default:
		return fmt.Sprintf("%d to %d", s.least, s.most)
	}
}

func (c compiler) collection(made *rule) {
	measured := make([]texts, len(made.Measurements))
	for i, e := range made.Measurements {
		measured[i] = c.strings(e)
	}
	switch made.Operation {
	case "contains":
		c.occurrences(made, measured)
	case "intersection":
		c.inCommon(made, measured)
	default:
		c.inReference(made, measured)
	}
}

// occurrences counts the strings equal to the reference.
func (c compiler) occurrences(made *rule, measured []texts) {
	reference, bounds, direction := c.pool.strings.number(*made.Reference.Text), made.span(), rising
	if !allPermanent(measured) {
		direction = free
	}
	k, teams, simple := c.kindOf(made, reference)
	count := func(t *trial) (n int) {
		if simple {
			return k.in(t, teams)
		}
		all, _ := t.leaves(measured)
		for _, s := range all {
			if s == reference {
				n++
			}
		}
		return n
	}
	made.check = func(t *trial) (truth, bool) { return bounds.check(count(t), direction) }
	made.figures = func(t *trial) string {
		return fmt.Sprintf("%d have %q, need %v", count(t), *made.Reference.Text, bounds)
	}
}

// A kind is the players that a rule counts: those with a value, or those without it.
type kind struct {
	reference int32
	column    int
	list      bool // the column is one of lists, else of texts
	without   bool
}

// A quota is a minimum number of players of a kind in a match. It is no rule but an index: it shows early that players
// are missing, and finds tickets with rare kinds.
type quota struct {
	kind  int // index in Pool.kinds
	least int
}

// of returns the number of players of the kind in a ticket.
func (k *kind) of(e *entry) (n int) {
	for i := range e.ticket.Players {
		has := false
		if k.list {
			has = contains(e.lists[k.column][i], k.reference)
		} else {
			has = e.texts[k.column][i] == k.reference
		}
		if has != k.without {
			n++
		}
	}
	return n
}

// in returns the number of players with the value in some teams of a trial.
func (k *kind) in(t *trial, teams []int) (n int) {
	for _, i := range teams {
		if !k.list {
			for _, s := range t.teams[i].texts[k.column] {
				n += asInt(s == k.reference)
			}
			continue
		}
		for _, list := range t.teams[i].lists[k.column] {
			n += asInt(contains(list.items, k.reference))
		}
	}
	return n
}

// kindOf returns the kind and the teams that a rule counts; ok is false when it does not count players.
func (c compiler) kindOf(made *rule, reference int32) (k kind, teams []int, ok bool) {
	e := made.Measurements[0]
	for e.Func == "flatten" {
		e = e.Arg
	}
	if len(made.Measurements) != 1 || e.Func != "" || e.Path.Of != ruleset.OfAttribute {
		return k, nil, false
	}
	k = kind{reference: reference, list: c.isList(e.Path)}
	if k.list {
		k.column = c.pool.columns.list(e.Path.Slot, c.fold.of(ruleset.StringList))
	} else {
		k.column = c.pool.columns.text(e.Path.Slot)
	}
	return k, e.Path.Teams, true
}

// quotas returns those of a rule that counts players: at least minCount have the value, and at most maxCount of those
// that the teams need, so the others do not.
func (c compiler) quotas(l *level, made *rule) (all []quota) {
	if made.Type != ruleset.Collection || made.Operation != "contains" || made.Operand {
		return nil
	}
	k, teams, ok := c.kindOf(made, c.pool.strings.number(*made.Reference.Text))
	if !ok {
		return nil
	}
	bounds, need := made.span(), 0
	for _, i := range teams {
		need += l.teams[i].min
	}
	if bounds.least > 0 {
		all = append(all, quota{find(&c.pool.kinds, k), bounds.least})
	}
	if need > bounds.most {
		k.without = true
		all = append(all, quota{find(&c.pool.kinds, k), need - bounds.most})
	}
	return all
}

// inCommon counts the values that all collections contain.
func (c compiler) inCommon(made *rule, measured []texts) {
	bounds, direction := made.span(), falling
	for _, m := range measured {
		switch {
		case m.trend == fixed, m.trend == falling:
		case m.trend == rising && len(measured) == 1 && m.depth == 1:
			direction = rising
		default:
			direction = free
		}
	}
	count := func(t *trial) (n int, ok bool) {
		common, ok := t.common(t.collections(measured))
		return len(common), ok
	}
	made.check = func(t *trial) (truth, bool) {
		n, ok := count(t)
		if !ok {
			return unknown, false
		}
		return bounds.check(n, direction)
	}
	made.figures = func(t *trial) string {
		n, _ := count(t)
		return fmt.Sprintf("%d values in common, need %v", n, bounds)
	}
}

// collections returns the innermost lists of the measurements that have a value.
func (t *trial) collections(measured []texts) []nested {
	t.scratch()
	all := t.lists[:0]
	for i := range measured {
		if v, ok := measured[i].get(t); ok {
			all = v.innermost(measured[i].depth, all)
		}
	}
	t.lists = all[:0]
	return all
}

// inReference counts, for each collection, its values that are in the reference.
func (c compiler) inReference(made *rule, measured []texts) {
	bounds, reference := made.span(), c.listReference(made.Reference)
	const there, counted = 1, 2
	mark := func(t *trial, among []int32) {
		t.marks.begin(len(t.pool.strings.strings), counted+1)
		for _, item := range among {
			t.marks.set(item, there)
		}
	}
	count := func(t *trial, items []int32) (n int) { // of the marked items
		for _, item := range items {
			if t.marks.of(item) == there {
				t.marks.set(item, counted)
				n++
			}
		}
		for _, item := range items { // for the next list
			if t.marks.of(item) == counted {
				t.marks.set(item, there)
			}
		}
		return n
	}
	made.check = func(t *trial) (truth, bool) {
		t.scratch()
		among, ok := reference.get(t)
		if !ok {
			return unknown, false
		}
		is, final := yes, true
		for i := range measured {
			m := &measured[i]
			v, known := m.get(t)
			mark(t, among.items) // get may mark, too
			t.lists = t.lists[:0]
			if known {
				t.lists = v.innermost(m.depth, t.lists)
			}
			if len(t.lists) == 0 {
				final = false
				if is == yes {
					is = unknown
				}
			}
			direction := both(m.trend, reference.trend)
			final = final && m.depth == 1
			for _, list := range t.lists {
				switch ok, stays := bounds.holds(count(t, list.items), direction); {
				case !ok && stays:
					return no, true
				case !ok:
					is, final = no, false
				case !stays:
					final = false
				}
			}
		}
		return is, final && is == yes
	}
	made.figures = func(t *trial) string {
		t.scratch()
		among, _ := reference.get(t)
		for i := range measured {
			v, _ := measured[i].get(t)
			mark(t, among.items)
			for _, list := range v.innermost(measured[i].depth, nil) {
				n := count(t, list.items)
				if ok, _ := bounds.holds(n, free); !ok {
					return fmt.Sprintf("%d values are in the reference, need %v", n, bounds)
				}
			}
		}
		return ""
	}
}

// both returns the trend of the number of common items of two lists.
func both(a, b trend) trend {
	switch {
	case a == fixed:
		return b
	case b == fixed, a == b:
		return a
	default:
		return free
	}
}

// listReference returns the list that collections are compared with.
func (c compiler) listReference(r *ruleset.Reference) texts {
	if r.Expr != nil {
		return c.strings(r.Expr)
	}
	var items []int32
	for _, s := range r.List {
		items = append(items, c.pool.strings.number(s))
	}
	return texts{depth: 1, trend: fixed, get: func(*trial) (nested, bool) { return nested{items: items}, true }}
}

// compound returns the check of a statement. It is final when the operands with final results decide it.
func compound(s *ruleset.Statement) check {
	return func(t *trial) (truth, bool) {
		now, ever := t.statement(s)
		if ever != unknown {
			return ever, true
		}
		return now, false
	}
}

// statement evaluates a statement by the present results, and by final ones alone.
func (t *trial) statement(s *ruleset.Statement) (now, ever truth) {
	if s.Op == "" {
		is, final := t.holds(s.Rule)
		if final {
			return is, is
		}
		return is, unknown
	}
	var counts, finals truthCounts
	for _, arg := range s.Args {
		is, stays := t.statement(arg)
		counts[is]++
		finals[stays]++
	}
	return counts.combine(s.Op), finals.combine(s.Op)
}

// truthCounts counts operands by their truth.
type truthCounts [3]int

// combine is three-valued logic: unknown when the unknown operands decide.
func (n truthCounts) combine(op string) truth {
	switch {
	case op == "not":
		return [...]truth{unknown: unknown, yes: no, no: yes}[n.first()]
	case op == "and" && n[no] > 0, op == "xor" && n[yes] > 1:
		return no
	case op == "or" && n[yes] > 0:
		return yes
	case n[unknown] > 0:
		return unknown
	case op == "and", op == "xor" && n[yes] == 1:
		return yes
	default:
		return no
	}
}

// first returns the truth of the only operand.
func (n truthCounts) first() truth {
	switch {
	case n[yes] > 0:
		return yes
	case n[no] > 0:
		return no
	default:
		return unknown
	}
}
