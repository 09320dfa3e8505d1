package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A codec writes the readers and writers of one protocol. Those of both have the
// same form; the hand-written functions that they call differ.
type codec struct {
	protocol string                     // as part of names
	reader   string                     // the type that reads
	name     string                     // the name of the member at hand, as a string
	prefix   func(member string) string // appends a member's name to b
	scalar   map[string]string          // appends a scalar, the second argument, to the first
}

var jsonCodec = codec{
	protocol: "JSON",
	reader:   "jsonReader",
	name:     "d.name",
	prefix:   func(member string) string { return fmt.Sprintf("append(b, `,%q:`...)", member) },
	scalar: map[string]string{
		"string":    "appendJSONText(%s, %s)",
		"integer":   "strconv.AppendInt(%s, int64(%s), 10)",
		"long":      "strconv.AppendInt(%s, %s, 10)",
		"double":    "appendJSONFloat(%s, %s, 64)",
		"float":     "appendJSONFloat(%s, float64(%s), 32)",
		"boolean":   "strconv.AppendBool(%s, %s)",
		"timestamp": "appendJSONTime(%s, %s)",
		"blob":      "appendJSONBlob(%s, %s)",
	},
}

var cborCodec = codec{
	protocol: "CBOR",
	reader:   "cborReader",
	name:     "string(d.name)",
	prefix: func(member string) string {
		if len(member) < 24 {
			return fmt.Sprintf(`append(b, "\x%02x"+%q...)`, 0x60|len(member), member)
		}
		return fmt.Sprintf(`append(b, "\x78\x%02x"+%q...)`, len(member), member)
	},
	scalar: map[string]string{
		"string":    "appendCBORText(%s, %s)",
		"integer":   "appendCBORInt(%s, int64(%s))",
		"long":      "appendCBORInt(%s, %s)",
		"double":    "appendCBORFloat(%s, %s)",
		"float":     "appendCBORFloat32(%s, %s)",
		"boolean":   "appendCBORBool(%s, %s)",
		"timestamp": "appendCBORTime(%s, %s)",
		"blob":      "appendCBORBlob(%s, %s)",
	},
}

// writeReaders declares how structures, lists and maps are read.
func (c codec) writeReaders(m *model, s *source) error {
	for _, shape := range m.ofType("structure", "list", "map") {
		switch shape.Type {
		case "structure":
			c.structReader(m, s, shape)
		case "list":
			c.listReader(m, s, shape)
		case "map":
			c.mapReader(m, s, shape)
		}
	}
	return nil
}

func (c codec) structReader(m *model, s *source, shape *shape) {
	s.p("\nfunc (v *%s) decode%s(d *%s) {", shape.name, c.protocol, c.reader)
	if len(shape.Required) > 0 {
		s.p("var seen uint")
	}
	s.p("for left := d.openObject(); d.nextMember(&left); {")
	if len(shape.Members) == 0 {
		s.p("d.skip()\n}\n}")
		return
	}
	s.p("switch %s {", c.name)
	for _, mem := range shape.Members {
		s.p("case %q:", mem.name)
		c.readMember(m, s, shape, mem)
		if i := slices.Index(shape.Required, mem.name); i >= 0 {
			s.p("seen |= 1 << %d", i)
		}
	}
	s.p("default:\nd.skip()\n}\n}")
	if n := len(shape.Required); n > 0 {
		names := make([]string, n)
		for i, name := range shape.Required {
			names[i] = strconv.Quote(lower(name))
		}
		s.p("if seen != 1<<%d-1 {\nd.require(seen, %s)\n}", n, strings.Join(names, ", "))
	}
	s.p("}")
}

func (c codec) readMember(m *model, s *source, holder *shape, mem member) {
	target := m.shapes[mem.shape]
	field, name := "v."+mem.name, lower(mem.name)
	if m.clearable(holder, mem) {
		s.p("%s = Some(%s)", field, m.readScalar(mem.shape, name))
		return
	}
	switch target.Type {
	case "structure":
		s.p("d.enter(%q)\n%s = new(%s)\n%s.decode%s(d)\nd.leave()", name, field, mem.shape, field, c.protocol)
	case "list", "map":
		s.p("d.enter(%q)\n%s = d.read%s()\nd.leave()", name, field, mem.shape)
	case "string", "timestamp", "blob":
		s.p("%s = %s", field, m.readScalar(mem.shape, name))
	default:
		s.p("%s = Some(%s)", field, m.readScalar(mem.shape, name))
	}
}

// readScalar is the call that reads a scalar.
func (m *model) readScalar(shape, name string) string {
	switch s := m.shapes[shape]; s.Type {
	case "string":
		call := fmt.Sprintf("d.text(%q, %s)", name, m.rule(shape))
		if len(s.Enum) > 0 {
			return shape + "(" + call + ")"
		}
		return call
	case "timestamp":
		return fmt.Sprintf("d.time(%q)", name)
	case "blob":
		return fmt.Sprintf("d.blob(%q)", name)
	default:
		return fmt.Sprintf("d.%s(%q)", scalars[s.Type], name)
	}
}

// usual is how many elements a list has room for before it must grow, when its
// length is not known beforehand: all that the model allows, within reason.
func (m *model) usual(list *shape) int {
	most := 4
	if m.shapes[list.Element].Type == "string" {
		most = 32
	}
	if list.Max == nil {
		return 4
	}
	return min(most, int(*list.Max))
}

