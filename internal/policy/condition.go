package policy

import (
	"strings"
)

// A condition is one key of an operator block.
type condition struct {
	key      string
	tests    []test
	negated  bool
	all      bool // every value of the request must satisfy; otherwise one
	ifExists bool
	null     *nullTest // of the operator Null; the other fields but key are empty
	subjects []string  // values, if one of them must match and a missing key does not: see CheckIssuers
}

// A nullTest is the values of the operator Null: "true" accepts a missing key, "false" one that is there.
type nullTest struct{ missing, present bool }

// holds evaluates the condition. A key without values is missing.
//
// Without a prefix, a negated operator is satisfied if no value of the request matches, which is that all satisfy it.
// So the rule for missing keys needs no cases: "all of none" is true, "one of none" is false.
func (c *condition) holds(keys lookup) bool {
	values := keys.get(c.key)
	if c.null != nil {
		return c.null.missing && len(values) == 0 || c.null.present && len(values) > 0
	}
	if len(values) == 0 {
		return c.all || c.ifExists
	}
	for _, value := range values {
		if c.satisfied(value, keys) != c.all {
			return !c.all
		}
	}
	return c.all
}

func (c *condition) satisfied(value string, keys lookup) bool {
	for _, t := range c.tests {
		if t(value, keys) {
			return !c.negated
		}
	}
	return c.negated
}

// conditions reads the element Condition: an object of operators, each with an object of keys.
func (p *parser) conditions(v any) ([]condition, error) {
	blocks, err := p.object("Condition", v)
	if err != nil {
		return nil, err
	}
	var all []condition
	for _, block := range blocks {
		keys, err := p.object("Condition "+block.name, block.value)
		if err != nil {
			return nil, err
		}
		if len(keys) == 0 {
			return nil, p.fail("Condition "+block.name, "the operator has no keys")
		}
		for _, key := range keys {
			c, err := p.condition(block.name, key)
			if err == nil {
				all = append(all, c)
			} else if !p.tolerate(err) {
				return nil, err
			}
		}
	}
	return all, nil
}

func (p *parser) condition(name string, m member) (c condition, err error) {
	element := "Condition " + name
	base, prefixed := name, false
	for _, prefix := range []string{"ForAllValues:", "ForAnyValue:"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			base, prefixed = rest, true
		}
	}
	base, c.ifExists = strings.CutSuffix(base, "IfExists")
	op, known := operators[base]
	isNull := name == nullOperator
	if !known && !isNull {
		return c, p.unknown(element, "there is no operator %q", name)
	}
	if c.key, known = p.key(m.name); !known {
		return c, p.unknown(element, "there is no condition key %q", m.name)
	}
	element += " " + c.key
	texts, err := p.scalars(element, m.value)
	if err != nil {
		return c, err
	}
	if isNull {
		c.null, err = p.nullTest(element, texts)
		return c, err
	}
	c.negated = op.negated
	c.all = op.negated
	if prefixed {
		c.all = strings.HasPrefix(name, "ForAll")
	}
	if op.text && !c.negated && !c.all && !c.ifExists {
		c.subjects = texts
	}
	for _, text := range texts {
		t, err := op.compile(p, element, text)
		if err != nil {
			return c, err
		}
		c.tests = append(c.tests, t)
	}
	return c, nil
}

func (p *parser) nullTest(element string, texts []string) (*nullTest, error) {
	n := new(nullTest)
	for _, text := range texts {
		missing, ok := parseBool(text)
		if !ok {
			return nil, p.fail(element, "%q is neither true nor false", text)
		}
		n.missing = n.missing || missing
		n.present = n.present || !missing
	}
	return n, nil
}
