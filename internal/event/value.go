package event

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
)

// A value is what nodes send each other: a command, or the answer to one. It is a
// CBOR array of two: the number of its type, and a map of its fields, or null for a
// nil pointer. Types and fields are numbered as those of facts are. Values live no
// longer than a call, so what has to be read is what the release before and the
// one after write.

// AppendValue appends a value of one of the Set's types, or a pointer to one, behind
// dst. It fails for a type outside the Set.
func (s *Set) AppendValue(dst []byte, v any) ([]byte, error) {
	number, null, ok := s.numberOf(v)
	if !ok {
		return nil, fmt.Errorf("type %T has no number", v)
	}
	dst = appendHead(append(dst, majorArray|2), majorUint, number)
	if null {
		return append(dst, cborNull), nil
	}
	if quick, ok := v.(interface{ AppendCBOR(dst []byte) []byte }); ok {
		return quick.AppendCBOR(dst), nil
	}
	buf := bytes.NewBuffer(dst)
	if err := encMode.MarshalToBuffer(v, buf); err != nil {
		return nil, fmt.Errorf("encode %s: %w", s.names[number], err)
	}
	return buf.Bytes(), nil
}

// numberOf is the number of a value's type, and whether the value is a nil pointer.
func (s *Set) numberOf(v any) (number uint64, null, ok bool) {
	t := reflect.TypeOf(v)
	switch {
	case t == nil:
		return 0, false, false
	case t.Kind() == reflect.Pointer:
		null = reflect.ValueOf(v).IsNil()
	default:
		t = reflect.PointerTo(t)
	}
	number, ok = s.numbers[t]
	return number, null, ok
}

// NextValue reads the first value of data, a pointer to its type, and returns the
// rest. ErrUnknown is in the chain of the error for a number outside the Set.
func (s *Set) NextValue(data []byte) (v any, rest []byte, err error) {
	if len(data) == 0 || data[0] != majorArray|2 {
		return nil, nil, errors.New("value does not begin with an array of two")
	}
	number, rest, ok := readHead(data[1:], majorUint)
	if !ok {
		return nil, nil, errors.New("value's number: not a number")
	}
	t, ok := s.types[number]
	if !ok {
		return nil, nil, fmt.Errorf("%w: value number %d", ErrUnknown, number)
	}
	if len(rest) > 0 && rest[0] == cborNull {
		return reflect.Zero(t).Interface(), rest[1:], nil
	}
	v, rest, err = readBody(t, rest)
	if err != nil {
		return nil, nil, fmt.Errorf("decode %s: %w", s.names[number], err)
	}
	return v, rest, nil
}

// Pointed is what a pointer that NextValue returned points to; ok is false for nil.
func Pointed(v any) (value any, ok bool) {
	p := reflect.ValueOf(v)
	if p.IsNil() {
		return nil, false
	}
	return p.Elem().Interface(), true
}
