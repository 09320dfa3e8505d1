package wire

import (
	"sync"

	"github.com/muster-gg/muster/internal/fault"
)

// maxNesting is how deep objects and arrays may lie inside each other in a
// request. The deepest input of the model needs seven levels; the rest is room
// for members that this version does not know.
const maxNesting = 32

// maxElements is how many elements one object or array may have in a request.
// The model allows a few hundred where it sets a limit; without any, a small body
// of empty structures would take a hundred times its size in memory.
const maxElements = 1 << 14

// An encoder is a structure of the model that can be written.
type encoder interface {
	appendJSON([]byte) []byte
	appendCBOR([]byte) []byte
}

// A decoder is a structure of the model that can be read.
type decoder interface {
	decodeJSON(*jsonReader)
	decodeCBOR(*cborReader)
}

// An input is the structure of a request: it is read and then checked.
type input interface {
	decoder
	validate(*checker)
}

// operation makes the value of a generated operation variable; the constraints
// tie the structures' methods to their pointers at compile time.
func operation[I, O any, PI interface {
	*I
	input
}, PO interface {
	*O
	encoder
}](info *OperationInfo) Operation[I, O] {
	return Operation[I, O]{
		OperationInfo: info,
		input:         func(v *I) input { return PI(v) },
		output:        func(v *O) encoder { return PO(v) },
	}
}

// operationWithoutOutput is operation for those whose answer has no body.
func operationWithoutOutput[I any, PI interface {
	*I
	input
}](info *OperationInfo) Operation[I, NoOutput] {
	return Operation[I, NoOutput]{
		OperationInfo: info,
		input:         func(v *I) input { return PI(v) },
	}
}

// Readers are pooled: they are larger than most inputs and hold a path buffer.
var (
	jsonReaders = sync.Pool{New: func() any { return new(jsonReader) }}
	cborReaders = sync.Pool{New: func() any { return new(cborReader) }}
)

// decode reads body into v and checks it.
func decode(p Protocol, body []byte, v input) error {
	if p == CBOR {
		r := cborReaders.Get().(*cborReader)
		defer cborReaders.Put(r)
		defer r.reset(nil)
		if f := readCBOR(r, body, v); f != nil {
			return f
		}
		v.validate(&r.checker)
		return r.verdict()
	}
	r := jsonReaders.Get().(*jsonReader)
	defer jsonReaders.Put(r)
	defer r.reset(nil)
	if f := readJSON(r, body, v); f != nil {
		return f
	}
	v.validate(&r.checker)
	return r.verdict()
}

// readJSON reads body into v without checking more than the reader does.
func readJSON(r *jsonReader, body []byte, v decoder) *fault.Error {
	if len(body) == 0 {
		body = emptyJSON
	}
	if f := checkJSON(body); f != nil {
		return f
	}
	r.reset(body)
	v.decodeJSON(r)
	return r.failure
}

// readCBOR reads body into v without checking more than the reader does.
func readCBOR(r *cborReader, body []byte, v decoder) *fault.Error {
	if len(body) == 0 {
		body = emptyCBOR
	}
	if f := checkCBOR(body); f != nil {
		return f
	}
	r.reset(body)
	v.decodeCBOR(r)
	return r.failure
}

// The bodies that an absent body stands for.
var (
	emptyJSON = []byte("{}")
	emptyCBOR = []byte{cborMap}
)
