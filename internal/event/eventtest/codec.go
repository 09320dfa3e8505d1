package eventtest

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/muster-gg/muster/internal/event"
)

// The modes are those that package event promises to agree with.
var (
	libraryEncoder, _ = cbor.EncOptions{Sort: cbor.SortBytewiseLexical, ShortestFloat: cbor.ShortestFloat16}.EncMode()
	libraryDecoder, _ = cbor.DecOptions{
		MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 24, DupMapKey: cbor.DupMapKeyQuiet, UTF8: cbor.UTF8DecodeInvalid,
	}.DecMode()
)

// TestCodec holds the types' bytes to those of the library, and what is read from them to what it reads.
func (f *Format) TestCodec(t *testing.T) {
	for _, e := range f.Entries {
		kind := reflect.TypeOf(e.Type).Elem()
		t.Run(kind.Name(), func(t *testing.T) {
			d, codec := drawer{rand.New(rand.NewPCG(1, 3)), f.Words}, event.NewCodec(kind)
			for range 1000 {
				v := reflect.New(kind)
				d.draw(v.Elem(), 0)
				want, err := libraryEncoder.Marshal(v.Interface())
				if err != nil {
					t.Fatal(err)
				}
				got := codec.Append([]byte("x"), v.Interface())
				if string(got) != "x"+string(want) {
					t.Fatalf("%+v is encoded as %x, by the library as %x", v, got[1:], want)
				}
				if !SameRead(t, kind, append(want, "rest"...)) {
					t.Fatalf("the library has to read %x", want)
				}
			}
		})
	}
}

// FuzzCodec reads any bytes as the library does, or leaves them to it.
func (f *Format) FuzzCodec(fuzz *testing.F) {
	d := drawer{rand.New(rand.NewPCG(2, 4)), f.Words}
	for i, e := range f.Entries {
		kind := reflect.TypeOf(e.Type).Elem()
		for range 5 {
			v := reflect.New(kind)
			d.draw(v.Elem(), 0)
			fuzz.Add(uint8(i), event.NewCodec(kind).Append(nil, v.Interface()))
		}
	}
	fuzz.Fuzz(func(t *testing.T, i uint8, data []byte) {
		SameRead(t, reflect.TypeOf(f.Entries[int(i)%len(f.Entries)].Type).Elem(), data)
	})
}

// notANumber is what both write for any of them.
var notANumber = []byte{0xf9, 0x7e, 0x00}

// SameRead reads data with the codec of the type, which may leave it to the library, and fails the test if what it
// reads is not what the library does.
func SameRead(t *testing.T, kind reflect.Type, data []byte) (read bool) {
	t.Helper()
	codec := event.NewCodec(kind)
	quick, slow := reflect.New(kind).Interface(), reflect.New(kind).Interface()
	rest, ok := codec.Read(data, quick)
	if !ok {
		return false
	}
	slowRest, err := libraryDecoder.UnmarshalFirst(data, slow)
	same := reflect.DeepEqual(quick, slow)
	if again := codec.Append(nil, quick); bytes.Contains(again, notANumber) { // which is not equal to itself
		same = bytes.Equal(again, codec.Append(nil, slow))
	}
	if err != nil || !bytes.Equal(rest, slowRest) || !same {
		t.Fatalf("%x is read as %+v, %x is left; by the library as %+v, %x, %v", data, quick, rest, slow, slowRest, err)
	}
	return true
}

// A drawer sets values to random ones, with many that are zero, at a limit of their length in bytes, or not UTF-8.
type drawer struct {
	*rand.Rand
	words []string
}

// Drawn is a pointer to a random value of a type: much of it is zero, empty, or at a limit. Interfaces are left nil.
func Drawn(rng *rand.Rand, t reflect.Type, words ...string) any {
	v := reflect.New(t)
	drawer{rng, append(words, "")}.draw(v.Elem(), 0)
	return v.Interface()
}

// draw sets v, which is within lists of that many levels.
func (d drawer) draw(v reflect.Value, lists int) {
	if d.IntN(4) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(d.text())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat([]float64{1, -2.5, 0.1, float64(float32(33.3)), 65504, 65505, 1e300, math.Inf(-1), math.NaN(),
			d.NormFloat64()}[d.IntN(10)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.draw(v.Elem(), lists)
	case reflect.Map: // of one entry: the library writes more in any order
		v.Set(reflect.ValueOf(map[string]float64{"key": d.NormFloat64()}))
	case reflect.Slice:
		d.drawList(v, lists)
	case reflect.Array:
		for i := range v.Len() {
			d.draw(v.Index(i), lists)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				d.draw(v.Field(i), lists)
			}
		}
	case reflect.Interface:
	default:
		d.drawNumber(v)
	}
}

func (d drawer) text() string {
	if d.IntN(3) == 0 {
		return d.words[d.IntN(len(d.words))]
	}
	b := make([]byte, []int{0, 1, 9, 23, 24, 40, 255, 256}[d.IntN(8)])
	for i := range b {
		b[i] = byte(d.Uint32())
	}
	return string(b)
}

func (d drawer) drawList(v reflect.Value, lists int) {
	n := []int{0, 1, 3, 23, 24, 30}[d.IntN(6)]
	if lists > 0 { // their number multiplies
		n %= 5
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		e := v.Index(i)
		if e.Kind() == reflect.Pointer { // the lists hold no nil
			e.Set(reflect.New(e.Type().Elem()))
			e = e.Elem()
		}
		d.draw(e, lists+1)
	}
}

func (d drawer) drawNumber(v reflect.Value) {
	if v.Kind() == reflect.Int { // of 32 bits on some machines
		v.SetInt(int64(int32(d.Uint32())))
		return
	}
	n := []uint64{1, 23, 24, 255, 256, math.MaxUint16, math.MaxUint16 + 1, math.MaxUint32, math.MaxUint32 + 1,
		math.MaxInt64, math.MaxUint64}[d.IntN(11)]
	if v.CanUint() {
		v.SetUint(n & (1<<v.Type().Bits() - 1))
		return
	}
	v.SetInt(int64(n) << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
}
