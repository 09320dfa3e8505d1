package matcher

import (
	"math"
	"slices"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A pairTest reports whether two tickets may be in one match, as far as a rule can decide from these two. False is
// final, whoever else joins. Each ticket passes the rule alone.
type pairTest func(a, b *entry) bool

// findPairs compiles the pair tests of a level. They keep incompatible tickets out of a batch.
func (l *level) findPairs(p *Pool) {
	for _, i := range l.top {
		if test := p.pairTest(l, i); test != nil {
			l.pairs = append(l.pairs, test)
		}
	}
}

// compatible reports whether two tickets pass all pair tests.
func (l *level) compatible(a, b *entry) bool {
	for _, test := range l.pairs {
		if !test(a, b) {
			return false
		}
	}
	return true
}

// pairTest returns the test of a rule; nil if two tickets decide nothing.
func (p *Pool) pairTest(l *level, rule int) pairTest {
	r := &l.set.Rules[rule]
	switch r.Type {
	case ruleset.Compound:
		return p.pairStatement(l, r.Statement)
	case ruleset.Collection:
		return p.pairLists(r)
	case ruleset.BatchDistance:
		if p.set.Attributes[r.Attribute].Type == ruleset.String {
			return sameText(p.columns.text(r.Attribute))
		}
	case ruleset.Comparison:
		if test := p.pairTexts(r); test != nil {
			return test
		}
		if column, ok := p.allDifferent(r); ok {
			return func(a, b *entry) bool { return a.numbers[column][0] != b.numbers[column][0] }
		}
	default:
	}
	if slot, width, ok := p.bandAt(r); ok {
		column := p.columns.number(slot, r.Fold)
		return func(a, b *entry) bool { return math.Abs(a.numbers[column][0]-b.numbers[column][0]) <= width }
	}
	return nil
}

func sameText(column int) pairTest {
	return func(a, b *entry) bool { return a.texts[column][0] == b.texts[column][0] }
}

// pairTexts tests rules by which all strings are equal, or all different.
func (p *Pool) pairTexts(r *ruleset.Rule) pairTest {
	if r.Reference != nil || len(r.Measurements) != 1 {
		return nil
	}
	e := p.everybody(r.Measurements[0])
	if e == nil || e.Path.Of != ruleset.OfAttribute || p.set.Attributes[e.Path.Slot].Type != ruleset.String {
		return nil
	}
	column := p.columns.text(e.Path.Slot)
	if r.Operation == "=" {
		return sameText(column)
	}
	return func(a, b *entry) bool {
		return !slices.ContainsFunc(a.texts[column], func(n int32) bool { return slices.Contains(b.texts[column], n) })
	}
}

// allDifferent returns the column of a number that must differ for all players of a match.
func (p *Pool) allDifferent(r *ruleset.Rule) (column int, ok bool) {
	if r.Reference != nil || r.Operation != "!=" || len(r.Measurements) != 1 {
		return 0, false
	}
	e := p.everybody(r.Measurements[0])
	if e == nil || e.Type.Of != ruleset.KindNumber {
		return 0, false
	}
	return p.columns.number(e.Path.Slot, r.Fold), true
}

// pairLists tests rules on values that the lists of all players have in common, with each other or with a reference.
func (p *Pool) pairLists(r *ruleset.Rule) pairTest {
	own, ok := p.listsOfAll(r.Measurements, r.Fold)
	if !ok {
		return nil
	}
	bounds := (&rule{Rule: r}).span()
	if r.Operation == "intersection" && bounds.least > 0 {
		return func(a, b *entry) bool { return overlap(a.lists[own][0], b.lists[own][0]) >= bounds.least }
	}
	if r.Operation != "reference_intersection_count" || r.Reference.Expr == nil {
		return nil
	}
	if ref := r.Reference.Expr; ref.Func == "set_intersection" && bounds.least > 0 {
		// The reference is the intersection of all lists: each contains it.
		if other, ok := p.listsOfAll([]*ruleset.Expr{ref.Arg}, r.Fold); ok {
			return func(a, b *entry) bool {
				return min(overlap(a.lists[own][0], b.lists[other][0]),
					overlap(b.lists[own][0], a.lists[other][0])) >= bounds.least
			}
		}
	}
	if ids := p.everybody(r.Reference.Expr); ids != nil && ids.Path.Of == ruleset.OfPlayerIDs {
		return func(a, b *entry) bool {
			return names(a.lists[own][0], b.ids) <= bounds.most && names(b.lists[own][0], a.ids) <= bounds.most
		}
	}
	return nil
}

// listsOfAll returns the column of a measurement that is one list for each player of all teams, with parties folded.
func (p *Pool) listsOfAll(measured []*ruleset.Expr, fold ruleset.Fold) (column int, ok bool) {
	if len(measured) != 1 || fold == "" {
		return 0, false
	}
	e := p.everybody(measured[0])
	if e == nil || measured[0].Type.Depth < 2 || e.Path.Of != ruleset.OfAttribute ||
		p.set.Attributes[e.Path.Slot].Type != ruleset.StringList {
		return 0, false
	}
	return p.columns.list(e.Path.Slot, fold), true
}

// overlap returns the number of common values of two sorted lists.
func overlap(a, b []int32) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			n, a, b = n+1, a[1:], b[1:]
		}
	}
	return n
}

// names returns the number of players whose id is in a list.
func names(list, ids []int32) (n int) {
	if len(list) == 0 {
		return 0
	}
	for i, id := range ids {
		if contains(list, id) && !slices.Contains(ids[:i], id) {
			n++
		}
	}
	return n
}

// anyTeam reports whether the result of a rule does not depend on the players' teams.
func (p *Pool) anyTeam(r *ruleset.Rule) bool {
	switch {
	case r.Type == ruleset.Latency, r.Type == ruleset.BatchDistance:
		return true
	case r.Type == ruleset.Collection && r.Operation == "contains", r.Type == ruleset.Comparison && r.Reference == nil:
		return !slices.ContainsFunc(r.Measurements, func(e *ruleset.Expr) bool { return p.everybody(e) == nil })
	case r.Type == ruleset.Collection && r.Operation == "intersection":
		_, ok := p.listsOfAll(r.Measurements, r.Fold)
		return ok
	default:
		return false
	}
}

// pairStatement tests a compound rule: "or" needs a test for every operand, "and" uses those there are.
func (p *Pool) pairStatement(l *level, s *ruleset.Statement) pairTest {
	if s.Op == "" {
		return p.pairTest(l, s.Rule)
	}
	var tests []pairTest
	for _, arg := range s.Args {
		if test := p.pairStatement(l, arg); test != nil {
			tests = append(tests, test)
		}
	}
	switch {
	case s.Op == "or" && len(tests) == len(s.Args):
		return func(a, b *entry) bool {
			for _, test := range tests {
				if test(a, b) {
					return true
				}
			}
			return false
		}
	case s.Op == "and" && len(tests) > 0:
		return func(a, b *entry) bool {
			for _, test := range tests {
				if !test(a, b) {
					return false
				}
			}
			return true
		}
	default:
		return nil
	}
}
