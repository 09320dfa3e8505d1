package wire

import (
	"bytes"
	"encoding/json"
	"strings"
)

// An InputMember describes a member of an operation's input for people.
type InputMember struct {
	Name     string
	Type     string // "string", "list of string", "structure", …
	Required bool
	Values   []string // of an enumeration
}

// InputMembers returns the members of the input, in the order of the model.
func (o *OperationInfo) InputMembers() (members []InputMember) {
	for i := range o.input.fields {
		f := &o.input.fields[i]
		m := InputMember{Name: f.name, Type: f.typeName(), Required: f.bit != 0}
		if f.text != nil {
			m.Values = f.text.enum
		}
		members = append(members, m)
	}
	return members
}

// Sample returns an input in JSON that has the required members, with values to be replaced.
func (o *OperationInfo) Sample() []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, o.input.sample(nil), "", "  "); err != nil {
		panic(err) // of this package
	}
	return b.Bytes()
}

func (s *structure) sample(dst []byte) []byte {
	dst = append(dst, '{')
	separator := ""
	for i := range s.fields {
		if f := &s.fields[i]; f.bit != 0 {
			dst = append(append(dst, separator...), `"`+f.name+`":`...)
			dst = f.sample(dst)
			separator = ","
		}
	}
	return append(dst, '}')
}

// sample appends a value to be replaced: the first of an enumeration, an empty text, the smallest number, one element.
func (v *value) sample(dst []byte) []byte {
	switch v.kind {
	case kindText:
		if v.text != nil && len(v.text.enum) > 0 {
			return append(dst, `"`+v.text.enum[0]+`"`...)
		}
	case kindBool:
		return append(dst, "false"...)
	case kindInt32, kindInt64, kindFloat32, kindFloat64, kindTime:
		return append(dst, '1')
	case kindList:
		return append(v.element.sample(append(dst, '[')), ']')
	case kindMap:
		return append(dst, "{}"...)
	case kindStruct, kindPointer:
		return v.structure.sample(dst)
	}
	return append(dst, `""`...)
}

// typeName returns the type for people.
func (v *value) typeName() string {
	switch v.kind {
	case kindBool:
		return "boolean"
	case kindTime:
		return "time in seconds since 1970"
	case kindInt32, kindInt64:
		return "whole number"
	case kindFloat32, kindFloat64:
		return "number"
	case kindBlob:
		return "Base64"
	case kindList:
		return "list of " + strings.TrimPrefix(v.element.typeName(), "a ")
	case kindMap:
		return "map"
	case kindStruct, kindPointer:
		return v.structure.typ.Name()
	}
	return "text"
}
