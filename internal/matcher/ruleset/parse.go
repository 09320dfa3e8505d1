package ruleset

import (
	"maps"
	"slices"
	"strconv"
)

// An Error is a problem of a rule set.
type Error struct {
	Path    string // in the document, such as rules[2].measurements[0]; "" for all of it
	Problem string // says what to do
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return e.Path + ": " + e.Problem
}

// Limits of a rule set. Only those of players are documented by the service; the others bound the cost of a document,
// and are far beyond those that games write.
// Source: FlexMatch guide, large matches (40 and 200 players).
const (
	maxPlayers    = 200
	maxSmall      = 40 // players of a match that is not large
	maxAttributes = 200
	maxRules      = 200
	maxName       = 128 // characters
)

// Parse reads a rule set and checks it as CreateMatchmakingRuleSet does. The error is an *Error, the first one found.
func Parse(body string) (*Set, error) {
	root, wrong := decode(body)
	if wrong != nil {
		return nil, wrong
	}
	p := newParser()
	p.document(root)
	if p.err != nil {
		return nil, p.err
	}
	return p.set, nil
}

// A parser converts a document to a Set.
type parser struct {
	err *Error // the first
	set *Set

	slots       map[string]int   // of the attributes
	teams       map[string][]int // by name, and all copies by base name
	everyTeam   []int
	rules       map[string]int   // those already read
	expressions map[string]*Expr // by text

	teamObjects []object // with the expansion steps applied so far
	ruleObjects []object
	weights     []int // of the rules, see compound
}

func newParser() *parser {
	return &parser{
		set: &Set{}, slots: map[string]int{}, teams: map[string][]int{}, rules: map[string]int{},
		expressions: map[string]*Expr{},
	}
}

func (p *parser) document(root object) {
	p.set.Name, _ = p.text(root, "name")
	if version := p.required(root, "ruleLanguageVersion"); version != "1.0" {
		p.fail(root.at("ruleLanguageVersion"), `must be "1.0", not %s`, quote(version))
	}
	p.attributes(root)
	p.allTeams(root)
	p.algorithm(root)
	p.allRules(root)
	p.expansions(root)
}

func (p *parser) attributes(root object) {
	for i, o := range p.objects(root, "playerAttributes", maxAttributes) {
		name := p.name(o)
		if _, taken := p.slots[name]; taken {
			p.fail(o.at("name"), "there are two player attributes of the name %s: rename one", quote(name))
		}
		a := Attribute{Name: name, Type: Type(slices.Index(typeNames[:],
			p.requiredChoice(o, "type", typeNames[1:]...)))}
		a.Default = p.defaultValue(o, a.Type)
		p.slots[name] = i
		p.set.Attributes = append(p.set.Attributes, a)
	}
}

// defaultValue returns the value of players that have none; the zero Value if the document has no default.
func (p *parser) defaultValue(o object, t Type) Value {
	const key = "default"
	v := o.get(key)
	if v == nil || p.err != nil {
		return Value{}
	}
	value, ok := Value{Type: t}, false
	switch t {
	case Number:
		value.N, ok = v.(float64)
	case String:
		value.S, ok = v.(string)
	case StringList:
		var list []any
		if list, ok = v.([]any); ok {
			value.SL = p.texts(o.at(key), list)
		}
	case NumberMap:
		var members map[string]any
		if members, ok = v.(map[string]any); ok {
			value.SDM = p.numberMap(o.at(key), members)
		}
	}
	if !ok {
		p.fail(o.at(key), "must be of the attribute's type %s, and is %s", t, describe(v))
	}
	return value
}

func (p *parser) numberMap(path string, members map[string]any) map[string]float64 {
	numbers := make(map[string]float64, len(members))
	for _, key := range sortedKeys(members) {
		n, ok := members[key].(float64)
		if !ok {
			p.fail(path+"."+quoteless(key), "must be a number, not %s", describe(members[key]))
		}
		numbers[key] = n
	}
	return numbers
}

func (p *parser) allTeams(root object) {
	list := p.objects(root, "teams", maxPlayers)
	if root.get("teams") == nil {
		p.missing(root, "teams")
	}
	if len(list) == 0 {
		p.fail("teams", "there must be at least one team")
	}
	bases := map[string]bool{}
	for _, o := range list {
		name := p.name(o)
		if bases[name] {
			p.fail(o.at("name"), "there are two teams of the name %s: rename one", quote(name))
		}
		bases[name] = true
		p.team(o, name)
		if p.err != nil {
			return
		}
	}
	p.copyNames()
}

