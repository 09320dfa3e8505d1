package wire

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/fxamacker/cbor/v2"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A shape points to a structure of the model.
type shape any

// shapes makes an empty structure of every kind.
var shapes = make(map[string]func() shape)

func init() {
	for t := range structures {
		shapes[t.Name()] = func() shape { return reflect.New(t).Interface() }
	}
}

// table returns the table of a structure, and where the structure is.
func table(v shape) (*structure, unsafe.Pointer) {
	r := reflect.ValueOf(v)
	return structures[r.Type().Elem()], r.UnsafePointer()
}

// written returns a structure as it is written.
func written(p Protocol, v shape) []byte {
	s, at := table(v)
	return s.append(nil, p, at)
}

// readBody reads a body into a structure without checking more than the reader does.
func readBody(p Protocol, body []byte, v shape) *fault.Error {
	s, at := table(v)
	d := bodyReader(new(jsonReader))
	if p == CBOR {
		d = new(cborReader)
	}
	return s.fill(d, body, at)
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
	s, at := table(v)
	prefix := []byte("before")
	body := s.append(prefix, p, at)[len(prefix):]
	if p == JSON && !json.Valid(body) {
		t.Fatalf("invalid JSON: %s", body)
	} else if err := cbor.Wellformed(body); p == CBOR && err != nil {
		t.Fatalf("invalid CBOR: %v\n%x", err, body)
	}
	if f := readBody(p, body, empty); f != nil {
		t.Fatalf("%s: %v\n%q", p, f, body)
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
		j, c := string(written(JSON, empty())), string(written(CBOR, empty()))
		if (j != "{}" || c != "\xa0") && !required[name] {
			t.Errorf("%s: %s %x", name, j, c)
		}
	}
}
