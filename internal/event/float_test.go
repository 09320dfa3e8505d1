package event

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

type number struct {
	Value float64 `cbor:"1,keyasint"`
}

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
	w := WriteMap(nil)
	w.Float(1, v)
	var buf bytes.Buffer
	if err := encMode.MarshalToBuffer(number{v}, &buf); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(w.End(), buf.Bytes()) {
		t.Fatalf("%v is written as %x, by the library as %x", v, w.End(), buf.Bytes())
	}
	if got, ok := readNumber(w.End()); !ok || math.Float64bits(got) != math.Float64bits(v) && !(got != got && v != v) {
		t.Fatalf("%v is read as %v, %v", v, got, ok)
	}
}

func readNumber(data []byte) (v float64, ok bool) {
	r := ReadMap(data)
	r.Fields(func(uint64) { v = r.Float() })
	rest, ok := r.End()
	return v, ok && len(rest) == 0
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
	w := WriteMap(nil)
	w.OptFloat(1, 0)
	w.OptFloat(2, math.Copysign(0, -1))
	if got, _ := cbor.Marshal(struct {
		A float64 `cbor:"1,keyasint,omitempty"`
		B float64 `cbor:"2,keyasint,omitempty"`
	}{0, math.Copysign(0, -1)}); !bytes.Equal(got, w.End()) {
		t.Errorf("zeros are written as %x, by the library as %x", w.End(), got)
	}
}
