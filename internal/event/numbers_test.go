package event

import (
	"maps"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

func TestNumbers(t *testing.T) {
	want := map[string]float64{"": 0, "b": -1.5, "a": 0.1, "keep": 65504, "ford": 1e300}
	for range 20 { // the order of a map changes
		w := WriteMap(nil)
		w.OptNumbers(1, nil)
		w.OptNumbers(2, want)
		var library struct {
			Numbers map[string]float64 `cbor:"2,keyasint"`
		}
		if err := cbor.Unmarshal(w.End(), &library); err != nil || !maps.Equal(library.Numbers, want) {
			t.Fatalf("the library reads %v, %v", library.Numbers, err)
		}
		var got map[string]float64
		r := ReadMap(w.End())
		r.Fields(func(uint64) { got = r.Numbers() })
		if rest, ok := r.End(); !ok || len(rest) > 0 || !maps.Equal(got, want) {
			t.Fatalf("got %v, %v", got, ok)
		}
	}
}

func TestNumbersLeaveTheUnusual(t *testing.T) {
	for name, data := range map[string]string{
		"name twice":         "\xa1\x02\xa2\x61a\xf9\x00\x00\x61a\xf9\x00\x00",
		"another order":      "\xa1\x02\xa2\x61b\xf9\x00\x00\x61a\xf9\x00\x00",
		"null":               "\xa1\x02\xf6",
		"number for a name":  "\xa1\x02\xa1\x01\xf9\x00\x00",
		"whole number":       "\xa1\x02\xa1\x61a\x01",
		"cut short":          "\xa1\x02\xa2\x61a\xf9\x00\x00",
		"more than there is": "\xa1\x02\xbb\x7f\xff\xff\xff\xff\xff\xff\xff",
	} {
		r := ReadMap([]byte(data))
		r.Fields(func(uint64) { r.Numbers() })
		if _, ok := r.End(); ok {
			t.Errorf("%s is read", name)
		}
	}
}
