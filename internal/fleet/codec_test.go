package fleet

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/muster-gg/muster/internal/event"
)

// The modes are those of package event. The library knows nothing of the types'
// own methods.
var (
	libraryEncoder, _ = cbor.EncOptions{Sort: cbor.SortNone, ShortestFloat: cbor.ShortestFloat16}.EncMode()
	libraryDecoder, _ = cbor.DecOptions{
		MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 24, DupMapKey: cbor.DupMapKeyQuiet, UTF8: cbor.UTF8DecodeInvalid,
	}.DecMode()
)

// A quickType encodes and decodes itself.
type quickType interface {
	AppendCBOR(dst []byte) []byte
	ReadCBOR(data []byte) (rest []byte, ok bool)
}

func quickTypes() []reflect.Type {
	var quick []reflect.Type
	for _, e := range Events {
		if _, ok := e.Type.(quickType); ok {
			quick = append(quick, reflect.TypeOf(e.Type).Elem())
		}
	}
	return quick
}

// draw sets a value to a random one, with many that are zero, at a limit of
// their length in bytes, or not UTF-8.
func draw(rng *rand.Rand, v reflect.Value) {
	if rng.IntN(4) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		b := make([]byte, []int{0, 1, 9, 23, 24, 40, 255, 256}[rng.IntN(8)])
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		if rng.IntN(3) == 0 {
			b = []byte([]string{"ACTIVE", "RESERVED", "DENY_ALL", "TERMINATED"}[rng.IntN(4)])
		}
		v.SetString(string(b))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		draw(rng, v.Elem())
	case reflect.Slice:
		n := []int{0, 1, 3, 23, 24, 30}[rng.IntN(6)]
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			if e := v.Index(i); e.Kind() == reflect.Pointer {
				e.Set(reflect.New(e.Type().Elem())) // the lists hold no nil
				draw(rng, e.Elem())
			} else {
				draw(rng, e)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			draw(rng, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				draw(rng, v.Field(i))
			}
		}
	default:
		drawNumber(rng, v)
	}
}

func drawNumber(rng *rand.Rand, v reflect.Value) {
	if v.Kind() == reflect.Int { // of 32 bits on some machines
		v.SetInt(int64(int32(rng.Uint32())))
		return
	}
	n := []uint64{1, 23, 24, 255, 256, math.MaxUint16, math.MaxUint16 + 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, math.MaxUint64}[rng.IntN(11)]
	if v.CanUint() {
		v.SetUint(n & (1<<v.Type().Bits() - 1))
		return
	}
	v.SetInt(int64(n) << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
}

// TestCodecIsTheLibrary holds the types' own bytes to those of the library, and
// what they read from them to what it reads.
func TestCodecIsTheLibrary(t *testing.T) {
	if n := len(quickTypes()); n < 8 {
		t.Errorf("%d types encode themselves", n)
	}
	for _, kind := range quickTypes() {
		t.Run(kind.Name(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 3))
			for range 2000 {
				v := reflect.New(kind)
				draw(rng, v.Elem())
				want, err := libraryEncoder.Marshal(v.Interface())
				if err != nil {
					t.Fatal(err)
				}
				got := v.Interface().(quickType).AppendCBOR([]byte("x"))
				if string(got) != "x"+string(want) {
					t.Fatalf("%+v is encoded as %x, by the library as %x", v, got[1:], want)
				}
				sameRead(t, kind, append(want, "rest"...), true)
			}
		})
	}
}

// sameRead reads data with the type's own method and with the library.
func sameRead(t *testing.T, kind reflect.Type, data []byte, must bool) {
	t.Helper()
	quick, slow := reflect.New(kind).Interface(), reflect.New(kind).Interface()
	rest, ok := quick.(quickType).ReadCBOR(data)
	if !ok {
		if must {
			t.Fatalf("%s: the library has to read %x", kind.Name(), data)
		}
		return
	}
	slowRest, err := libraryDecoder.UnmarshalFirst(data, slow)
	if err != nil || !bytes.Equal(rest, slowRest) || !reflect.DeepEqual(quick, slow) {
		t.Fatalf("%x is read as %+v, %x is left; by the library as %+v, %x, %v", data, quick, rest, slow, slowRest, err)
	}
}

