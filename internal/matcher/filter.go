package matcher

import (
	"cmp"
	"math"
	"slices"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A band is a number attribute in which the tickets of a match are near to each other. It is a filter only: it rejects
// no ticket that the rules accept.
type band struct {
	column int
	width  []float64 // by level: maximum difference between two tickets of a match
}

// findFilters finds the rules by which indexes can find compatible tickets.
func (p *Pool) findFilters() {
	p.latencyRule = -1
	latencyRules := 0
	for i := range p.set.Rules {
		r := &p.set.Rules[i]
		if r.Type == ruleset.Latency {
			if !r.Operand && p.latencyRule < 0 {
				p.latencyRule = latencyRules
			}
			latencyRules++
		}
		if r.Operand {
			continue
		}
		if p.band == nil {
			p.band = p.bandOf(i)
		}
		if slot, ok := p.sharedBy(r); ok && len(p.shared) < len(shared{}) {
			p.shared = append(p.shared, p.columns.text(slot))
		}
	}
	p.latencyRulesPerLevel = latencyRules
}

// sharedBy returns the string attribute that a rule requires to be equal in a match.
func (p *Pool) sharedBy(r *ruleset.Rule) (slot int, ok bool) {
	switch {
	case r.Type == ruleset.BatchDistance:
		return r.Attribute, p.set.Attributes[r.Attribute].Type == ruleset.String
	case r.Type == ruleset.Comparison && r.Operation == "=" && r.Reference == nil:
		e := p.everybody(r.Measurements[0])
		if e != nil && e.Type.Of == ruleset.KindString && e.Path.Of == ruleset.OfAttribute &&
			p.set.Attributes[e.Path.Slot].Type == ruleset.String && p.always(r) {
			return e.Path.Slot, true
		}
	}
	return 0, false
}

// always reports whether a comparison has the same operation at all levels.
func (p *Pool) always(r *ruleset.Rule) bool {
	i := slices.IndexFunc(p.set.Rules, func(other ruleset.Rule) bool { return other.Name == r.Name })
	return !slices.ContainsFunc(p.levels, func(l *level) bool { return l.set.Rules[i].Operation != r.Operation })
}

// everybody returns the path of an expression that is the values of all players; else nil.
func (p *Pool) everybody(e *ruleset.Expr) *ruleset.Expr {
	for e.Func == "flatten" {
		e = e.Arg
	}
	if e.Func != "" || len(e.Path.Teams) != len(p.set.Teams) {
		return nil
	}
	return e
}

// bandOf returns the band of a rule, if it has one at all levels with the same fold.
func (p *Pool) bandOf(rule int) *band {
	b := &band{column: -1}
	for _, l := range p.levels {
		r := &l.set.Rules[rule]
		slot, width, ok := p.bandAt(r)
		if !ok {
			return nil
		}
		column := p.columns.number(slot, r.Fold)
		if b.column >= 0 && b.column != column {
			return nil
		}
		b.column = column
		b.width = append(b.width, width)
	}
	return b
}

// bandAt returns the maximum difference of a number between two players that a rule allows.
func (p *Pool) bandAt(r *ruleset.Rule) (slot int, width float64, ok bool) {
	switch r.Type {
	case ruleset.BatchDistance:
		if r.MaxDistance == nil {
			return 0, 0, false
		}
		return r.Attribute, *r.MaxDistance, true
	case ruleset.Comparison:
		e := p.everybody(r.Measurements[0])
		if r.Operation != "=" || r.Reference != nil || e == nil || e.Type.Of != ruleset.KindNumber {
			return 0, 0, false
		}
		return e.Path.Slot, 0, true
	case ruleset.Distance:
		if r.MaxDistance == nil || r.Reference.Expr == nil {
			return 0, 0, false
		}
		return p.distanceBand(r)
	default:
		return 0, 0, false
	}
}

// distanceBand recognises the common forms of "players are near to each other": all of them, or one extreme, against
// the other extreme, or all against an average.
func (p *Pool) distanceBand(r *ruleset.Rule) (slot int, width float64, ok bool) {
	from, slot := p.extreme(r.Measurements[0])
	to, other := p.extreme(r.Reference.Expr)
	if from == "" || to == "" || slot != other {
		return 0, 0, false
	}
	switch most := *r.MaxDistance; {
	case from == "all" && (to == "min" || to == "max"), from == "min" && to == "max", from == "max" && to == "min":
		return slot, most, true
	case from == "all" && (to == "avg" || to == "median"):
		return slot, 2 * most * (1 + 1e-9), true
	default:
		return 0, 0, false
	}
}

// extreme returns the function of all players' values that an expression is, "all" for the values themselves; "" for
// other expressions.
func (p *Pool) extreme(e *ruleset.Expr) (of string, slot int) {
	if path := p.everybody(e); path != nil && path.Type.Of == ruleset.KindNumber {
		return "all", path.Path.Slot
	}
	if e.Func == "" || e.Type.Depth > 0 {
		return "", 0
	}
	path := p.everybody(e.Arg)
	if path == nil || path.Type.Of != ruleset.KindNumber {
		return "", 0
	}
	return e.Func, path.Path.Slot
}

// findSimilarity chooses the number by which tickets are ordered: that of the band, else of the first distance rule.
// Such a rule holds more easily for similar tickets, even if it compares teams or averages.
func (p *Pool) findSimilarity() {
	p.similarBy = -1
	if p.band != nil {
		p.similarBy = p.band.column
		return
	}
	for i := range p.set.Rules {
		r := &p.set.Rules[i]
		if r.Type != ruleset.Distance || p.set.Algorithm.Sorted {
			continue
		}
		for _, e := range r.Measurements {
			path := source(e)
			if path.Of == ruleset.OfAttribute && p.set.Attributes[path.Slot].Type == ruleset.Number {
				p.similarBy = p.columns.number(path.Slot, r.Fold)
				return
			}
		}
	}
}

// groupOrder returns the order of a group: by the attributes of sorted batches or the similarity number, then by age.
func (p *Pool) groupOrder() func(a, b *entry) bool {
	if p.similarBy < 0 && p.set.Algorithm.Sorted {
		return func(a, b *entry) bool {
			if c := p.sorted(a, b); c != 0 {
				return c < 0
			}
			return older(a, b)
		}
	}
	return func(a, b *entry) bool {
		if a.value != b.value {
			return a.value < b.value
		}
		return older(a, b)
	}
}

// sorted compares two entries by sortByAttributes.
func (p *Pool) sorted(a, b *entry) int {
	for i, column := range p.sortedBy {
		c := 0
		if p.set.Attributes[p.set.Algorithm.SortBy[i]].Type == ruleset.Number {
			c = cmp.Compare(a.numbers[column][0], b.numbers[column][0])
		} else {
			c = cmp.Compare(p.strings.text(a.texts[column][0]), p.strings.text(b.texts[column][0]))
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// signatureOf returns a hash of all that rules can read of a ticket; 0 if it is unique.
func (p *Pool) signatureOf(e *entry) uint64 {
	if p.columns.ids || e.ticket.Backfill {
		return 0
	}
	const prime = 0x100000001b3 // FNV-1a, by words
	h := uint64(0xcbf29ce484222325)
	mix := func(v uint64) {
		h = (h ^ v) * prime
		h ^= h >> 29
	}
	mix(uint64(e.players())) //nolint:gosec // a count
	for _, column := range e.numbers {
		for _, v := range column {
			mix(math.Float64bits(v))
		}
	}
	for _, column := range e.texts {
		for _, v := range column {
			mix(uint64(v)) //nolint:gosec // a number of the table
		}
	}
	for _, column := range e.lists {
		for _, list := range column {
			mix(uint64(len(list)))
			for _, v := range list {
				mix(uint64(v)) //nolint:gosec // a number of the table
			}
		}
	}
	for _, column := range e.pings {
		mix(uint64(len(column)))
		for _, ping := range column {
			mix(uint64(ping.location)) //nolint:gosec // a number of the table
			mix(math.Float64bits(ping.ms))
		}
	}
	return h | 1
}