func (c codec) listReader(m *model, s *source, shape *shape) {
	t := m.elementType(shape.name)
	s.p("\nfunc (d *%s) read%s() %s {", c.reader, shape.name, t)
	s.p("left, room := d.openArray(%d)", m.usual(shape))
	s.p("list := make(%s, 0, room)", t)
	s.p("for i := 0; d.nextItem(&left); i++ {\nd.item(i)\nif d.null() {\nd.missing(\"\")\ncontinue\n}")
	if m.shapes[shape.Element].Type == "structure" {
		s.p("list = append(list, %s{})\nlist[len(list)-1].decode%s(d)", shape.Element, c.protocol)
	} else {
		s.p("list = append(list, %s)", m.readScalar(shape.Element, ""))
	}
	s.p("}\nd.whole()\nreturn list\n}")
}

func (c codec) mapReader(m *model, s *source, shape *shape) {
	t := m.elementType(shape.name)
	s.p("\nfunc (d *%s) read%s() %s {", c.reader, shape.name, t)
	s.p("entries := make(%s)", t)
	s.p("for left := d.openObject(); d.nextMember(&left); {\nkey := d.key()\nd.entry(key)")
	if m.shapes[shape.Value].Type == "structure" {
		s.p("var value %s\nvalue.decode%s(d)\nentries[key] = value", shape.Value, c.protocol)
	} else {
		s.p("entries[key] = %s", m.readScalar(shape.Value, ""))
	}
	s.p("}\nd.whole()\nreturn entries\n}")
}

// writeWriters declares how structures, lists and maps are written.
func (c codec) writeWriters(m *model, s *source) error {
	for _, shape := range m.ofType("structure", "list", "map") {
		switch shape.Type {
		case "structure":
			c.structWriter(m, s, shape)
		case "list":
			c.listWriter(m, s, shape)
		case "map":
			c.mapWriter(m, s, shape)
		}
	}
	return nil
}

func (c codec) structWriter(m *model, s *source, shape *shape) {
	isCBOR := c.protocol == "CBOR"
	if len(shape.Members) == 0 {
		text := "`{}`..."
		if isCBOR {
			text = "cborMap"
		}
		s.p("\nfunc (*%s) append%s(b []byte) []byte { return append(b, %s) }", shape.name, c.protocol, text)
		return
	}
	s.p("\nfunc (v *%s) append%s(b []byte) []byte {", shape.name, c.protocol)
	s.p("start := len(b)")
	if isCBOR {
		s.p("b = append(b, 0)\npairs := 0")
	}
	for _, mem := range shape.Members {
		c.writeMember(m, s, shape, mem)
	}
	if isCBOR {
		s.p("return closeCBORMap(b, start, pairs)\n}")
	} else {
		s.p("return closeJSON(b, start, '{', '}')\n}")
	}
}

// writeMember appends a member if it is present. A required string that may be
// empty is always present.
func (c codec) writeMember(m *model, s *source, holder *shape, mem member) {
	target := m.shapes[mem.shape]
	field := "v." + mem.name
	condition, value := field+" != nil", field
	switch target.Type {
	case "string":
		condition = field + ` != ""`
		switch {
		case holder.requires(mem.name) && takesEmpty(target):
			condition = ""
		case m.clearable(holder, mem):
			condition, value = "x, ok := "+field+".Get(); ok", "x"
		}
	case "timestamp":
		condition = "!" + field + ".IsZero()"
	case "integer", "long", "float", "double", "boolean":
		condition, value = "x, ok := "+field+".Get(); ok", "x"
	}
	if condition != "" {
		s.p("if %s {", condition)
	}
	s.p("b = %s", c.write(m, mem.shape, c.prefix(mem.name), value))
	if c.protocol == "CBOR" {
		s.p("pairs++")
	}
	if condition != "" {
		s.p("}")
	}
}

// write is the expression that appends a value to the bytes before it.
func (c codec) write(m *model, shape, before, value string) string {
	switch target := m.shapes[shape]; target.Type {
	case "structure":
		return fmt.Sprintf("%s.append%s(%s)", value, c.protocol, before)
	case "list", "map":
		return fmt.Sprintf("append%s%s(%s, %s)", c.protocol, shape, before, value)
	default:
		return fmt.Sprintf(c.scalar[target.Type], before, m.asString(shape, value))
	}
}

func (c codec) listWriter(m *model, s *source, shape *shape) {
	s.p("\nfunc append%s%s(b []byte, list %s) []byte {", c.protocol, shape.name, m.elementType(shape.name))
	if c.protocol == "CBOR" {
		s.p("b = appendCBORHead(b, cborArray, uint64(len(list)))")
		s.p("for i := range list {\nb = %s\n}\nreturn b\n}", c.write(m, shape.Element, "b", "list[i]"))
		return
	}
	s.p("start := len(b)")
	s.p("for i := range list {\nb = %s\n}", c.write(m, shape.Element, "append(b, ',')", "list[i]"))
	s.p("return closeJSON(b, start, '[', ']')\n}")
}

func (c codec) mapWriter(m *model, s *source, shape *shape) {
	s.p("\nfunc append%s%s(b []byte, entries %s) []byte {", c.protocol, shape.name, m.elementType(shape.name))
	before := "b"
	if c.protocol == "CBOR" {
		s.p("b = appendCBORHead(b, cborMap, uint64(len(entries)))")
	} else {
		s.p("start := len(b)")
		before = "append(b, ':')"
	}
	s.p("for _, key := range slices.Sorted(maps.Keys(entries)) {\nvalue := entries[key]")
	if c.protocol == "CBOR" {
		s.p("b = appendCBORText(b, key)")
	} else {
		s.p("b = appendJSONText(append(b, ','), key)")
	}
	s.p("b = %s\n}", c.write(m, shape.Value, before, "value"))
	if c.protocol == "CBOR" {
		s.p("return b\n}")
	} else {
		s.p("return closeJSON(b, start, '{', '}')\n}")
	}
}
