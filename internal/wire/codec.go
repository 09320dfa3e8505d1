package wire

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxNesting is how deep objects and arrays may lie inside each other in a request. The deepest input of the model
// needs seven levels; the rest is room for members that this version does not know.
const maxNesting = 32

// maxElements is how many elements one object or array may have in a request. The model allows a few hundred where it
// sets a limit; without any, a small body of empty structures would take a hundred times its size in memory.
const maxElements = 1 << 14

// operation makes the value of a generated operation variable.
func operation[I, O any](info *OperationInfo) Operation[I, O] {
	info.input = structureOf(reflect.TypeFor[I]())
	if info.HasOutput {
		info.output = structureOf(reflect.TypeFor[O]())
	}
	return Operation[I, O]{info}
}

// Readers are pooled: they are larger than most inputs and hold a path buffer.
var readers = [...]sync.Pool{
	JSON: {New: func() any { return new(jsonReader) }},
	CBOR: {New: func() any { return new(cborReader) }},
}

// decode reads a body into the structure at v, which is empty, and checks that.
func (s *structure) decode(p Protocol, body []byte, v unsafe.Pointer) error {
	d := readers[p].Get().(bodyReader)
	defer readers[p].Put(d)
	defer d.end()
	if f := s.fill(d, body, v); f != nil {
		return f
	}
	c := &d.common().checker
	s.check(c, v)
	return c.verdict()
}

// fill reads a body without checking more than the reader does.
func (s *structure) fill(d bodyReader, body []byte, v unsafe.Pointer) *fault.Error {
	if f := d.begin(body); f != nil {
		return f
	}
	s.read(d, v)
	return d.common().failure
}

// append appends the structure at v.
func (s *structure) append(b []byte, p Protocol, v unsafe.Pointer) []byte {
	if p == CBOR {
		return s.appendCBOR(b, v)
	}
	return s.appendJSON(b, v)
}

// The bodies that an absent body stands for.
var (
	emptyJSON = []byte("{}")
	emptyCBOR = []byte{cborMap}
)
