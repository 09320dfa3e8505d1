package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// hasTextRule reports whether a string shape has constraints.
func (s *shape) hasTextRule() bool {
	return s.Type == "string" && (s.Min != nil && *s.Min > 0 || s.Max != nil || s.Pattern != "" || len(s.Enum) > 0)
}

// hasRangeRule reports whether any other shape has bounds that can be broken.
func (s *shape) hasRangeRule() bool {
	return s.Type != "string" && (s.Min != nil && (*s.Min != 0 || isNumber(s)) || s.Max != nil)
}

func isNumber(s *shape) bool {
	return s.Type == "integer" || s.Type == "long" || s.Type == "float" || s.Type == "double"
}

// hasRule reports whether a shape has an entry in the table of rules.
func (m *model) hasRule(name string) bool {
	s := m.shapes[name]
	return s != nil && (s.hasTextRule() || s.hasRangeRule() || m.ruleName(s.Key)+m.ruleName(s.Element)+
		m.ruleName(s.Value) != "")
}

// ruleName is the name of a shape's entry in the table of rules, "" if it has none, or if it is an enumeration: then
// the Go type has the name.
func (m *model) ruleName(name string) string {
	if !m.hasRule(name) || len(m.shapes[name].Enum) > 0 {
		return ""
	}
	return name
}

// writeRules declares the constraints of shapes, and the types of maps.
func writeRules(m *model, s *source) error {
	s.p("// rules are the constraints of the shapes that have some.")
	s.p("var rules = map[string]shapeRule{")
	for _, shape := range m.sorted() {
		if shape.Type == "structure" || !m.hasRule(shape.name) {
			continue
		}
		rule, err := m.shapeRule(shape)
		if err != nil {
			return fmt.Errorf("shape %s: %w", shape.name, err)
		}
		s.p("%q: {%s},", shape.name, rule)
	}
	s.p("}\n\n// mapTypes read and list the maps of each type.\nvar mapTypes = map[reflect.Type]mapType{")
	types := make(map[string]bool)
	for _, shape := range m.ofType("map") {
		types[m.elementType(shape.Value)] = true
	}
	for _, t := range slices.Sorted(maps.Keys(types)) {
		s.p("reflect.TypeFor[map[string]%s](): mapOf[%s]{},", t, t)
	}
	s.p("}")
	return nil
}

// shapeRule is the body of a shapeRule literal.
func (m *model) shapeRule(s *shape) (string, error) {
	var fields []string
	if s.hasTextRule() {
		text, err := s.textRule()
		if err != nil {
			return "", err
		}
		fields = append(fields, "text: &textRule{"+text+"}")
	}
	if s.hasRangeRule() {
		fields = append(fields, "bounds: &rangeRule{"+s.rangeRule()+"}")
	}
	if name := m.ruleName(s.Key); name != "" {
		fields = append(fields, fmt.Sprintf("key: %q", name))
	}
	if name := m.ruleName(s.Element + s.Value); name != "" {
		fields = append(fields, fmt.Sprintf("element: %q", name))
	}
	return strings.Join(fields, ", "), nil
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
		fields = append(fields, fmt.Sprintf("enum: %#v", s.Enum))
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
