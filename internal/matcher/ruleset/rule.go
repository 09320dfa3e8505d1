package ruleset

import (
	"math"
	"slices"
	"strconv"
)

const maxMeasurements = 50

// ruleTypes are all types, as messages list them.
var ruleTypes = []string{
	string(Comparison), string(Distance), string(BatchDistance), string(Collection),
	string(Compound), string(Latency), string(AbsoluteSort), string(DistanceSort),
}

func (p *parser) allRules(root object) {
	for _, o := range p.objects(root, "rules", maxRules) {
		name := p.name(o)
		if _, taken := p.rules[name]; taken {
			p.fail(o.at("name"), "there are two rules of the name %s: rename one", quote(name))
		}
		r := p.rule(o)
		if p.err != nil {
			return
		}
		p.rules[name] = len(p.set.Rules)
		p.set.Rules = append(p.set.Rules, r)
		p.ruleObjects = append(p.ruleObjects, o)
		if r.Type != Compound {
			p.weights = append(p.weights, 1)
		}
	}
}

// rule reads one rule. Expansions call it again with their changes, so that those are checked, too.
func (p *parser) rule(o object) Rule {
	r := Rule{Name: p.name(o), Type: RuleType(p.requiredChoice(o, "type", ruleTypes...))}
	if p.set.Large() && r.Type != Latency && r.Type != BatchDistance {
		p.fail(o.at("type"),
			"large matches, of more than %d players, have rules of the types latency and batchDistance only, not %s",
			maxSmall, r.Type)
	}
	if p.err != nil {
		return r
	}
	switch r.Type {
	case Comparison:
		p.comparison(o, &r)
	case Distance:
		p.distance(o, &r)
	case BatchDistance:
		p.batchDistance(o, &r)
	case Collection:
		p.collection(o, &r)
	case Compound:
		p.compound(o, &r)
	case Latency:
		p.latency(o, &r)
	case AbsoluteSort:
		p.sort(o, &r, Number, String, NumberMap)
	case DistanceSort:
		p.sort(o, &r, Number, NumberMap)
	}
	return r
}

// numberFold returns the fold of a party's numbers.
func (p *parser) numberFold(o object) Fold {
	return Fold(p.choice(o, "partyAggregation", string(FoldAvg), string(FoldMin), string(FoldMax)))
}

var operations = []string{"<", "<=", "=", "!=", ">", ">="}

func (p *parser) comparison(o object, r *Rule) {
	r.Fold = p.numberFold(o)
	r.Operation = p.requiredChoice(o, "operation", operations...)
	r.Measurements = p.measurements(o, compared)
	r.Reference = p.reference(o)
	if p.err != nil {
		return
	}
	kind := r.Measurements[0].Type.Of
	if slices.ContainsFunc(r.Measurements, func(e *Expr) bool { return e.Type.Of != kind }) {
		p.fail(o.at("measurements"), "are numbers and strings, which cannot be compared: use two rules")
	}
	equality := r.Operation == "=" || r.Operation == "!="
	switch {
	case kind == KindString && !equality:
		p.fail(o.at("operation"), "strings are compared with = and != only, not with %s", r.Operation)
	case r.Reference != nil:
		p.singleReference(o, r.Reference, kind)
	case !equality:
		p.fail(o.at("referenceValue"),
			"the key is required with operation %s; without it players are compared with each other, by = or !=",
			r.Operation)
	}
}

func (p *parser) distance(o object, r *Rule) {
	r.Fold = p.numberFold(o)
	r.Measurements = p.measurements(o, numeric)
	if r.Reference = p.reference(o); r.Reference == nil {
		p.missing(o, "referenceValue")
		return
	}
	p.singleReference(o, r.Reference, KindNumber)
	r.MinDistance, r.MaxDistance = p.amount(o, "minDistance"), p.amount(o, "maxDistance")
	switch {
	case r.MinDistance == nil && r.MaxDistance == nil:
		p.missing(o, "maxDistance")
	case r.MinDistance != nil && r.MaxDistance != nil && *r.MinDistance > *r.MaxDistance:
		p.fail(o.at("minDistance"), "is %v, more than maxDistance %v", *r.MinDistance, *r.MaxDistance)
	}
}

