// Package event encodes and decodes facts: the journal's events and the snapshot's records.
//
// # Format
//
// A fact is a CBOR array of three: the number of its type, the number of its room (0 is the catalog), and a map of its
// fields. The fields' keys are the small integers of their `cbor:"N,keyasint"` tags. Types and fields may be added, but
// never renumbered, re-typed or reused, because events outlive the code that wrote them. A decoder ignores unknown
// fields. A golden file per type guards all of this.
//
// Commands and answers, which nodes send each other, are values: an array of two, without a room. They are numbered in
// the same way, in Sets of their own.
//
// A [Codec] per type follows from the tags. The cbor library decodes what a Codec does not encode, such as a field of a
// later release.
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

// A Fact is one event, or one record of a snapshot, with its room.
type Fact struct {
	Room uint32 // 0 is the catalog
	Body any    // a pointer to a type of the Set
}

// A Set maps the types of facts to their numbers. It is immutable.
type Set struct {
	numbers map[uint64]*member
	types   map[reflect.Type]*member // by the type and by the pointer to it
}

type member struct {
	Codec
	number uint64
	level  int
	typ    reflect.Type // a struct
}

// Entry is one type of a Set: its number, a nil pointer to the type, and the first feature level at which it may be
// written: 0 means 1, the level of all releases.
type Entry struct {
	Number uint64
	Type   any
	Level  int
}

// NewSet returns a Set of the given entries. It panics if a number or a type is used twice, which is a programming
// error.
func NewSet(groups ...[]Entry) *Set {
	s := &Set{numbers: map[uint64]*member{}, types: map[reflect.Type]*member{}}
	for _, e := range slices.Concat(groups...) {
		t := reflect.TypeOf(e.Type)
		if t.Kind() != reflect.Pointer {
			panic(fmt.Sprintf("event %d: %v is not a pointer to a struct", e.Number, t))
		}
		if s.numbers[e.Number] != nil {
			panic(fmt.Sprintf("event number %d is used twice", e.Number))
		}
		if s.types[t] != nil {
			panic(fmt.Sprintf("event type %v is used twice", t))
		}
		m := &member{Codec: *NewCodec(t.Elem()), number: e.Number, level: max(1, e.Level), typ: t.Elem()}
		s.numbers[e.Number], s.types[t], s.types[t.Elem()] = m, m, m
	}
	return s
}

// decMode decodes what a Codec does not accept.
var decMode = must(cbor.DecOptions{
	MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 24, DupMapKey: cbor.DupMapKeyQuiet,
	UTF8: cbor.UTF8DecodeInvalid, // accepted texts must stay readable
}.DecMode())

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Append appends f to buf. It fails for a type outside the Set.
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

// ErrUnknown is in the chain of the error of Next for a number outside the Set: a newer release wrote the bytes.
var ErrUnknown = errors.New("unknown event type")

// Next reads the first fact of data, and returns the rest.
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

// Name returns the name of the type of a fact's body, for logs and metrics.
func (s *Set) Name(body any) string {
	if m := s.types[reflect.TypeOf(body)]; m != nil {
		return m.name
	}
	return ""
}

// Entries lists the Set's types by number, for tests with one golden file each.
func (s *Set) Entries() map[uint64]reflect.Type {
	all := make(map[uint64]reflect.Type, len(s.numbers))
	for number, m := range s.numbers {
		all[number] = reflect.PointerTo(m.typ)
	}
	return all
}
