package wire

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// A structure is the table of a structure of the model: all that reading, writing and checking its values needs. It is
// made from the Go type and its tags when the program starts, and does not change afterwards.
//
// Values are reached by their addresses and the offsets of their fields. An address that a method of a structure, field
// or value takes is always that of a value of the type from which the table was made.
type structure struct {
	typ      reflect.Type
	fields   []field // in the order of the model
	required uint64  // the bits of the fields that are required

	tags, tagKeys *field // of inputs that tag a resource, or take tags away
}

// find returns the field of a member; nil if there is none.
func (s *structure) find(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

// A field is a member of a structure.
type field struct {
	json     prefix  // a comma, the name, a colon
	cbor     prefix  // the name
	offset   uintptr // from the structure's start
	told     uintptr // from the field's start: where it says that the member is present
	presence presence
	value
	name  string // as the model has it
	label string // as messages show it
	bit   uint64 // in structure.required; 0: optional
}

// A presence is how a field says that its member is present.
type presence uint8

const (
	// a word that is not 0: the length of a string, the pointer with which slices and maps begin
	ifWord    presence = iota
	ifSet              // an Opt
	ifNotZero          // a timestamp
	always             // a required string that may be empty
)

// A value is what a field, an element of a list or a value of a map holds.
type value struct {
	kind      kind
	typ       reflect.Type
	width     uintptr    // bytes
	text      *textRule  // of a string
	bounds    *rangeRule // of a number, or of how many elements or bytes there are
	keys      *textRule  // of the keys of a map
	element   *value     // of a list or a map
	structure *structure
	entries   mapType
}

// A kind is the type of a value in the model and in Go.
type kind uint8

const (
	kindText kind = iota // string, or an enumeration
	kindBool             // bool
	kindTime             // time.Time

	kindInt32   // int32; this and those up to kindMap may have bounds
	kindInt64   // int64
	kindFloat32 // float32
	kindFloat64 // float64
	kindBlob    // []byte

	kindList    // slice of strings, structures, numbers or times; this and the next hold other values
	kindMap     // map by string
	kindStruct  // structure, as an element
	kindPointer // pointer to a structure, as a member
)

// kinds are the kinds by the Go kinds that tell them.
var kinds = map[reflect.Kind]kind{
	reflect.String: kindText, reflect.Bool: kindBool, reflect.Int32: kindInt32, reflect.Int64: kindInt64,
	reflect.Float32: kindFloat32, reflect.Float64: kindFloat64, reflect.Slice: kindList, reflect.Map: kindMap,
	reflect.Struct: kindStruct, reflect.Pointer: kindPointer,
}

// A shapeRule holds the constraints of a shape of the model that is not a structure.
type shapeRule struct {
	text         *textRule  // strings
	bounds       *rangeRule // numbers, blobs, lists and maps
	key, element string     // the shapes of what a list or a map holds, if they have constraints
}

// structures are the tables by type. Only the package's initialization adds to them.
var structures = make(map[reflect.Type]*structure)

// structureOf returns the table of a type. It panics at a type or a tag that is not one of this package's.
func structureOf(t reflect.Type) *structure {
	if s := structures[t]; s != nil {
		return s
	}
	s := &structure{typ: t, fields: make([]field, t.NumField())}
	structures[t] = s
	for i := range s.fields {
		f, err := fieldOf(t.Field(i))
		if err != nil {
			panic(fmt.Sprintf("wire: %s.%s: %v", t.Name(), t.Field(i).Name, err))
		}
		f.bit <<= i
		s.required |= f.bit
		s.fields[i] = f
	}
	if s.tags = s.find("Tags"); s.tags != nil && s.tags.typ != reflect.TypeFor[[]Tag]() {
		s.tags = nil
	}
	s.tagKeys = s.find("TagKeys")
	return s
}

// fieldOf describes a field. Its tag is
//
//	wire:"Shape,required,empty"
//
// Shape is the shape of the model whose constraints hold; it is left out if there are none, and of an enumeration,
// whose type has its name. required is there if the member is required, and empty if it is a string that is written
// even when it is empty. Models written by hand have no shapes with constraints: there, max=N limits a string to 1 to N
// characters and a list to N elements.
func fieldOf(s reflect.StructField) (f field, err error) {
	shape, options, _ := strings.Cut(s.Tag.Get("wire"), ",")
	f = field{name: s.Name, label: strings.ToLower(s.Name[:1]) + s.Name[1:], offset: s.Offset}
	t := s.Type
	if opt, ok := reflect.Zero(t).Interface().(optional); ok {
		t, f.told = opt.layout()
		f.presence = ifSet
	}
	if f.value, err = valueOf(t, shape); err != nil {
		return f, err
	}
	switch {
	case f.kind == kindTime:
		f.presence = ifNotZero
	case f.kind == kindText && f.presence == ifWord:
		f.told = unsafe.Sizeof(uintptr(0)) // the length is behind the pointer
	}
	for option := range strings.SplitSeq(options, ",") {
		switch {
		case option == "required":
			f.bit = 1
		case option == "empty" && f.kind == kindText && f.presence == ifWord:
			f.presence = always
		case strings.HasPrefix(option, "max=") && f.limit(option[len("max="):]):
		case option != "":
			return f, fmt.Errorf("no option %q for %s", option, s.Type)
		}
	}
	if f.json, err = prefixOf([]byte(`,"` + f.name + `":`)); err == nil {
		f.cbor, err = prefixOf(appendCBORText(nil, f.name))
	}
	return f, err
}

// limit sets the constraints of a string or a list whose tag has max=N, and reports whether it could.
func (v *value) limit(text string) bool {
	most, err := strconv.Atoi(text)
	switch {
	case err != nil || most <= 0:
		return false
	case v.kind == kindText:
		v.text = &textRule{min: 1, max: most}
	case v.kind == kindList:
		v.bounds = &rangeRule{max: bound(float64(most))}
	default:
		return false
	}
	return true
}

// valueOf describes the values of a type with the constraints of a shape.
func valueOf(t reflect.Type, shape string) (v value, err error) {
	v = value{typ: t, width: t.Size()}
	var known bool
	switch v.kind, known = kinds[t.Kind()]; {
	case t == reflect.TypeFor[time.Time]():
		v.kind = kindTime
	case t == reflect.TypeFor[[]byte]():
		v.kind = kindBlob
	case v.kind == kindStruct:
		v.structure = structureOf(t)
	case v.kind == kindPointer && t.Elem().Kind() == reflect.Struct:
		v.structure = structureOf(t.Elem())
	case !known || v.kind == kindPointer:
		return v, fmt.Errorf("no member is a %s", t)
	}
	if v.kind == kindText && t != reflect.TypeFor[string]() {
		shape = t.Name()
	}
	rule, known := rules[shape]
	if shape != "" && !known {
		return v, fmt.Errorf("no shape %s has constraints", shape)
	}
	if rule.text != nil && v.kind != kindText || rule.bounds != nil && (v.kind < kindInt32 || v.kind > kindMap) {
		return v, fmt.Errorf("the constraints of shape %s are not for %s", shape, t)
	}
	v.text, v.bounds = rule.text, rule.bounds
	if v.kind == kindList || v.kind == kindMap {
		err = v.hold(rule)
	}
	return v, err
}

// hold describes what a list or a map holds.
func (v *value) hold(rule shapeRule) error {
	element, err := valueOf(v.typ.Elem(), rule.element)
	if err != nil {
		return err
	}
	v.element, v.keys = &element, rules[rule.key].text
	known := element.kind == kindText || element.kind == kindStruct || element.kind == kindFloat64 ||
		element.kind == kindTime
	if v.kind == kindMap {
		v.entries, known = mapTypes[v.typ]
	}
	if !known {
		return fmt.Errorf("no member is a %s", v.typ)
	}
	return nil
}

// find returns where the value of a field is in the structure at p, nil if it is absent.
func (f *field) find(p unsafe.Pointer) unsafe.Pointer {
	p = unsafe.Add(p, f.offset)
	if f.presence == ifWord { // most are; the others are apart so that this is compiled inline
		if *(*uintptr)(unsafe.Add(p, f.told)) == 0 {
			return nil
		}
		return p
	}
	return f.findOther(p)
}

func (f *field) findOther(p unsafe.Pointer) unsafe.Pointer {
	if f.presence == ifSet && !*(*bool)(unsafe.Add(p, f.told)) || f.presence == ifNotZero && (*time.Time)(p).IsZero() {
		return nil
	}
	return p
}

// maxPrefix is how many bytes a prefix has at most.
const maxPrefix = 47

// A prefix is what is written before a value. Its size is fixed, so that it is copied without a call: that is a tenth
// of what writing a structure takes.
type prefix struct {
	text [maxPrefix]byte
	len  uint8
}

func prefixOf(text []byte) (p prefix, err error) {
	if p.len = uint8(copy(p.text[:], text)); int(p.len) < len(text) {
		err = fmt.Errorf("a name of %d bytes needs a larger prefix", len(text))
	}
	return p, err
}

// append appends the prefix. It overwrites the bytes behind it, too, as far as maxPrefix reaches.
func (p *prefix) append(b []byte) []byte {
	n := len(b)
	b = slices.Grow(b, maxPrefix)
	*(*[maxPrefix]byte)(b[n : n+maxPrefix]) = p.text
	return b[:n+int(p.len)]
}

// A slice is how a slice of any type lies in memory.
type slice struct {
	first    unsafe.Pointer
	len, cap int
}

// at returns where element i is; width is the size of an element.
func (s *slice) at(i int, width uintptr) unsafe.Pointer { return unsafe.Add(s.first, uintptr(i)*width) }