func (p *parser) batchDistance(o object, r *Rule) {
	r.Fold = p.numberFold(o)
	r.Attribute = p.attribute(o.at("batchAttribute"), p.required(o, "batchAttribute"), Number, String)
	if p.err != nil {
		return
	}
	r.MaxDistance = p.amount(numeral(o, "maxDistance"), "maxDistance")
	switch number := p.set.Attributes[r.Attribute].Type == Number; {
	case number && r.MaxDistance == nil:
		p.missing(o, "maxDistance")
	case !number && r.MaxDistance != nil:
		p.fail(o.at("maxDistance"), "is for numbers, but the batchAttribute is of type string, "+
			"and all tickets of a match have the same value: leave this out")
	}
}

// numeral returns the object with a number in place of a string of digits. Source: FlexMatch guide, batch distance rule
// (the example has maxDistance in quotes).
func numeral(o object, key string) object {
	if text, ok := o.get(key).(string); ok {
		if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) {
			return object{path: o.path, changed: map[string]any{key: n}}
		}
	}
	return o
}

func (p *parser) collection(o object, r *Rule) {
	r.Fold = Fold(p.choice(o, "partyAggregation", string(FoldUnion), string(FoldIntersection)))
	r.Operation = p.requiredChoice(o, "operation", "contains", "intersection", "reference_intersection_count")
	r.Measurements = p.measurements(o, collected)
	switch r.Operation {
	case "contains":
		r.Reference = p.oneText(o)
	case "reference_intersection_count":
		r.Reference = p.textList(o)
	}
	r.MinCount, r.MaxCount = p.whole(o, "minCount", 0, math.MaxInt32), p.whole(o, "maxCount", 0, math.MaxInt32)
	switch {
	case r.MinCount == nil && r.MaxCount == nil:
		one := 1
		r.MinCount = &one
	case r.MinCount != nil && r.MaxCount != nil && *r.MinCount > *r.MaxCount:
		p.fail(o.at("minCount"), "is %d, more than maxCount %d", *r.MinCount, *r.MaxCount)
	}
}

func (p *parser) latency(o object, r *Rule) {
	r.Fold = p.numberFold(o)
	r.MaxLatency, r.MaxDistance = p.amount(o, "maxLatency"), p.amount(o, "maxDistance")
	r.FromAverage = p.choice(o, "distanceReference", "min", "avg") == "avg"
	switch {
	case p.set.Large() && r.MaxDistance != nil:
		p.fail(o.at("maxDistance"),
			"large matches, of more than %d players, limit the latency by maxLatency only: leave this out", maxSmall)
	case r.MaxLatency == nil && (p.set.Large() || r.MaxDistance == nil):
		p.missing(o, "maxLatency")
	}
}

func (p *parser) sort(o object, r *Rule, types ...Type) {
	r.Fold = p.numberFold(o)
	r.Descending = p.requiredChoice(o, "sortDirection", "ascending", "descending") == "descending"
	r.Attribute = p.attribute(o.at("sortAttribute"), p.required(o, "sortAttribute"), types...)
	if p.err != nil {
		return
	}
	switch given := o.get("mapKey") != nil; {
	case p.set.Attributes[r.Attribute].Type == NumberMap:
		r.MapKey = MinValue
		if p.requiredChoice(o, "mapKey", "minValue", "maxValue") == "maxValue" {
			r.MapKey = MaxValue
		}
	case given:
		p.fail(o.at("mapKey"), "is for attributes of type string_number_map: leave this out")
	}
}

// measurements returns the expressions of a rule, each checked: one string, or a list of them. Source: FlexMatch guide
// (the schema has a string, the examples have lists).
func (p *parser) measurements(o object, check func(*parser, *Expr) string) []*Expr {
	const key = "measurements"
	switch v := o.get(key).(type) {
	case nil:
		p.missing(o, key)
	case string:
		return []*Expr{p.measurement(o.at(key), v, check)}
	case []any:
		if len(v) == 0 || len(v) > maxMeasurements {
			p.fail(o.at(key), "must be 1 to %d property expressions, not %d", maxMeasurements, len(v))
			return nil
		}
		list := make([]*Expr, len(v))
		for i, text := range v {
			list[i] = p.measurement(element(o.at(key), i), text, check)
		}
		return list
	default:
		p.fail(o.at(key), "must be a list of property expressions, not %s", describe(v))
	}
	return nil
}

