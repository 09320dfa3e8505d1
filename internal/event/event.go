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
// The cbor library does it by the tags. Types of which there are many do the same
// on their own, with a MapWriter and a MapReader, in a fraction of the time.
package event

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"

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
	types   map[uint64]reflect.Type
	numbers map[reflect.Type]uint64
	names   map[uint64]string
	levels  map[uint64]int // of those above 1
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
	s := &Set{types: map[uint64]reflect.Type{}, numbers: map[reflect.Type]uint64{}, names: map[uint64]string{}, levels: map[uint64]int{}}
	for _, entries := range groups {
		for _, e := range entries {
			t := reflect.TypeOf(e.Type)
			if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
				panic(fmt.Sprintf("event %d: %v is not a pointer to a struct", e.Number, t))
			}
			if _, ok := s.types[e.Number]; ok {
				panic(fmt.Sprintf("event number %d stands twice", e.Number))
			}
			if _, ok := s.numbers[t]; ok {
				panic(fmt.Sprintf("event type %v stands twice", t))
			}
			s.types[e.Number] = t
			s.numbers[t] = e.Number
			s.names[e.Number] = t.Elem().Name()
			if e.Level > 1 {
				s.levels[e.Number] = e.Level
			}
		}
	}
	return s
}

var (
	// Sorted, so that the same fact has the same bytes: fields stand in the order of
	// their keys all the same, maps would not.
	encMode = must(cbor.EncOptions{Sort: cbor.SortBytewiseLexical, ShortestFloat: cbor.ShortestFloat16}.UserBufferEncMode())
	decMode = must(cbor.DecOptions{
		MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 24, DupMapKey: cbor.DupMapKeyQuiet,
		UTF8: cbor.UTF8DecodeInvalid, // what a peer was allowed to send must be readable for ever
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A mapBody encodes and decodes itself, with a MapWriter and a MapReader.
type mapBody interface {
	AppendCBOR(dst []byte) []byte
	// ReadCBOR reads the first item of data, and is not ok if that is not what
	// AppendCBOR appends; the body is worth nothing then. It is called on a zero body.
	ReadCBOR(data []byte) (rest []byte, ok bool)
}

// Append writes f behind buf. It fails for a type outside the Set.
func (s *Set) Append(buf *bytes.Buffer, f Fact) error {
	number, ok := s.numbers[reflect.TypeOf(f.Body)]
	if !ok {
		return fmt.Errorf("event type %T has no number", f.Body)
	}
	head := append(buf.AvailableBuffer(), majorArray|3)
	head = appendHead(head, majorUint, number)
	head = appendHead(head, majorUint, uint64(f.Room))
	if body, ok := f.Body.(mapBody); ok {
		buf.Write(body.AppendCBOR(head))
		return nil
	}
	buf.Write(head)
	if err := encMode.MarshalToBuffer(f.Body, buf); err != nil {
		return fmt.Errorf("encode %s: %w", s.names[number], err)
	}
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
	number, rest, ok := readHead(data[1:], majorUint)
	if !ok {
		return Fact{}, nil, errors.New("event number: not a number")
	}
	room, rest, ok := readHead(rest, majorUint)
	if !ok || room > math.MaxUint32 {
		return Fact{}, nil, errors.New("event room: not a number of 32 bits")
	}
	t, ok := s.types[number]
	if !ok {
		return Fact{}, nil, fmt.Errorf("%w: number %d", ErrUnknown, number)
	}
	body, rest, err := readBody(t, rest)
	if err != nil {
		return Fact{}, nil, fmt.Errorf("decode %s: %w", s.names[number], err)
	}
	return Fact{Room: uint32(room), Body: body}, rest, nil
}

// readBody reads the first body of data, which is of a pointer type.
func readBody(t reflect.Type, data []byte) (body any, rest []byte, err error) {
	body = reflect.New(t.Elem()).Interface()
	if quick, ok := body.(mapBody); ok {
		if rest, ok := quick.ReadCBOR(data); ok {
			return body, rest, nil
		}
		body = reflect.New(t.Elem()).Interface() // without what has been read
	}
	rest, err = decMode.UnmarshalFirst(data, body)
	return body, rest, err
}

// Name is the name of the type of a fact's body, as logs and metrics show it.
func (s *Set) Name(body any) string {
	return s.names[s.numbers[reflect.TypeOf(body)]]
}

// Entries lists the Set's types by number, for tests that hold one golden file each.
func (s *Set) Entries() map[uint64]reflect.Type { return s.types }
