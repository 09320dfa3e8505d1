package remote

import (
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/internal/wire"
)

// convert returns a shape of the SDK as the one of package wire with the same members, or the reverse; nil for nil. A
// pointer of the SDK is a text or an Opt of package wire, where absent is "" or not set; timestamps are in UTC and
// milliseconds, absent ones zero. Members that To lacks are left out: a test finds those that it should have.
func convert[To, From any](from *From) *To {
	if from == nil {
		return nil
	}
	to := new(To)
	assign(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem())
	return to
}

// assign converts one value.
func assign(to, from reflect.Value) {
	switch v := to.Addr().Interface().(type) {
	case *wire.Opt[int32]:
		*v = optional(from.Interface().(*int32))
	case *wire.Opt[float32]:
		*v = optional(from.Interface().(*float32))
	case *wire.Opt[float64]:
		*v = optional(from.Interface().(*float64))
	case **int32:
		*v = number(from.Interface().(wire.Opt[int32]))
	case **float32:
		*v = number(from.Interface().(wire.Opt[float32]))
	case **float64:
		*v = number(from.Interface().(wire.Opt[float64]))
	case **string:
		if text := from.String(); text != "" {
			*v = &text
		}
	case *time.Time:
		if at := from.Interface().(*time.Time); at != nil {
			*v = at.UTC().Truncate(time.Millisecond)
		}
	default:
		assignKind(to, from)
	}
}

func assignKind(to, from reflect.Value) {
	switch {
	case to.Kind() == reflect.Struct:
		assignMembers(to, from)
	case slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, from.Kind()) && from.IsNil():
		return // absent
	case to.Kind() == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		assign(to.Elem(), from.Elem())
	case to.Kind() == reflect.Slice:
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			assign(to.Index(i), from.Index(i))
		}
	case to.Kind() == reflect.Map:
		to.Set(reflect.MakeMapWithSize(to.Type(), from.Len()))
		for key, value := range from.Seq2() {
			element := reflect.New(to.Type().Elem()).Elem()
			assign(element, value)
			to.SetMapIndex(key, element)
		}
	case to.Kind() == reflect.String:
		to.SetString(reflect.Indirect(from).String())
	default:
		to.Set(from)
	}
}

// assignMembers converts members by name. Both of a property are required, so they are never absent.
func assignMembers(to, from reflect.Value) {
	for field, member := range to.Fields() {
		if value := from.FieldByName(field.Name); field.IsExported() && value.IsValid() {
			assign(member, value)
		}
	}
	if p, ok := to.Addr().Interface().(*types.GameProperty); ok {
		property := from.Interface().(wire.GameProperty)
		p.Key, p.Value = &property.Key, &property.Value
	}
}

// number converts a number of package wire.
func number[T comparable](o wire.Opt[T]) *T {
	if v, ok := o.Get(); ok {
		return &v
	}
	return nil
}

// optional is the reverse of number.
func optional[T comparable](p *T) wire.Opt[T] {
	if p == nil {
		return wire.Opt[T]{}
	}
	return wire.Some(*p)
}