// TestCodecLeavesTheUnusual to the library, which reads it or says what is wrong.
func TestCodecLeavesTheUnusual(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":               "",
		"later field":           "\xa2\x01\x05\x18\x99\x00",
		"unknown field":         "\xa1\x09\x00",
		"field twice":           "\xa2\x01\x05\x01\x06",
		"another order":         "\xa2\x02\x05\x01\x06",
		"map without an end":    "\xbf\x01\x05\xff",
		"null":                  "\xa1\x01\xf6",
		"null for the whole":    "\xf6",
		"index beyond 32 bits":  "\xa1\x02\x1b\x00\x00\x00\x01\x00\x00\x00\x00",
		"negative index":        "\xa1\x02\x20",
		"text for a number":     "\xa1\x01\x61a",
		"cut short":             "\xa2\x01\x05",
		"cut short in a number": "\xa1\x01\x19\x05",
		"reserved byte":         "\xa1\x01\x1c",
	} {
		if _, ok := new(PlayerAccepted).ReadCBOR([]byte(data)); ok {
			t.Errorf("%s is read", name)
		}
	}
	for name, data := range map[string]string{
		"short id":            "\xa1\x02\x81\xa1\x01\x41a",
		"long id":             "\xa1\x02\x81\xa1\x01\x51aaaaaaaaaaaaaaaaa",
		"more than there is":  "\xa1\x02\x9b\x7f\xff\xff\xff\xff\xff\xff\xff",
		"time beyond 63 bits": "\xa1\x03\x1b\x80\x00\x00\x00\x00\x00\x00\x00",
		"text beyond the end": "\xa1\x02\x81\xa1\x02\x7b\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		if _, ok := new(PlayersReserved).ReadCBOR([]byte(data)); ok {
			t.Errorf("%s is read", name)
		}
	}
	f, _, err := types.Next([]byte("\x83\x18\x78\x07\xa3\x01\x05\x02\x06\x18\x99\x00")) // PlayerAccepted with a later field
	if want := (&PlayerAccepted{5, 6}); err != nil || !reflect.DeepEqual(f.Body, want) {
		t.Errorf("got %+v, %v", f.Body, err)
	}
}

// FuzzCodec reads any bytes as the library does, or leaves them to it.
func FuzzCodec(f *testing.F) {
	quick := quickTypes()
	rng := rand.New(rand.NewPCG(2, 4))
	for i, kind := range quick {
		for range 5 {
			v := reflect.New(kind)
			draw(rng, v.Elem())
			f.Add(uint8(i), v.Interface().(quickType).AppendCBOR(nil))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		sameRead(t, quick[int(kind)%len(quick)], data, false)
	})
}

// BenchmarkCodec writes and reads the event of a reservation of 25 places, and
// that of one acceptance.
func BenchmarkCodec(b *testing.B) {
	reserved := &PlayersReserved{Session: 100_000, At: start, Expires: start, Players: make([]Seat, 25)}
	for i := range reserved.Players {
		reserved.Players[i] = Seat{ID: PlayerSessionID{1, 2, 3}, PlayerID: fmt.Sprintf("player-%012d", i)}
	}
	for _, body := range []any{reserved, &PlayerAccepted{Session: 100_000, Index: 117}} {
		f := event.Fact{Room: 1, Body: body}
		var buf bytes.Buffer
		b.Run(types.Name(body)+"/write", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf.Reset()
				if err := types.Append(&buf, f); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(types.Name(body)+"/read", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := types.Next(buf.Bytes()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
