package wire

import (
	"encoding/json"
	"reflect"
	"testing"
	"unsafe"
)

// TestSamples: the sample of each operation can be read, and has the required members.
func TestSamples(t *testing.T) {
	for _, o := range Operations {
		sample := o.Sample()
		var members map[string]json.RawMessage
		if err := json.Unmarshal(sample, &members); err != nil {
			t.Errorf("%s: %v", o.Name, err)
		}
		h := Handler{Info: o, empty: func() unsafe.Pointer { return reflect.New(o.input.typ).UnsafePointer() }}
		r := h.Read(JSON, sample)
		if r.failure != nil && r.failure.Kind == "SerializationException" {
			t.Errorf("%s: %s: %v", o.Name, sample, r.failure)
		}
		r.Discard()
		for _, m := range o.InputMembers() {
			if _, has := members[m.Name]; has != m.Required {
				t.Errorf("%s: the sample has %s: %v", o.Name, m.Name, has)
			}
		}
	}
}
