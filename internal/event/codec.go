package event

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// A Codec encodes and decodes the values of one struct type. NewCodec reads the type and its tags into a table once;
// Append and Read walk the table and access fields by their offsets, without reflection.
//
// A field is encoded if it has a tag `cbor:"N,keyasint"`, N being its key; with omitempty or omitzero it is left out if
// it is zero. An embedded struct without a tag adds its own fields. A tag `often:"A|B"` lists frequent values of a
// string field: decoding them allocates nothing.
type Codec struct {
	body item
	name string
}

// NewCodec returns the codec of a struct type. It panics if a field has no key or an unsupported type, which is a
// programming error.
func NewCodec(t reflect.Type) *Codec {
	c := &Codec{name: t.Name(), body: itemOf(t, map[reflect.Type]*parts{})}
	if c.body.op != opStruct || dataWord(reflect.Zero(t).Interface()) == nil {
		panic(fmt.Sprintf("event: %v is not a struct, or has a single field that is a pointer", t))
	}
	return c
}

// Append appends the bytes of v, a value of the type or a pointer to one, to dst. They are those that the cbor library
// encodes by the same tags: fields by key, everything in its shortest form.
func (c *Codec) Append(dst []byte, v any) []byte { return c.body.append(dst, dataWord(v)) }

// Read decodes the first item of data into v, a pointer to a zero value, and returns the rest. It accepts only what
// Append appends. For anything else, such as an unknown field or another order, ok is false and v is invalid: the cbor
// library has to decode the item then, so that bytes have one meaning and one set of errors.
func (c *Codec) Read(data []byte, v any) (rest []byte, ok bool) {
	at := c.body.read(data, 0, dataWord(v))
	return data[max(at, 0):], at >= 0
}

// maxFields limits the keys and the number of fields of a struct: each takes one byte.
const maxFields = 255

// dataWord returns the second word of an interface. It points to the struct, whether v holds the struct or a pointer to
// it. A struct that is a single pointer is stored in the word itself; NewCodec rejects it.
func dataWord(v any) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1] }

// An op is a way to encode a Go value.
type op uint8

const (
	opUint op = iota + 1
	opInt
	opBool
	opFloat
	opText
	opOften   // a text with frequent values
	opBytes   // a slice
	opFixed   // an array of bytes
	opNumbers // map[string]float64
	opStruct
	opPointer
	opList
	opPointers // a list of pointers to structs
)

// An item describes how a Go type is encoded.
type item struct {
	op   op
	size uintptr // of a value in bytes
	*parts
}

// parts hold what only some ops need. Items of the same struct type share them.
type parts struct {
	fields []field      // of opStruct, by key
	often  []string     // of opOften
	elem   item         // of opPointer, opList and opPointers
	memory reflect.Type // what reading allocates: the target of opPointer; a slice of elem for opList and opPointers
}

type field struct {
	item
	key    byte
	omit   omit
	offset uintptr
}

// omit is the condition for leaving out a field.
type omit uint8

const (
	omitNever omit = iota
	omitZero
	omitEmpty // like omitZero, and if it is an empty list or map
)

// itemOf returns the item of a type; structs holds the parts of the struct types seen so far.
func itemOf(t reflect.Type, structs map[reflect.Type]*parts) item {
	x := item{size: t.Size()}
	switch t.Kind() {
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		x.op = opUint
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		x.op = opInt
	case reflect.Bool:
		x.op = opBool
	case reflect.Float64:
		x.op = opFloat
	case reflect.String:
		x.op = opText
	case reflect.Struct:
		x.op = opStruct
		if structs[t] == nil {
			structs[t] = &parts{fields: fieldsOf(t, 0, structs)}
		}
		x.parts = structs[t]
	default:
		x.ofParts(t, structs)
	}
	return x
}

// ofParts completes the item of a type that is composed of others.
func (x *item) ofParts(t reflect.Type, structs map[reflect.Type]*parts) {
	switch kind := t.Kind(); {
	case t.ConvertibleTo(reflect.TypeFor[map[string]float64]()):
		x.op = opNumbers
	case kind == reflect.Array && t.Elem().Kind() == reflect.Uint8:
		x.op = opFixed
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		x.op = opBytes
	case kind == reflect.Pointer:
		x.op, x.parts = opPointer, &parts{memory: t.Elem(), elem: itemOf(t.Elem(), structs)}
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Pointer:
		target := t.Elem().Elem()
		x.op, x.parts = opPointers, &parts{memory: reflect.SliceOf(target), elem: itemOf(target, structs)}
	case kind == reflect.Slice:
		x.op, x.parts = opList, &parts{memory: t, elem: itemOf(t.Elem(), structs)}
	default:
		panic(fmt.Sprintf("event: no codec for %v", t))
	}
}

// fieldsOf returns the fields of a struct by key. The struct is embedded at an offset of another, or at 0.
func fieldsOf(t reflect.Type, offset uintptr, structs map[reflect.Type]*parts) []field {
	fields := []field{}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("cbor")
		switch {
		case tag == "-" || tag == "" && !f.IsExported() && !f.Anonymous:
		case tag == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			fields = append(fields, fieldsOf(f.Type, offset+f.Offset, structs)...)
		default:
			fields = append(fields, fieldOf(t, f, offset, structs))
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return cmp.Compare(a.key, b.key) })
	for i := range fields[min(1, len(fields)):] {
		if fields[i].key == fields[i+1].key {
			panic(fmt.Sprintf("event: field number %d is used twice in %v", fields[i].key, t))
		}
	}
	return fields
}

func fieldOf(t reflect.Type, f reflect.StructField, offset uintptr, structs map[reflect.Type]*parts) field {
	options := strings.Split(f.Tag.Get("cbor"), ",")
	key, err := strconv.ParseUint(options[0], 10, 64)
	if err != nil || key >= maxFields || !slices.Contains(options, "keyasint") || !f.IsExported() {
		panic(fmt.Sprintf(`event: field %s of %v has no tag cbor:"N,keyasint" with a number below %d`,
			f.Name, t, maxFields))
	}
	field := field{key: byte(key), item: itemOf(f.Type, structs), offset: offset + f.Offset}
	if often := f.Tag.Get("often"); often != "" {
		field.op, field.parts = opOften, &parts{often: strings.Split(often, "|")}
	}
	switch {
	case slices.Contains(options, "omitempty"):
		field.omit = omitEmpty
	case slices.Contains(options, "omitzero"):
		field.omit = omitZero
	}
	return field
}
