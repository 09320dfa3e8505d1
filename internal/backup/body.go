package backup

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/event"
)

// A Body is what a fact says. Its JSON has the names of the fields as the code has them, and leaves out what is zero.
// Moments are RFC 3339, ids are as on the wire, bytes are in base64; text that is not UTF-8 becomes so.
type Body struct{ Value any }

// MarshalJSON writes it.
func (b Body) MarshalJSON() ([]byte, error) { return appendValue(nil, reflect.ValueOf(b.Value)) }

var (
	timeType     = reflect.TypeFor[event.Time]()
	stringerType = reflect.TypeFor[fmt.Stringer]()
)

func appendValue(dst []byte, v reflect.Value) ([]byte, error) {
	switch {
	case !v.IsValid():
		return append(dst, "null"...), nil
	case v.Type() == timeType:
		return appendJSON(dst, event.Time(v.Int()).Time().Format(time.RFC3339Nano))
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return appendValue(dst, v.Elem())
	case reflect.Struct:
		return appendStruct(dst, v)
	case reflect.Map:
		return appendMap(dst, v)
	case reflect.Array, reflect.Slice:
		return appendList(dst, v)
	case reflect.String:
		return appendJSON(dst, strings.ToValidUTF8(v.String(), string(utf8.RuneError)))
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return appendJSON(dst, fmt.Sprint(f))
		}
	}
	return appendJSON(dst, v.Interface())
}

func appendJSON(dst []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(dst, text...), err
}

// appendStruct writes the exported fields, those of embedded structs among them.
func appendStruct(dst []byte, v reflect.Value) (_ []byte, err error) {
	dst = append(dst, '{')
	if dst, err = appendFields(dst, v); err != nil {
		return nil, err
	}
	return append(dst, '}'), nil
}

func appendFields(dst []byte, v reflect.Value) (_ []byte, err error) {
	for field, value := range v.Fields() {
		switch {
		case field.Anonymous && value.Kind() == reflect.Struct:
			dst, err = appendFields(dst, value)
		case field.IsExported() && !value.IsZero():
			dst, err = appendMember(dst, field.Name, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func appendMember(dst []byte, name string, value reflect.Value) (_ []byte, err error) {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	if dst, err = appendJSON(dst, name); err != nil {
		return nil, err
	}
	return appendValue(append(dst, ':'), value)
}

// appendMap writes a map, sorted by its keys.
func appendMap(dst []byte, v reflect.Value) (_ []byte, err error) {
	type member struct {
		name  string
		value reflect.Value
	}
	var all []member
	for key, value := range v.Seq2() {
		all = append(all, member{strings.ToValidUTF8(fmt.Sprint(key), string(utf8.RuneError)), value})
	}
	slices.SortFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for _, m := range all {
		if dst, err = appendMember(dst, m.name, m.value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendList writes a list; bytes are a text.
func appendList(dst []byte, v reflect.Value) (_ []byte, err error) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return appendBytes(dst, v)
	}
	dst = append(dst, '[')
	for i, item := range v.Seq2() {
		if i.Int() > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, item); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendBytes writes an id as its type does, another array in hexadecimal, and a slice in base64.
func appendBytes(dst []byte, v reflect.Value) ([]byte, error) {
	if v.Kind() == reflect.Slice {
		return appendJSON(dst, base64.StdEncoding.EncodeToString(v.Bytes()))
	}
	if v.Type().Implements(stringerType) {
		return appendJSON(dst, v.Interface().(fmt.Stringer).String())
	}
	data := make([]byte, v.Len())
	reflect.Copy(reflect.ValueOf(data), v)
	return appendJSON(dst, hex.EncodeToString(data))
}
