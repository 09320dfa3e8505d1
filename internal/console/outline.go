package console

import (
	"fmt"
	"strings"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// An outline is the teams and rules of a rule set, and how they relax.
type outline struct {
	Teams      []ruleset.Team
	Rules      []outlinedRule
	Expansions []outlinedStep
}

type outlinedRule struct{ Name, Type, Limits string }

// An outlinedStep is what changes for tickets of an age.
type outlinedStep struct{ After, Changes string }

// outlineOf returns the outline of a rule set; nil: the text is not valid in this version.
func outlineOf(text string) *outline {
	set, err := ruleset.Parse(text)
	if err != nil {
		return nil
	}
	o := &outline{Teams: set.Teams}
	for i := range set.Rules {
		r := &set.Rules[i]
		o.Rules = append(o.Rules, outlinedRule{r.Name, string(r.Type), limitsOf(r)})
	}
	for _, age := range set.Levels() {
		var changes []string
		for _, c := range set.Changes(age) {
			if c.From == "" {
				changes = append(changes, c.Target+" is set to "+c.To)
			} else {
				changes = append(changes, fmt.Sprintf("%s from %s to %s", c.Target, c.From, c.To))
			}
		}
		if age > 0 && changes != nil {
			o.Expansions = append(o.Expansions, outlinedStep{span(age), strings.Join(changes, "; ")})
		}
	}
	return o
}

func limitsOf(r *ruleset.Rule) string {
	var limits []string
	number := func(text string, n *float64) {
		if n != nil {
			limits = append(limits, fmt.Sprintf(text, *n))
		}
	}
	count := func(text string, n *int) {
		if n != nil {
			limits = append(limits, fmt.Sprintf(text, *n))
		}
	}
	number("distance at least %g", r.MinDistance)
	number("distance at most %g", r.MaxDistance)
	count("count at least %d", r.MinCount)
	count("count at most %d", r.MaxCount)
	number("latency at most %g ms", r.MaxLatency)
	return strings.Join(limits, ", ")
}
