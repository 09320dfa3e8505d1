package main

import (
	"fmt"
	"strings"
)

// textRule reports whether a string shape has constraints.
func (s *shape) hasTextRule() bool {
	return s.Type == "string" && (s.Min != nil && *s.Min > 0 || s.Max != nil || s.Pattern != "" || len(s.Enum) > 0)
}

// hasRangeRule reports whether any other shape has bounds that are checked.
func (m *model) hasRangeRule(s *shape) bool {
	if s.Type == "string" || !m.inputs[s.name] {
		return false
	}
	return s.Min != nil && (*s.Min != 0 || isNumber(s)) || s.Max != nil
}

func isNumber(s *shape) bool {
	return s.Type == "integer" || s.Type == "long" || s.Type == "float" || s.Type == "double"
}

// rule is the argument that hands a string shape's rule over.
func (m *model) rule(name string) string {
	if m.shapes[name].hasTextRule() {
		return "&rule" + name
	}
	return "nil"
}

// writeRules declares the constraints of shapes.
func writeRules(m *model, s *source) error {
	s.p("// The constraints of strings.\nvar (")
	for _, shape := range m.ofType("string") {
		if !shape.hasTextRule() {
			continue
		}
		text, err := shape.textRule()
		if err != nil {
			return err
		}
		s.p("rule%s = textRule{%s}", shape.name, text)
	}
	s.p(")\n\n// The bounds of numbers and sizes.\nvar (")
	for _, shape := range m.ofType("integer", "long", "float", "double", "list", "map", "blob") {
		if m.hasRangeRule(shape) {
			s.p("rule%s = rangeRule{%s}", shape.name, shape.rangeRule())
		}
	}
	s.p(")")
	return nil
}

// textRule is the body of a textRule literal.
func (s *shape) textRule() (string, error) {
	var fields []string
	if s.Min != nil && *s.Min > 0 {
		fields = append(fields, "min: "+number(*s.Min))
	}
	if s.Max != nil {
		fields = append(fields, "max: "+number(*s.Max))
	}
	if s.Pattern != "" {
		p, err := patternSource(s.Pattern)
		if err != nil {
			return "", fmt.Errorf("shape %s: %w", s.name, err)
		}
		fields = append(fields, "pattern: "+p)
	}
	if len(s.Enum) > 0 {
		fields = append(fields, fmt.Sprintf("enum: %#v", s.Enum),
			fmt.Sprintf("known: func(v string) bool { return %s(v).Known() }", s.name))
	}
	if s.Sensitive {
		fields = append(fields, "sensitive: true")
	}
	return strings.Join(fields, ", "), nil
}

// rangeRule is the body of a rangeRule literal.
func (s *shape) rangeRule() string {
	var fields []string
	if s.Min != nil {
		fields = append(fields, "min: bound("+number(*s.Min)+")")
	}
	if s.Max != nil {
		fields = append(fields, "max: bound("+number(*s.Max)+")")
	}
	if s.Sensitive {
		fields = append(fields, "sensitive: true")
	}
	return strings.Join(fields, ", ")
}
