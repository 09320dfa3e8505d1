package matchsim

import (
	"slices"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// hints are what the rules reveal about good values of an attribute.
type hints struct {
	read     bool      // some rule reads it
	distance float64   // the largest that a rule allows
	number   float64   // that values are compared with
	choices  []choice  // numbers that rules compare for equality
	texts    []string  // that values are compared with
	counted  []counted // of the texts, those that rules count
}

// A choice is a number that a rule requires of the players of some teams.
type choice struct {
	number  float64
	slots   float64 // of those teams
	largest int     // maximum players of one of them
}

// counted is a word, the share of players that have it in the middle of a rule's bounds, and whether the rule limits
// it.
type counted struct {
	word  string
	share float64
	most  bool
}

func hintsOf(set *ruleset.Set, slot int) (h hints) {
	for i := range set.Rules {
		r := &set.Rules[i]
		if !reads(r, slot) {
			continue
		}
		h.read = true
		if r.MaxDistance != nil {
			h.distance = max(h.distance, *r.MaxDistance)
		}
		if r.Reference != nil {
			h.compared(set, r)
		}
	}
	return h
}

// compared adds the reference of a rule.
func (h *hints) compared(set *ruleset.Set, r *ruleset.Rule) {
	teams := teamsOf(set, r.Measurements[0])
	least, most, largest := 0, 0, 0
	for _, t := range teams {
		least, most, largest = least+t.Min, most+t.Max, max(largest, t.Max)
	}
	players := float64(least+most) / 2
	values := r.Measurements[0].Func == "" || r.Measurements[0].Func == "flatten"
	switch {
	case r.Reference.Number != nil && r.Type == ruleset.Comparison && r.Operation == "=" && values:
		h.choices = append(h.choices, choice{*r.Reference.Number, players, largest})
	case r.Reference.Number != nil:
		h.number = *r.Reference.Number
	case r.Reference.Text != nil:
		h.texts = append(h.texts, *r.Reference.Text)
		if r.Type == ruleset.Collection && r.Operation == "contains" && players > 0 {
			low, high := 0, most
			if r.MinCount != nil {
				low = *r.MinCount
			}
			if r.MaxCount != nil {
				high = min(high, *r.MaxCount)
			}
			h.counted = append(h.counted, counted{*r.Reference.Text, min(1, float64(low+high)/2/players), high < most})
		}
	}
	h.texts = append(h.texts, r.Reference.List...)
}

// teamsOf returns the teams of an expression.
func teamsOf(set *ruleset.Set, e *ruleset.Expr) (teams []ruleset.Team) {
	for e.Func != "" {
		e = e.Arg
	}
	for _, i := range e.Path.Teams {
		teams = append(teams, set.Teams[i])
	}
	return teams
}

// reads reports whether a rule reads an attribute.
func reads(r *ruleset.Rule, slot int) bool {
	if r.Type == ruleset.BatchDistance {
		return r.Attribute == slot
	}
	return slices.ContainsFunc(r.Measurements, func(e *ruleset.Expr) bool { return readsSlot(e, slot) })
}

func readsSlot(e *ruleset.Expr, slot int) bool {
	for e.Func != "" {
		e = e.Arg
	}
	return e.Path != nil && e.Path.Of == ruleset.OfAttribute && e.Path.Slot == slot
}

// words returns those of the default and of the rules, or three if there are none, without counted words.
func (h hints) words(defaults ...string) []string {
	words := append(slices.Clone(defaults), h.texts...)
	words = slices.DeleteFunc(words, func(w string) bool {
		return w == "" || slices.ContainsFunc(h.counted, func(c counted) bool { return c.word == w })
	})
	if len(h.texts) == 0 || len(words) == 0 {
		words = append(words, "alpha", "beta", "gamma")
	}
	slices.Sort(words)
	return slices.Compact(words)
}
