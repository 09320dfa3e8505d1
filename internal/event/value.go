package event

import (
	"errors"
	"fmt"
	"reflect"
)

// A value is a command, or the answer to one, that nodes send each other. It is a CBOR array of two: the number of its
// type, and a map of its fields, or null for a nil pointer. Types and fields are numbered like those of facts. A value
// exists during a call only, so it must be readable by the release before and the one after.

// AppendValue appends a value of one of the Set's types, or a pointer to one, to dst. It fails for a type outside the
// Set.
func (s *Set) AppendValue(dst []byte, v any) ([]byte, error) {
	m := s.types[reflect.TypeOf(v)]
	if m == nil {
		return nil, fmt.Errorf("type %T has no number", v)
	}
	dst = appendHead(append(dst, majorArray|2), majorUint, m.number)
	if dataWord(v) == nil {
		return append(dst, cborNull), nil
	}
	return m.Append(dst, v), nil
}

// NextValue decodes the first value of data, a pointer to its type, and returns the rest. ErrUnknown is in the chain of
// the error for a number outside the Set.
func (s *Set) NextValue(data []byte) (v any, rest []byte, err error) {
	if len(data) == 0 || data[0] != majorArray|2 {
		return nil, nil, errors.New("value does not begin with an array of two")
	}
	number, at := readHead(data, 1, majorUint)
	if at < 0 {
		return nil, nil, errors.New("value number: not a number")
	}
	m := s.numbers[number]
	if m == nil {
		return nil, nil, fmt.Errorf("%w: value number %d", ErrUnknown, number)
	}
	rest = data[at:]
	if len(rest) > 0 && rest[0] == cborNull {
		return reflect.Zero(reflect.PointerTo(m.typ)).Interface(), rest[1:], nil
	}
	return m.next(rest)
}

// Deref returns the value behind a pointer that NextValue returned; ok is false for nil.
func Deref(v any) (value any, ok bool) {
	p := reflect.ValueOf(v)
	if p.IsNil() {
		return nil, false
	}
	return p.Elem().Interface(), true
}