// team adds all copies of a team.
func (p *parser) team(o object, name string) {
	least, most := p.sizes(o)
	copies := 1
	if n := p.whole(o, "quantity", 1, maxPlayers); n != nil {
		copies = *n
	}
	if total := p.set.MaxPlayers() + copies*most; total > maxPlayers {
		p.fail(o.at("maxPlayers"), "the teams have slots for %d players up to here, and a match can have at most %d",
			total, maxPlayers)
		return
	}
	for i := range copies {
		t := Team{Name: name, Base: name, Min: least, Max: most}
		if copies > 1 {
			t.Name = name + "_" + strconv.Itoa(i+1)
		}
		p.teams[name] = append(p.teams[name], len(p.set.Teams))
		p.everyTeam = append(p.everyTeam, len(p.set.Teams))
		p.teamObjects = append(p.teamObjects, o)
		p.set.Teams = append(p.set.Teams, t)
	}
}

// sizes returns the minimum and maximum players of a team.
func (p *parser) sizes(o object) (least, most int) {
	most = p.requiredWhole(o, "maxPlayers", 1, maxPlayers)
	least = p.requiredWhole(o, "minPlayers", 0, maxPlayers)
	if least > most {
		p.fail(o.at("minPlayers"), "is %d, more than maxPlayers %d", least, most)
	}
	return least, most
}

// copyNames lets expressions and expansions select one copy of a team.
func (p *parser) copyNames() {
	for i, t := range p.set.Teams {
		if t.Name == t.Base {
			continue
		}
		if p.teams[t.Name] != nil {
			p.fail(p.teamObjects[i].at("name"),
				"a copy of the team %s has the name %s, and so has another team: rename one",
				quote(t.Base), quote(t.Name))
		}
		p.teams[t.Name] = []int{i}
	}
}

func (p *parser) algorithm(root object) {
	o := object{path: "algorithm"}
	if v := root.get("algorithm"); v != nil {
		o = p.object(o.path, v)
	}
	a := &p.set.Algorithm
	a.Balanced = p.choice(o, "strategy", "exhaustiveSearch", "balanced") == "balanced"
	a.OldestAge = p.choice(o, "expansionAgeSelection", "newest", "oldest") == "oldest"
	a.BackfillPriority = priorities[p.choice(o, "backfillPriority", "normal", "high", "low")]
	if a.Balanced {
		p.balanced(o)
	} else {
		p.exhaustive(o)
	}
}

var priorities = map[string]Priority{"low": LowPriority, "normal": NormalPriority, "high": HighPriority}

func (p *parser) exhaustive(o object) {
	if p.set.Large() {
		p.fail(o.at("strategy"),
			"matches of up to %d players are large matches, more than %d, which need strategy balanced",
			p.set.MaxPlayers(), maxSmall)
	}
	if o.get("balancedAttribute") != nil {
		p.fail(o.at("balancedAttribute"), "is for strategy balanced: set it, or leave this out")
	}
	a := &p.set.Algorithm
	a.Sorted = p.choice(o, "batchingPreference", "random", "sorted") == "sorted"
	list := p.sortBy(o)
	switch {
	case !a.Sorted && len(list) > 0:
		p.fail(o.at("sortByAttributes"), "is for batchingPreference sorted: set it, or leave this out")
	case a.Sorted && len(list) == 0:
		p.missing(o, "sortByAttributes")
	}
	a.SortBy = list
}

// sortBy returns the slots of sortByAttributes.
func (p *parser) sortBy(o object) []int {
	const key = "sortByAttributes"
	v := o.get(key)
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		p.fail(o.at(key), "must be a list of names of player attributes, not %s", describe(v))
	}
	var slots []int
	for i, name := range p.texts(o.at(key), list) {
		slots = append(slots, p.attribute(element(o.at(key), i), name, Number, String))
	}
	return slots
}

func (p *parser) balanced(o object) {
	if o.get("sortByAttributes") != nil {
		p.fail(o.at("sortByAttributes"), "is for strategy exhaustiveSearch: set it, or leave this out")
	}
	a := &p.set.Algorithm
	a.FastestRegion = p.choice(o, "batchingPreference", "largestPopulation", "fastestRegion") == "fastestRegion"
	a.BalancedBy = p.attribute(o.at("balancedAttribute"), p.required(o, "balancedAttribute"), Number)
}

// attribute returns the slot of an attribute that must be of one of the types.
func (p *parser) attribute(path, name string, types ...Type) int {
	slot, ok := p.slots[name]
	if !ok {
		p.fail(path, "there is no player attribute %s: declare it in playerAttributes", quote(name))
		return 0
	}
	if t := p.set.Attributes[slot].Type; !slices.Contains(types, t) {
		p.fail(path, "takes a player attribute of type %s, and %s is of type %s", eitherType(types), quote(name), t)
	}
	return slot
}

func eitherType(types []Type) string {
	var names []string
	for _, t := range types {
		names = append(names, t.String())
	}
	return either(names)
}

func sortedKeys(members map[string]any) []string { return slices.Sorted(maps.Keys(members)) }
