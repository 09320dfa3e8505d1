package ruleset

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// Limits of expansions.
const (
	maxExpansions = 200
	maxSteps      = 100
	maxLevels     = 100    // different ages at which steps begin
	maxChanges    = 10_000 // changed teams and rules, summed over all steps
)

// A level is the set in force from an age on.
type level struct {
	from    time.Duration
	set     *Set
	changes []change // from the previous level
}

// A change is a property that a step sets.
type change struct {
	target
	property string
	from, to any // JSON values
}

// A Change is a property that a step of an expansion sets.
type Change struct {
	Target string // rules[RankGap].maxDistance; a team with quantity appears once
	From   string // JSON; "" if the rule set has no value before the step
	To     string // JSON
}

// At returns the set in force for a match of the given age. It has the same attributes, teams and rules in the same
// order, with the values of the steps that have begun; it shares what no step has changed with s. At of a result
// returns the result itself.
func (s *Set) At(age time.Duration) *Set {
	set := s
	for _, l := range s.levels { // few levels, and most matches are young
		if age < l.from {
			break
		}
		set = l.set
	}
	return set
}

// Levels returns the ages at which a step of an expansion begins, ascending.
func (s *Set) Levels() []time.Duration {
	var ages []time.Duration
	for _, l := range s.levels {
		ages = append(ages, l.from)
	}
	return ages
}

// Changes returns what the steps set that begin at an age; nothing for ages that are not in Levels.
func (s *Set) Changes(age time.Duration) []Change {
	var of []Change
	for _, l := range s.levels {
		if l.from != age {
			continue
		}
		for _, c := range l.changes {
			component := "rules"
			if c.team {
				component = "teams"
			}
			next := Change{Target: component + "[" + c.name + "]." + c.property, From: jsonText(c.from),
				To: jsonText(c.to)}
			if !slices.Contains(of, next) { // the copies of a team change together
				of = append(of, next)
			}
		}
	}
	return of
}

// jsonText formats a value of the document; "" for a missing one.
func jsonText(v any) string {
	if v == nil {
		return ""
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // impossible: it was decoded from JSON
		return describe(v)
	}
	return strings.TrimSpace(text.String())
}

// relaxable are the properties that expansions can set, by rule type. The measurements and attributes of a rule are not
// among them.
// Source: FlexMatch guide, expansions ("any property of a rule statement").
var relaxable = map[RuleType][]string{
	Comparison:    {"referenceValue", "operation", "partyAggregation"},
	Distance:      {"referenceValue", "minDistance", "maxDistance", "partyAggregation"},
	BatchDistance: {"maxDistance", "partyAggregation"},
	Collection:    {"referenceValue", "minCount", "maxCount", "operation", "partyAggregation"},
	Latency:       {"maxLatency", "maxDistance", "distanceReference", "partyAggregation"},
	AbsoluteSort:  {"sortDirection", "mapKey", "partyAggregation"},
	DistanceSort:  {"sortDirection", "mapKey", "partyAggregation"},
}

// relaxableTeam are the properties of teams that expansions can set.
var relaxableTeam = []string{"minPlayers", "maxPlayers"}

// A target is a team or a rule that an expansion changes.
type target struct {
	team  bool
	index int    // in Set.Teams or Set.Rules
	name  string // as in the expansion
}

type step struct {
	path     string
	from     time.Duration
	targets  []target
	property string
	value    any
}

func (p *parser) expansions(root object) {
	var steps []step
	for _, o := range p.objects(root, "expansions", maxExpansions) {
		text := p.required(o, "target")
		if p.err != nil {
			return
		}
		targets, property := p.targets(o.at("target"), text)
		steps = append(steps, p.steps(o, targets, property)...)
	}
	if p.err == nil {
		p.levels(steps)
	}
}

// targets reads rules[name, name].property, or the same with teams.
func (p *parser) targets(path, text string) (of []target, property string) {
	component, rest, _ := strings.Cut(text, "[")
	names, rest, _ := strings.Cut(rest, "]")
	property, ok := strings.CutPrefix(strings.TrimSpace(rest), ".")
	if !ok {
		p.fail(path, "must be like rules[name].maxDistance or teams[name, name].minPlayers, not %s", quote(text))
		return nil, ""
	}
	property = strings.TrimSpace(property)
	seen := map[string]bool{}
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); seen[name] {
			continue
		}
		seen[name] = true
		switch strings.TrimSpace(component) {
		case "teams":
			of = append(of, p.targetTeams(path, name, property)...)
		case "rules":
			of = append(of, p.targetRule(path, name, property))
		default:
			p.fail(path, "must begin with rules[ or teams[, not with %s", quote(component))
		}
	}
	return of, property
}

// targetTeams returns all copies of a team.
func (p *parser) targetTeams(path, name, property string) (of []target) {
	if p.teams[name] == nil {
		p.fail(path, "there is no team %s", quote(name))
	}
	if !slices.Contains(relaxableTeam, property) {
		p.fail(path, "an expansion of a team sets %s, not %s", either(relaxableTeam), quote(property))
	}
	for _, i := range p.teams[name] {
		of = append(of, target{team: true, index: i, name: name})
	}
	return of
}

