package main

// constrained reports whether checking a value of a shape can find anything.
func (m *model) constrained(name string) bool {
	s := m.shapes[name]
	if s.hasTextRule() || m.hasRangeRule(s) {
		return true
	}
	for _, inner := range s.inner() {
		if m.constrained(inner) {
			return true
		}
	}
	return false
}

// writeValidation declares the checks of all that a request can hold.
func writeValidation(m *model, s *source) error {
	direct := make(map[string]bool)
	for _, op := range m.operations {
		direct[op.In] = true
	}
	for _, shape := range m.ofType("structure", "list", "map") {
		if !m.inputs[shape.name] || !direct[shape.name] && !m.constrained(shape.name) {
			continue
		}
		switch shape.Type {
		case "structure":
			m.writeStructCheck(s, shape)
		case "list":
			m.writeListCheck(s, shape)
		case "map":
			m.writeMapCheck(s, shape)
		}
	}
	return nil
}

func (m *model) writeStructCheck(s *source, shape *shape) {
	var body source
	for _, mem := range shape.Members {
		if m.constrained(mem.shape) {
			m.writeMemberCheck(&body, shape, mem)
		}
	}
	if body.body.Len() == 0 {
		s.p("\nfunc (*%s) validate(*checker) {}", shape.name)
		return
	}
	s.p("\nfunc (v *%s) validate(c *checker) {\n%s}", shape.name, body.body.String())
}

func (m *model) writeMemberCheck(s *source, holder *shape, mem member) {
	target := m.shapes[mem.shape]
	field, name := "v."+mem.name, lower(mem.name)
	switch target.Type {
	case "string":
		if m.clearable(holder, mem) {
			field += `.Or("")`
		}
		s.p("c.text(%q, %s, &rule%s)", name, m.asString(mem.shape, field), mem.shape)
	case "structure":
		s.p("if %s != nil {\nc.enter(%q)\n%s.validate(c)\nc.leave()\n}", field, name, field)
	case "list", "map":
		// Some clients send an empty list for an absent one; only where the
		// member is required does a minimum bind.
		condition := "len(%s) > 0"
		if holder.requires(mem.name) {
			condition = "%s != nil"
		}
		s.p("if "+condition+" {\nc.check%s(%q, %s)\n}", field, mem.shape, name, field)
	case "blob":
		s.p("if %s != nil {\nc.size(%q, len(%s), \"bytes\", &rule%s)\n}", field, name, field, mem.shape)
	default:
		s.p("number(c, %q, %s, &rule%s)", name, field, mem.shape)
	}
}

// asString converts a string or a value of an enumeration to a string.
func (m *model) asString(shape, expr string) string {
	if len(m.shapes[shape].Enum) > 0 {
		return "string(" + expr + ")"
	}
	return expr
}

func (m *model) writeListCheck(s *source, shape *shape) {
	s.p("\nfunc (c *checker) check%s(name string, list %s) {", shape.name, m.elementType(shape.name))
	if m.hasRangeRule(shape) {
		s.p("c.size(name, len(list), \"members\", &rule%s)", shape.name)
	}
	if m.constrained(shape.Element) {
		s.p("c.enter(name)\nfor i := range list {\nc.item(i)")
		if m.shapes[shape.Element].Type == "structure" {
			s.p("list[i].validate(c)")
		} else {
			s.p("c.text(\"\", %s, &rule%s)", m.asString(shape.Element, "list[i]"), shape.Element)
		}
		s.p("}\nc.leave()")
	}
	s.p("}")
}

func (m *model) writeMapCheck(s *source, shape *shape) {
	s.p("\nfunc (c *checker) check%s(name string, entries %s) {", shape.name, m.elementType(shape.name))
	if m.hasRangeRule(shape) {
		s.p("c.size(name, len(entries), \"members\", &rule%s)", shape.name)
	}
	s.p("c.enter(name)\nfor _, key := range slices.Sorted(maps.Keys(entries)) {")
	if m.shapes[shape.Key].hasTextRule() {
		s.p("c.entryKey(key)\nc.checkText(\"\", key, &rule%s)", shape.Key)
	}
	if m.constrained(shape.Value) {
		s.p("c.entry(key)")
		switch m.shapes[shape.Value].Type {
		case "structure":
			s.p("value := entries[key]\nvalue.validate(c)")
		case "string":
			s.p("c.text(\"\", %s, &rule%s)", m.asString(shape.Value, "entries[key]"), shape.Value)
		default:
			s.p("number(c, \"\", Some(entries[key]), &rule%s)", shape.Value)
		}
	}
	s.p("}\nc.leave()\n}")
}
