// Package event turns facts into bytes and back: the journal's events and the
// snapshot's records.
//
// # Format
//
// A fact is a CBOR array of three: the number of its type, the number of its
// room (0 is the catalog), and a map of its fields. The fields' keys are the
// small integers of their `cbor:"N,keyasint"` tags. Both kinds of number are
// for ever: a type or field may be added, never renumbered, re-typed or
// reused, because events outlive the code that wrote them. A decoder ignores
// fields that it does not know. A golden file per type guards all of this.
//
// Commands and answers, which nodes send each other, are values: an array of two, without
// a room. They are numbered in the same way, in Sets of their own.
//
// A [Codec] per type follows from the tags. The cbor library decodes what a Codec does not
// encode, such as a field of a later release.
package event

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/fxamacker/cbor/v2"
)

// A Fact is one event, or one record of a snapshot, and the room it is about.
type Fact struct {
	Room uint32 // 0 is the catalog
	Body any    // a pointer to a type of the Set
}

// A Set knows the types of facts and their numbers. It is built at start and
// then only read.
type Set struct {
	numbers map[uint64]*member
	types   map[reflect.Type]*member // by the type and by the pointer to it
}

// A member is one type of a Set.
type member struct {
	Codec
	number uint64
	level  int
	typ    reflect.Type // a struct
}

// Entry is one type of a Set: its number, a nil pointer to the type, and the feature level
// from which on it may be written: 0 means 1, the level of all releases.
type Entry struct {
	Number uint64
	Type   any
	Level  int
}

// NewSet makes a Set of the given entries. It panics when a number or a type
// stands twice: that is a mistake in the program, not in its input.
func NewSet(groups ...[]Entry) *Set {
	s := &Set{numbers: map[uint64]*member{}, types: map[reflect.Type]*member{}}
	for _, e := range slices.Concat(groups...) {
		t := reflect.TypeOf(e.Type)
		if t.Kind() != reflect.Pointer {
			panic(fmt.Sprintf("event %d: %v is not a pointer to a struct", e.Number, t))
		}
		if s.numbers[e.Number] != nil {
			panic(fmt.Sprintf("event number %d stands twice", e.Number))
		}
		if s.types[t] != nil {
			panic(fmt.Sprintf("event type %v stands twice", t))
		}
		m := &member{Codec: *NewCodec(t.Elem()), number: e.Number, level: max(1, e.Level), typ: t.Elem()}
		s.numbers[e.Number], s.types[t], s.types[t.Elem()] = m, m, m
	}
	return s
}

// decMode decodes what a Codec does not accept.
var decMode = must(cbor.DecOptions{
	MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 24, DupMapKey: cbor.DupMapKeyQuiet,
	UTF8: cbor.UTF8DecodeInvalid, // what a peer was allowed to send must be readable for ever
}.DecMode())

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Append writes f behind buf. It fails for a type outside the Set.
func (s *Set) Append(buf *bytes.Buffer, f Fact) error {
	t := reflect.TypeOf(f.Body)
	m := s.types[t]
	if m == nil || t.Kind() != reflect.Pointer {
		return fmt.Errorf("event type %T has no number", f.Body)
	}
	dst := append(buf.AvailableBuffer(), majorArray|3)
	dst = appendHead(dst, majorUint, m.number)
	dst = appendHead(dst, majorUint, uint64(f.Room))
	buf.Write(m.Codec.Append(dst, f.Body))
	return nil
}

// ErrUnknown is in the chain of the error that Next returns for a number
// outside the Set: the bytes were written by a newer release.
var ErrUnknown = errors.New("unknown event type")

// Next reads the first fact of data and returns the rest.
func (s *Set) Next(data []byte) (Fact, []byte, error) {
	if len(data) == 0 || data[0] != majorArray|3 {
		return Fact{}, nil, errors.New("event does not begin with an array of three")
	}
	number, at := readHead(data, 1, majorUint)
	if at < 0 {
		return Fact{}, nil, errors.New("event number: not a number")
	}
	room, at := readHead(data, at, majorUint)
	if at < 0 || room > math.MaxUint32 {
		return Fact{}, nil, errors.New("event room: not a number of 32 bits")
	}
	m := s.numbers[number]
	if m == nil {
		return Fact{}, nil, fmt.Errorf("%w: number %d", ErrUnknown, number)
	}
	body, rest, err := m.next(data[at:])
	if err != nil {
		return Fact{}, nil, err
	}
	return Fact{Room: uint32(room), Body: body}, rest, nil
}

// next decodes the first body of data.
func (m *member) next(data []byte) (body any, rest []byte, err error) {
	body = reflect.New(m.typ).Interface()
	if rest, ok := m.Read(data, body); ok {
		return body, rest, nil
	}
	body = reflect.New(m.typ).Interface() // the first one may be half decoded
	if rest, err = decMode.UnmarshalFirst(data, body); err != nil {
		return nil, nil, fmt.Errorf("decode %s: %w", m.name, err)
	}
	return body, rest, nil
}

// Name is the name of the type of a fact's body, as logs and metrics show it.
func (s *Set) Name(body any) string {
	if m := s.types[reflect.TypeOf(body)]; m != nil {
		return m.name
	}
	return ""
}

// Entries lists the Set's types by number, for tests that hold one golden file each.
func (s *Set) Entries() map[uint64]reflect.Type {
	all := make(map[uint64]reflect.Type, len(s.numbers))
	for number, m := range s.numbers {
		all[number] = reflect.PointerTo(m.typ)
	}
	return all
}
