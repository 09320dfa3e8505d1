package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// writeTypes declares a struct for every structure that is not an exception.
func writeTypes(m *model, s *source) error {
	roles := m.roles()
	for _, shape := range m.ofType("structure") {
		s.p("\n// %s is %s.", shape.name, roles[shape.name])
		s.p("type %s struct {", shape.name)
		for _, mem := range shape.Members {
			s.p("%s %s%s%s", mem.name, m.fieldType(shape, mem), m.tag(shape, mem), m.remark(mem))
		}
		s.p("}")
	}
	return nil
}

// roles says what each structure is there for.
func (m *model) roles() map[string]string {
	roles := make(map[string]string)
	holders := make(map[string][]string)
	for _, shape := range m.ofType("structure", "list", "map") {
		for _, inner := range shape.inner() {
			holders[inner] = append(holders[inner], shape.name)
		}
	}
	for name, shape := range m.shapes {
		if shape.Type == "structure" {
			roles[name] = "part of " + strings.Join(m.owners(holders, name), ", ")
		}
	}
	for name, op := range m.operations {
		roles[op.In] = "the input of " + name
		if op.Out != nil {
			roles[*op.Out] = "the output of " + name
		}
	}
	return roles
}

// owners lists the structures that hold a shape directly or in a list or map.
func (m *model) owners(holders map[string][]string, name string) []string {
	found := make(map[string]bool)
	for _, h := range holders[name] {
		if m.shapes[h].Type == "structure" {
			found[h] = true
			continue
		}
		for _, o := range m.owners(holders, h) {
			found[o] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// tag is the tag of a field, which the tables of package wire are made from.
func (m *model) tag(holder *shape, mem member) string {
	tag, s := "", m.shapes[mem.shape]
	if s.Type != "structure" {
		tag = m.ruleName(mem.shape)
	}
	if holder.requires(mem.name) {
		tag += ",required"
		if s.Type == "string" && takesEmpty(s) {
			tag += ",empty"
		}
	}
	if tag == "" {
		return ""
	}
	return fmt.Sprintf(" `wire:%q`", tag)
}

// remark is the comment behind a field: what its shape demands.
func (m *model) remark(mem member) string {
	s := m.shapes[mem.shape]
	var words []string
	if s.Min != nil || s.Max != nil {
		words = append(words, extent(s))
	}
	if s.Pattern != "" {
		words = append(words, s.Pattern)
	}
	if s.Sensitive {
		words = append(words, "sensitive")
	}
	if len(words) == 0 {
		return ""
	}
	return " // " + strings.Join(words, ", ")
}

// extent says how large a value may be.
func extent(s *shape) string {
	unit := map[string]string{"string": " characters", "list": " elements", "map": " elements",
		"blob": " bytes"}[s.Type]
	switch {
	case s.Max == nil && *s.Min == 1:
		return "at least 1" + strings.TrimSuffix(unit, "s")
	case s.Max == nil:
		return fmt.Sprintf("at least %s%s", number(*s.Min), unit)
	case s.Min == nil:
		return fmt.Sprintf("at most %s%s", number(*s.Max), unit)
	default:
		return fmt.Sprintf("%s to %s%s", number(*s.Min), number(*s.Max), unit)
	}
}

// number writes a bound as Go source.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// maxConstants is how many constants an enumeration may have. Instance types come in hundreds, and no code names one.
const maxConstants = 100

// writeEnums declares a string type and its constants for every enumeration.
func writeEnums(m *model, s *source) error {
	taken := make(map[string]string)
	for _, e := range m.enums() {
		s.p("\n// %s is an enumeration of the API model; \"\" is absent.", e.name)
		s.p("type %s string", e.name)
		if len(e.Enum) > maxConstants {
			continue
		}
		s.p("\n// The values of %s.", e.name)
		s.p("const (")
		for _, v := range e.Enum {
			name := constant(e.name, v)
			if other, clash := taken[name]; clash || m.shapes[name] != nil {
				return fmt.Errorf("the name of %s value %q is that of %s, too", e.name, v, other)
			}
			taken[name] = fmt.Sprintf("%s value %q", e.name, v)
			s.p("%s %s = %q", name, e.name, v)
		}
		s.p(")")
	}
	return nil
}

// writeOperations declares the table of operations and a variable for each.
func writeOperations(m *model, s *source) error {
	names := slices.Sorted(maps.Keys(m.operations))
	s.p("// Operations describes every operation of the API, sorted by name.")
	s.p("var Operations = []*OperationInfo{")
	for _, name := range names {
		op := m.operations[name]
		recent := ""
		if len(op.recent) > 0 {
			recent = fmt.Sprintf(", recent: %#v", slices.Sorted(slices.Values(op.recent)))
		}
		s.p("{Name: %q, Errors: %#v, HasOutput: %t, Paginated: %t%s},",
			name, slices.Sorted(slices.Values(op.Errors)), op.Out != nil, op.Page != nil, recent)
	}
	s.p("}\n")
	s.p("// The operations of the API, each tied to its input and output.")
	s.p("var (")
	for i, name := range names {
		op := m.operations[name]
		out := "NoOutput"
		if op.Out != nil {
			out = *op.Out
		}
		s.p("Op%s = operation[%s, %s](Operations[%d])", name, op.In, out, i)
	}
	s.p(")")
	return nil
}