func (p *parser) targetRule(path, name, property string) target {
	i, ok := p.rules[name]
	if !ok {
		p.fail(path, "there is no rule %s", quote(name))
		return target{}
	}
	t := p.set.Rules[i].Type
	switch {
	case t == Compound:
		p.fail(path, "the rule %s is a compound rule, which expansions cannot change: name the rules in its statement",
			quote(name))
	case !slices.Contains(relaxable[t], property):
		p.fail(path, "an expansion of a rule of type %s sets %s, not %s", t, either(relaxable[t]), quote(property))
	}
	return target{index: i, name: name}
}

// steps reads the steps of one expansion.
func (p *parser) steps(o object, targets []target, property string) (of []step) {
	list := p.objects(o, "steps", maxSteps)
	if o.get("steps") == nil {
		p.missing(o, "steps")
	}
	if len(list) == 0 {
		p.fail(o.at("steps"), "there must be at least one step")
	}
	before := -1
	for _, s := range list {
		wait := p.requiredWhole(s, "waitTimeSeconds", 0, math.MaxInt32)
		if wait <= before {
			p.fail(s.at("waitTimeSeconds"), "is %d, but must be more than the %d of the step before: "+
				"all count from the start of the ticket", wait, before)
		}
		before = wait
		value := s.get("value")
		if value == nil {
			p.missing(s, "value")
		}
		from := time.Duration(wait) * time.Second
		of = append(of, step{path: s.path, from: from, targets: targets, property: property, value: value})
	}
	return of
}

// levels makes the set of each age at which a step begins, from the previous set.
func (p *parser) levels(steps []step) {
	// At one age the steps apply in the order of the document.
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.from, b.from) })
	before, changes := p.set, 0
	for len(steps) > 0 && p.err == nil {
		n := slices.IndexFunc(steps, func(s step) bool { return s.from != steps[0].from })
		if n < 0 {
			n = len(steps)
		}
		if len(p.set.levels) == maxLevels {
			p.fail(steps[0].path,
				"the steps of all expansions begin at more than %d different times: let some begin together", maxLevels)
		}
		if changes += countTargets(steps[:n]); changes > maxChanges {
			p.fail(steps[0].path, "up to here the steps change a team or a rule %d times, "+
				"more than %d: use fewer steps",
				changes, maxChanges)
			return
		}
		l := p.advance(before, steps[:n])
		p.set.levels = append(p.set.levels, l)
		before = l.set
		steps = steps[n:]
	}
}

// advance makes a level of the previous set and the steps that begin at one age. Changed teams and rules are read
// again, with the same checks.
func (p *parser) advance(before *Set, steps []step) level {
	next := *before
	next.base, next.levels = p.set, nil
	l := level{from: steps[0].from, set: &next}
	touched := map[target]step{} // the last step, which errors name
	var order []target
	for _, s := range steps {
		for _, t := range s.targets {
			if _, ok := touched[t]; !ok {
				order = append(order, t)
			}
			touched[t] = s
			l.changes = append(l.changes, p.change(t, s.property, s.value))
		}
	}
	next.Teams, next.Rules = slices.Clone(next.Teams), slices.Clone(next.Rules)
	for _, t := range order {
		p.blame(touched[t], func() { p.apply(&next, t) })
	}
	if last, ok := lastOfTeams(steps); ok {
		p.blame(last, func() { p.total(&next) })
	}
	return l
}

// change sets a value in the decoded document.
func (p *parser) change(t target, property string, value any) change {
	objects := p.ruleObjects
	if t.team {
		objects = p.teamObjects
	}
	o := &objects[t.index]
	c := change{target: t, property: property, from: o.get(property), to: value}
	if o.changed == nil {
		o.changed = map[string]any{}
	}
	o.changed[property] = value
	return c
}

// apply reads a team or a rule into the next set.
func (p *parser) apply(next *Set, t target) {
	if t.team {
		team := &next.Teams[t.index]
		team.Min, team.Max = p.sizes(p.teamObjects[t.index])
		return
	}
	r := p.rule(p.ruleObjects[t.index])
	r.Operand = next.Rules[t.index].Operand
	next.Rules[t.index] = r
}

// total checks the number of players of the next set's matches.
func (p *parser) total(next *Set) {
	most := maxSmall
	if p.set.Large() {
		most = maxPlayers
	}
	if n := next.MaxPlayers(); n > most {
		p.fail("teams", "have places for %d players, and these matches can have at most %d", n, most)
	}
}

func countTargets(steps []step) (n int) {
	for _, s := range steps {
		n += len(s.targets)
	}
	return n
}

func lastOfTeams(steps []step) (step, bool) {
	for _, s := range slices.Backward(steps) {
		if s.targets[0].team {
			return s, true
		}
	}
	return step{}, false
}

// blame runs a check and attributes its error to a step.
func (p *parser) blame(s step, check func()) {
	if p.err != nil {
		return
	}
	check()
	switch {
	case p.err == nil:
	case strings.HasSuffix(p.err.Path, "."+s.property):
		p.err.Path = s.path + ".value"
	default:
		p.err = &Error{Path: s.path, Problem: "with this step " + p.err.Error()}
	}
}
