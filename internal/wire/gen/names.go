package main

import (
	"strings"
	"unicode"
)

// constant is the name of the constant for a value of an enumeration: FleetStatus and NEW_FLEET give
// FleetStatusNewFleet.
func constant(enum, value string) string {
	var b strings.Builder
	b.WriteString(enum)
	words := strings.FieldsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, w := range words {
		if w == strings.ToUpper(w) {
			w = strings.ToLower(w)
		}
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

// scalars are the Go types of scalar shapes, as elements.
var scalars = map[string]string{
	"integer": "int32", "long": "int64", "float": "float32", "double": "float64", "boolean": "bool",
	"timestamp": "time.Time", "blob": "[]byte",
}

// elementType is the Go type of a value inside of a list or a map.
func (m *model) elementType(name string) string {
	s := m.shapes[name]
	switch s.Type {
	case "structure":
		return name
	case "string":
		if len(s.Enum) > 0 {
			return name
		}
		return "string"
	case "list":
		return "[]" + m.elementType(s.Element)
	case "map":
		return "map[string]" + m.elementType(s.Value)
	default:
		return scalars[s.Type]
	}
}

// fieldType is the Go type of a structure's member.
func (m *model) fieldType(holder *shape, mem member) string {
	t := m.elementType(mem.shape)
	if m.clearable(holder, mem) {
		return "Opt[" + t + "]"
	}
	switch m.shapes[mem.shape].Type {
	case "structure":
		return "*" + t
	case "integer", "long", "float", "double", "boolean":
		return "Opt[" + t + "]"
	default:
		return t
	}
}

// clearable reports whether a member is a string that an update may set to the empty one, which differs from leaving it
// as it is.
func (m *model) clearable(holder *shape, mem member) bool {
	target := m.shapes[mem.shape]
	return strings.HasPrefix(holder.name, "Update") && strings.HasSuffix(holder.name, "Input") &&
		target.Type == "string" && !holder.requires(mem.name) && takesEmpty(target)
}
