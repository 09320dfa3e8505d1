package event

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

type number struct {
	Value float64 `cbor:"1,keyasint"`
}

var (
	numbers = NewCodec(reflect.TypeFor[number]())
	library = must(cbor.EncOptions{ShortestFloat: cbor.ShortestFloat16}.EncMode())
)

// TestFloatIsTheLibrary holds the bytes of numbers to those of the library, and what is
// read from them to what it reads.
func TestFloatIsTheLibrary(t *testing.T) {
	for half := range 1 << 16 { // all numbers that have a short form
		v := fromFloat16(uint16(half))
		checkNumber(t, v)
		if half%16 == 0 {
			checkNumber(t, math.Nextafter(v, 1))
			checkNumber(t, float64(math.Nextafter32(float32(v), 1)))
		}
	}
	rng := rand.New(rand.NewPCG(1, 6))
	for range 5000 {
		checkNumber(t, math.Float64frombits(rng.Uint64()))
		checkNumber(t, float64(math.Float32frombits(rng.Uint32())))
		checkNumber(t, math.Ldexp(float64(rng.IntN(4096)-2048), rng.IntN(64)-48))
	}
}

func checkNumber(t *testing.T, v float64) {
	t.Helper()
	data := numbers.Append(nil, number{v})
	if want, err := library.Marshal(number{v}); err != nil || !bytes.Equal(data, want) {
		t.Fatalf("%v is written as %x, by the library as %x, %v", v, data, want, err)
	}
	if got, ok := readNumber(data); !ok || math.Float64bits(got) != math.Float64bits(v) && !(got != got && v != v) {
		t.Fatalf("%v is read as %v, %v", v, got, ok)
	}
}

func readNumber(data []byte) (v float64, ok bool) {
	var n number
	rest, ok := numbers.Read(data, &n)
	return n.Value, ok && len(rest) == 0
}

// TestFloatLeavesTheUnusual to the library.
func TestFloatLeavesTheUnusual(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":      "\xa1\x01",
		"a number":     "\xa1\x01\x05",
		"a text":       "\xa1\x01\x61a",
		"cut short 16": "\xa1\x01\xf9\x00",
		"cut short 32": "\xa1\x01\xfa\x00\x00\x00",
		"cut short 64": "\xa1\x01\xfb\x00\x00\x00\x00\x00\x00\x00",
	} {
		if v, ok := readNumber([]byte(data)); ok {
			t.Errorf("%s is read as %v", name, v)
		}
	}
	zeros := struct {
		A float64 `cbor:"1,keyasint,omitempty"`
		B float64 `cbor:"2,keyasint,omitempty"`
		C float64 `cbor:"3,keyasint,omitzero"`
		D float64 `cbor:"4,keyasint,omitzero"`
	}{0, math.Copysign(0, -1), 0, math.Copysign(0, -1)}
	got := NewCodec(reflect.TypeOf(zeros)).Append(nil, zeros)
	if want, _ := library.Marshal(zeros); !bytes.Equal(got, want) {
		t.Errorf("zeros are written as %x, by the library as %x", got, want)
	}
}
