package matcher

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// findSorts registers the attributes by which batches are sorted.
func (p *Pool) findSorts() {
	for _, slot := range p.set.Algorithm.SortBy {
		if p.set.Attributes[slot].Type == ruleset.Number { // else a text, which Parse ensures
			p.sortedBy = append(p.sortedBy, p.columns.number(slot, ruleset.FoldAvg))
		} else {
			p.sortedBy = append(p.sortedBy, p.columns.text(slot))
		}
	}
	for i, r := range p.set.Rules {
		if r.Type != ruleset.AbsoluteSort && r.Type != ruleset.DistanceSort {
			continue
		}
		p.sorts = append(p.sorts, i)
		switch p.set.Attributes[r.Attribute].Type {
		case ruleset.Number:
			for _, l := range p.levels {
				p.columns.number(r.Attribute, l.set.Rules[i].Fold)
			}
		case ruleset.String:
			p.columns.text(r.Attribute)
		default:
		}
	}
}

// order sorts the candidates of a match with these tickets by the sort rules, then by age.
func (h *search) order(l *level, with ...*entry) {
	p := h.pool
	anchor := with[0]
	for _, e := range with[1:] {
		if older(e, anchor) {
			anchor = e
		}
	}
	for i := range h.candidates {
		if e := h.candidates[i].entry; older(e, anchor) {
			anchor = e
		}
	}
	h.ranks = h.ranks[:0]
	for i := range h.candidates {
		h.candidates[i].rank = len(h.ranks)
		for _, r := range p.sorts {
			h.ranks = append(h.ranks, p.rank(&l.set.Rules[r], h.candidates[i].entry, anchor))
		}
	}
	slices.SortFunc(h.candidates, func(a, b candidate) int {
		for i, r := range p.sorts {
			if c := h.ranks[a.rank+i].compare(h.ranks[b.rank+i], l.set.Rules[r].Descending); c != 0 {
				return c
			}
		}
		if older(a.entry, b.entry) {
			return -1
		}
		return 1
	})
}

// A rank is the position of a ticket by a sort rule: by number, then by text. Missing values are last in both
// directions.
type rank struct {
	number  float64
	text    string
	missing bool
}

func (a rank) compare(b rank, descending bool) int {
	if a.missing != b.missing {
		if a.missing {
			return 1
		}
		return -1
	}
	c := cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.text, b.text))
	if descending {
		return -c
	}
	return c
}

// rank evaluates a sort rule for a ticket.
func (p *Pool) rank(r *ruleset.Rule, e, anchor *entry) rank {
	switch p.set.Attributes[r.Attribute].Type {
	case ruleset.Number:
		column := p.columns.number(r.Attribute, r.Fold)
		v := e.numbers[column][0]
		if r.Type == ruleset.DistanceSort {
			v = math.Abs(v - anchor.numbers[column][0])
		}
		return rank{number: v}
	case ruleset.String:
		return rank{text: p.strings.text(e.texts[p.columns.text(r.Attribute)][0])}
	default:
		return p.rankByMap(r, e, anchor)
	}
}

// rankByMap compares by the key with the highest or lowest number in the anchor's map.
func (p *Pool) rankByMap(r *ruleset.Rule, e, anchor *entry) rank {
	chosen := p.foldMap(r, anchor)
	key, best, found := "", 0.0, false
	for _, k := range slices.Sorted(maps.Keys(chosen)) {
		v := chosen[k]
		if !found || r.MapKey == ruleset.MaxValue && v > best || r.MapKey == ruleset.MinValue && v < best {
			key, best, found = k, v, true
		}
	}
	v, ok := p.foldMap(r, e)[key]
	if !ok || !found {
		return rank{missing: true}
	}
	if r.Type == ruleset.DistanceSort {
		v = math.Abs(v - best)
	}
	return rank{number: v}
}

// foldMap returns the map of a party: each number folded over the players that have the key.
func (p *Pool) foldMap(r *ruleset.Rule, e *entry) map[string]float64 {
	each := map[string][]float64{}
	a := p.set.Attributes[r.Attribute]
	for _, player := range e.ticket.Players {
		v, ok := player.Attributes[a.Name]
		if !ok {
			v = a.Default
		}
		for k, n := range v.SDM {
			each[k] = append(each[k], n)
		}
	}
	folded := make(map[string]float64, len(each))
	for k, numbers := range each {
		folded[k] = foldNumber(numbers, r.Fold)
	}
	return folded
}
