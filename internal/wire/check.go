package wire

import "unsafe"

// check notes what is wrong with the structure at p.
func (s *structure) check(c *checker, p unsafe.Pointer) {
	for i := range s.fields {
		f := &s.fields[i]
		if at := f.find(p); at != nil {
			f.check(c, at)
		}
	}
}

// check notes what is wrong with the value at p of a member that is present.
func (f *field) check(c *checker, p unsafe.Pointer) {
	optional := f.bit == 0
	switch f.kind {
	case kindPointer:
		c.enter(f.label)
		f.structure.check(c, *(*unsafe.Pointer)(p))
		c.leave()
	case kindList:
		// Some clients send an empty list for an absent one; only where the member is required does a minimum bind.
		if list := (*slice)(p); list.len > 0 || !optional {
			f.checkList(c, f.label, list)
		}
	case kindMap:
		f.checkMap(c, f.label, *(*unsafe.Pointer)(p), optional)
	default:
		f.checkScalar(c, f.label, p)
	}
}

// checkScalar notes what is wrong with the string, number or blob at p.
func (v *value) checkScalar(c *checker, name string, p unsafe.Pointer) {
	if v.text != nil {
		c.text(name, *(*string)(p), v.text)
	}
	if v.bounds == nil {
		return
	}
	switch v.kind {
	case kindInt32:
		c.number(name, float64(*(*int32)(p)), v.bounds)
	case kindInt64:
		c.number(name, float64(*(*int64)(p)), v.bounds)
	case kindFloat32:
		c.number(name, float64(*(*float32)(p)), v.bounds)
	case kindFloat64:
		c.number(name, *(*float64)(p), v.bounds)
	case kindBlob:
		c.size(name, (*slice)(p).len, "bytes", v.bounds)
	}
}

// checkElement notes what is wrong with the element of a list or a map at p.
func (v *value) checkElement(c *checker, p unsafe.Pointer) {
	if v.kind == kindStruct {
		v.structure.check(c, p)
	} else {
		v.checkScalar(c, "", p)
	}
}

func (v *value) checkList(c *checker, name string, list *slice) {
	if v.bounds != nil {
		c.size(name, list.len, "members", v.bounds)
	}
	c.enter(name)
	for i := range list.len {
		c.item(i)
		v.element.checkElement(c, list.at(i, v.element.width))
	}
	c.leave()
}

func (v *value) checkMap(c *checker, name string, m unsafe.Pointer, optional bool) {
	entries, size, value := v.entries.sorted(m)
	if v.bounds != nil && (entries.len > 0 || !optional) {
		c.size(name, entries.len, "members", v.bounds)
	}
	c.enter(name)
	for i := range entries.len {
		at := entries.at(i, size)
		key := *(*string)(at)
		if v.keys != nil {
			c.entryKey(key)
			c.checkText("", key, v.keys)
		}
		c.entry(key)
		v.element.checkElement(c, unsafe.Add(at, value))
	}
	c.leave()
}
