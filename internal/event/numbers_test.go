package event

import (
	"maps"
	"reflect"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

type votes struct {
	None    map[string]float64 `cbor:"1,keyasint,omitempty"`
	Numbers map[string]float64 `cbor:"2,keyasint,omitempty"`
}

var votesCodec = NewCodec(reflect.TypeFor[votes]())

func TestNumbers(t *testing.T) {
	want := map[string]float64{"": 0, "b": -1.5, "a": 0.1, "keep": 65504, "ford": 1e300}
	for range 20 { // the order of a map changes
		data := votesCodec.Append(nil, votes{Numbers: want})
		var library, got votes
		if err := cbor.Unmarshal(data, &library); err != nil || !maps.Equal(library.Numbers, want) {
			t.Fatalf("the library reads %v, %v", library.Numbers, err)
		}
		if rest, ok := votesCodec.Read(data, &got); !ok || len(rest) > 0 || !maps.Equal(got.Numbers, want) {
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
		if _, ok := votesCodec.Read([]byte(data), new(votes)); ok {
			t.Errorf("%s is read", name)
		}
	}
}
