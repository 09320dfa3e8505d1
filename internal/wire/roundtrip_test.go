package wire

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// A shape is a structure of the model.
type shape interface {
	encoder
	decoder
}

// TestRoundTrip encodes random values of every structure and reads them back.
func TestRoundTrip(t *testing.T) {
	for name, empty := range shapes {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(40) {
				want := empty()
				m := &maker{Rand: rand.New(rand.NewPCG(seed, 1))}
				m.fill(want)
				for _, p := range []Protocol{JSON, CBOR} {
					got, body := again(t, p, want, empty())
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("%s seed %d: read\n%+v\nwrote\n%+v\nas %q", p, seed, got, want, body)
					}
				}
			}
		})
	}
}

// again writes a value behind other bytes and reads it into an empty structure,
// after another implementation has called the bytes valid.
func again(t *testing.T, p Protocol, v, empty shape) (shape, []byte) {
	t.Helper()
	prefix := []byte("before")
	if p == CBOR {
		body := v.appendCBOR(prefix)[len(prefix):]
		if err := cbor.Wellformed(body); err != nil {
			t.Fatalf("invalid CBOR: %v\n%x", err, body)
		}
		if f := readCBOR(new(cborReader), body, empty); f != nil {
			t.Fatalf("%v\n%x", f, body)
		}
		return empty, body
	}
	body := v.appendJSON(prefix)[len(prefix):]
	if !json.Valid(body) {
		t.Fatalf("invalid JSON: %s", body)
	}
	if f := readJSON(new(jsonReader), body, empty); f != nil {
		t.Fatalf("%v\n%s", f, body)
	}
	return empty, body
}

// TestAbsent holds that a structure without members present is an empty one,
// apart from required strings that may be empty.
func TestAbsent(t *testing.T) {
	required := map[string]bool{
		"CreateMatchmakingConfigurationInput": true, "CreateMatchmakingRuleSetInput": true, // Name
		"AcceptMatchInput": true, "StopMatchmakingInput": true, // TicketId
		"GameProperty": true, "Tag": true, // Value
	}
	for name, empty := range shapes {
		j, c := string(empty().appendJSON(nil)), string(empty().appendCBOR(nil))
		if (j != "{}" || c != "\xa0") && !required[name] {
			t.Errorf("%s: %s %x", name, j, c)
		}
	}
}
