// Package jsonschema describes Go types as JSON schemas (draft 2020-12), by the rules of encoding/json.
package jsonschema

import (
	"encoding"
	"encoding/json"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// A Schema describes JSON values. The zero value allows all of them.
type Schema struct {
	Ref         string             `json:"$ref,omitempty"`
	Type        any                `json:"type,omitempty"` // a name, or a list of them
	Description string             `json:"description,omitempty"`
	Format      string             `json:"format,omitempty"`
	Encoding    string             `json:"contentEncoding,omitempty"`
	Minimum     *int               `json:"minimum,omitempty"`
	AnyOf       []*Schema          `json:"anyOf,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  *Schema            `json:"additionalProperties,omitempty"`
}

// Definitions are the schemas of named structs, to which others refer.
type Definitions struct {
	Prefix string // of references: "#/components/schemas/"
	// Input describes values that are decoded instead of encoded: no member is required.
	Input bool
	// ByName has the schemas by the names of the types. Several Definitions can share it.
	ByName map[string]*Schema

	names map[reflect.Type]string
}

// Of returns the schema of a type. Structs with names are added to the definitions.
func (d *Definitions) Of(t reflect.Type) *Schema {
	switch {
	case t.Kind() == reflect.Pointer:
		return d.Of(t.Elem())
	case t == reflect.TypeFor[time.Time]():
		return &Schema{Type: "string", Format: "date-time"}
	case t.Implements(reflect.TypeFor[json.Marshaler]()): // also json.RawMessage: any value
		return &Schema{}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return &Schema{Type: "string"}
	}
	zero := 0
	switch t.Kind() {
	case reflect.Struct:
		return d.reference(t)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &Schema{Type: "string", Encoding: "base64"}
		}
		items := d.Of(t.Elem())
		if t.Elem().Kind() == reflect.Pointer && items.Ref == "" {
			items = orNull(t.Elem(), items)
		}
		return &Schema{Type: "array", Items: items}
	case reflect.Map:
		return &Schema{Type: "object", Additional: d.Of(t.Elem())}
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &Schema{Type: "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &Schema{Type: "integer", Minimum: &zero}
	case reflect.Float32, reflect.Float64:
		return &Schema{Type: "number"}
	default: // an interface
		return &Schema{}
	}
}

// reference returns a reference to the schema of a struct, or that of one without a name.
func (d *Definitions) reference(t reflect.Type) *Schema {
	if t.Name() == "" {
		return d.object(t)
	}
	name, known := d.names[t]
	if !known {
		name = d.free(t)
		if d.names == nil {
			d.names = map[reflect.Type]string{}
		}
		d.names[t], d.ByName[name] = name, &Schema{} // before its members, which may refer to it
		*d.ByName[name] = *d.object(t)
	}
	return &Schema{Ref: d.Prefix + name}
}

// free returns a name for a type that no other has: its own; as that of an input with Body; with its package.
func (d *Definitions) free(t reflect.Type) string {
	name := exported(t.Name())
	if d.ByName[name] != nil && d.Input {
		name += "Body"
	}
	for d.ByName[name] != nil {
		name = exported(path.Base(t.PkgPath())) + name
	}
	return name
}

func exported(name string) string {
	r := []rune(name)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

func (d *Definitions) object(t reflect.Type) *Schema {
	s := &Schema{Type: "object", Properties: map[string]*Schema{}}
	d.addFields(s, t)
	slices.Sort(s.Required)
	return s
}

// addFields adds the fields of a struct, then those of embedded ones: of two with one name, the outer one is encoded.
func (d *Definitions) addFields(s *Schema, t reflect.Type) {
	var embedded []reflect.Type
	for f := range t.Fields() {
		tag, named := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && of.Kind() == reflect.Struct:
			embedded = append(embedded, of)
		case f.IsExported() || named && f.Anonymous:
			if name == "" {
				name = f.Name
			}
			if s.Properties[name] == nil {
				d.addField(s, name, f.Type, strings.Split(options, ","))
			}
		}
	}
	for _, of := range embedded {
		d.addFields(s, of)
	}
}

// addField adds a member. One that is always there can be null where Go has a nil.
func (d *Definitions) addField(s *Schema, name string, t reflect.Type, options []string) {
	field := d.Of(t)
	if slices.Contains(options, "string") {
		field = &Schema{Type: "string"}
	}
	optional := slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero")
	if !optional && !d.Input {
		s.Required = append(s.Required, name)
	}
	if !optional || d.Input {
		field = orNull(t, field)
	}
	s.Properties[name] = field
}

// orNull returns the schema of a member whose value may be nil.
func orNull(t reflect.Type, s *Schema) *Schema {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
	default:
		return s
	}
	if name, ok := s.Type.(string); ok {
		s.Type = []string{name, "null"}
	} else if s.Ref != "" {
		return &Schema{AnyOf: []*Schema{s, {Type: "null"}}}
	}
	return s
}