func (p *parser) measurement(path string, v any, check func(*parser, *Expr) string) *Expr {
	text, ok := v.(string)
	if !ok {
		p.fail(path, "must be a property expression in quotes, not %s", describe(v))
		return nil
	}
	e, wrong := p.expression(text)
	if wrong != nil {
		p.fail(path, "%s", wrong)
		return nil
	}
	if problem := check(p, e); problem != "" {
		p.fail(path, "%s", problem)
	}
	return e
}

// compared checks the measurements of comparison rules: numbers or strings, of all players or by team. A player's list
// cannot be compared.
func compared(p *parser, e *Expr) string {
	deepest := 2
	if p.ofLists(e) {
		deepest = 1
	}
	if e.Type.Of != KindNumber && e.Type.Of != KindString || e.Type.Depth > deepest {
		return "must give numbers or strings, and gives " + e.Type.String() + "; string lists are for collection rules"
	}
	return ""
}

func numeric(_ *parser, e *Expr) string {
	if e.Type.Of != KindNumber {
		return "must give numbers, and gives " + e.Type.String()
	}
	return ""
}

func collected(_ *parser, e *Expr) string {
	if e.Type.Of != KindString || e.Type.Depth == 0 {
		return "must give string lists, and gives " + e.Type.String()
	}
	return ""
}

// ofLists reports whether an expression reads a string list attribute.
func (p *parser) ofLists(e *Expr) bool {
	for e.Path == nil {
		e = e.Arg
	}
	return e.Path.Of == OfAttribute && p.set.Attributes[e.Path.Slot].Type == StringList
}

// reference returns the referenceValue; nil if it is missing. A string that follows the grammar is an expression, else
// a literal.
func (p *parser) reference(o object) *Reference {
	const key = "referenceValue"
	switch v := o.get(key).(type) {
	case nil:
		return nil
	case float64:
		return &Reference{Number: &v}
	case string:
		e, wrong := p.expression(v)
		switch {
		case wrong == nil:
			return &Reference{Expr: e}
		case wrong.syntax:
			return &Reference{Text: &v}
		}
		p.fail(o.at(key), "%s", wrong)
	case []any:
		return &Reference{List: p.texts(o.at(key), v)}
	default:
		p.fail(o.at(key), "must be a number, a string, a list of strings or a property expression, not %s", describe(v))
	}
	return &Reference{}
}

// singleReference checks a reference that must be one number or one string, like the measurements.
func (p *parser) singleReference(o object, r *Reference, kind Kind) {
	path := o.at("referenceValue")
	switch {
	case p.err != nil:
	case r.Expr != nil:
		if r.Expr.Type != (ExprType{Of: kind}) {
			p.fail(path, "must be %s, like the measurements, and gives %s", ExprType{Of: kind}, r.Expr.Type)
		}
	case r.Number != nil && kind == KindNumber, r.Text != nil && kind == KindString:
	case r.Text != nil:
		_, wrong := p.expression(*r.Text)
		p.fail(path, "must be a number or a property expression, and %s is none: %s", quote(*r.Text), wrong)
	default:
		p.fail(path, "must be %s, like the measurements, not %s", ExprType{Of: kind}, describe(o.get("referenceValue")))
	}
}

// oneText returns the reference of contains.
func (p *parser) oneText(o object) *Reference {
	r := p.reference(o)
	switch {
	case r == nil:
		p.missing(o, "referenceValue")
	case r.Text == nil:
		p.fail(o.at("referenceValue"), "must be the one string to look for, not %s", describe(o.get("referenceValue")))
	}
	return r
}

// textList returns the reference of reference_intersection_count.
func (p *parser) textList(o object) *Reference {
	r := p.reference(o)
	path := o.at("referenceValue")
	switch {
	case p.err != nil:
	case r == nil:
		p.missing(o, "referenceValue")
	case r.List != nil:
	case r.Expr == nil:
		p.fail(path, "must be a list of strings or a property expression that gives one, not %s",
			describe(o.get("referenceValue")))
	case r.Expr.Type != (ExprType{Depth: 1, Of: KindString}):
		p.fail(path, "must give %s, and gives %s; flatten and set_intersection remove one level of lists",
			ExprType{Depth: 1, Of: KindString}, r.Expr.Type)
	}
	return r
}
