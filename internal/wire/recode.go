package wire

import (
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// InputCBOR returns the CBOR of an input in JSON, for people to compare the protocols. The input may break constraints
// of the model. The error is a *fault.Error with fault.Serialization.
func (o *OperationInfo) InputCBOR(body []byte) ([]byte, error) { return o.input.recode(body) }

// OutputCBOR is InputCBOR for an output. An operation without output has an empty body.
func (o *OperationInfo) OutputCBOR(body []byte) ([]byte, error) {
	if !o.HasOutput {
		return nil, nil
	}
	return o.output.recode(body)
}

func (s *structure) recode(body []byte) ([]byte, error) {
	v := reflect.New(s.typ).UnsafePointer()
	d := readers[JSON].Get().(bodyReader)
	defer readers[JSON].Put(d)
	defer d.end()
	if f := s.fill(d, body, v); f != nil {
		return nil, f
	}
	return s.append(nil, CBOR, v), nil
}

// Diagnose returns CBOR in diagnostic notation. Source: RFC 8949, section 8.
func Diagnose(body []byte) (string, error) {
	if len(body) == 0 {
		return "", nil
	}
	return cbor.Diagnose(body)
}
