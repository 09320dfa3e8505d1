package wire

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// unhex reads hexadecimal digits with spaces between them.
func unhex(t *testing.T, text string) []byte {
	t.Helper()
	body, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestReadCBOR reads members in all the forms that clients may choose.
func TestReadCBOR(t *testing.T) {
	const (
		name  = "64 4e616d65"           // "Name"
		limit = "65 4c696d6974"         // "Limit"
		count = "65 436f756e74"         // "Count", a long
		when  = "69 4576656e7454696d65" // "EventTime"
		zip   = "67 5a697046696c65"     // "ZipFile"
		unit  = "64 556e6974"           // not a member
	)
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	for _, c := range []struct {
		name, body string
		want       shape
	}{
		{"no body", "", &ListLocationsInput{}},
		{"empty map", "a0", &ListLocationsInput{}},
		{"empty indefinite map", "bf ff", &ListLocationsInput{}},
		{"null body", "f6", &ListLocationsInput{}},
		{"tiny", "a1" + limit + "05", &ListLocationsInput{Limit: Some(int32(5))}},
		{"negative", "a1" + limit + "24", &ListLocationsInput{Limit: Some(int32(-5))}},
		{"8 bits", "a1" + limit + "18 05", &ListLocationsInput{Limit: Some(int32(5))}},
		{"16 bits", "a1" + limit + "19 0005", &ListLocationsInput{Limit: Some(int32(5))}},
		{"32 bits", "a1" + limit + "1a 00000005", &ListLocationsInput{Limit: Some(int32(5))}},
		{"64 bits", "a1" + limit + "1b 0000000000000005", &ListLocationsInput{Limit: Some(int32(5))}},
		{"smallest", "a1" + limit + "3a 7fffffff", &ListLocationsInput{Limit: Some(int32(math.MinInt32))}},
		{"smallest long", "a1" + count + "3b 7fffffffffffffff", &Event{Count: Some(int64(math.MinInt64))}},
		{"half", "a1" + limit + "f9 4500", &ListLocationsInput{Limit: Some(int32(5))}},
		{"single", "a1" + limit + "fa 40a00000", &ListLocationsInput{Limit: Some(int32(5))}},
		{"double", "a1" + limit + "fb 4014000000000000", &ListLocationsInput{Limit: Some(int32(5))}},
		{"null member", "a1" + limit + "f6", &ListLocationsInput{}},
		{"undefined member", "a1" + limit + "f7", &ListLocationsInput{}},
		{"indefinite map and text", "bf 7f 62 4e61 62 6d65 ff 7f 61 61 60 62 6263 ff ff",
			&CreateBuildInput{Name: "abc"}},
		{"integer seconds", "a1" + when + "c1 01", &Event{EventTime: at(1000)}},
		{"seconds before 1970", "a1" + when + "c1 20", &Event{EventTime: at(-1000)}},
		{"seconds and a half", "a1" + when + "c1 f9 3e00", &Event{EventTime: at(1500)}},
		{"milliseconds", "a1" + when + "c1 fb 41d5e5b0d103a5e3", &Event{EventTime: at(1469498180057)}},
		{"blob", "a1" + zip + "42 00ff", &CreateScriptInput{ZipFile: []byte{0, 255}}},
		{"empty blob", "a1" + zip + "40", &CreateScriptInput{ZipFile: []byte{}}},
		{"blob in chunks", "a1" + zip + "5f 41 00 40 41 ff ff", &CreateScriptInput{ZipFile: []byte{0, 255}}},
		{"duplicates", "a2" + name + "61 61" + name + "61 62", &CreateBuildInput{Name: "b"}},
		{"unknown members", "a5" + unit + "9f 01 bf 61 61 a1 01 02 ff ff" + unit + "c0 60" + unit + "5f 41 00 ff" +
			unit + "fb 0000000000000000" + name + "61 61", &CreateBuildInput{Name: "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := reflect.New(reflect.TypeOf(c.want).Elem()).Interface().(shape)
			if f := readBody(CBOR, unhex(t, c.body), got); f != nil {
				t.Fatal(f)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
	for _, c := range []struct{ name, body, want string }{
		{"cut short", "a1" + limit, "not valid CBOR"},
		{"bytes behind", "a0 00", "not valid CBOR"},
		{"half a pair", "bf" + limit + "ff", "not valid CBOR"},
		{"stray break", "ff", "not valid CBOR"},
		{"reserved head", "a1" + limit + "1c", "not valid CBOR"},
		{"promised too much", "9b ffffffffffffffff", "not valid CBOR"},
		{"too deep", strings.Repeat("81", maxNesting+1) + "00", "deeper than 32 levels"},
		{"too deep without lengths", strings.Repeat("9f", 5000), "deeper than 32 levels"},
		{"too many", "9f" + strings.Repeat("00", maxElements+1) + "ff",
			"not valid CBOR: exceeded max number of elements"},
		{"not a map", "80", "the request body: expected a map, got an array"},
		{"number as key", "a1 01 01", "expected member names that are text strings, got an integer"},
		{"text for a number", "a1" + limit + "61 35", "'limit': expected an integer of 32 bits, got a text string"},
		{"fraction", "a1" + limit + "f9 3e00", "'limit': expected an integer of 32 bits, got another number"},
		{"infinity", "a1" + limit + "f9 7c00", "got another number"},
		{"not a number", "a1" + limit + "f9 7e00", "got another number"},
		{"33 bits", "a1" + limit + "1a 80000000", "got another number"},
		{"boolean for a number", "a1" + limit + "f5", "got a boolean"},
		{"simple value", "a1" + limit + "e0", "got a simple value"},
		{"bytes for text", "a1" + name + "41 61", "'name': expected a text string, got a byte string"},
		{"not UTF-8", "a1" + name + "61 ff", "'name': expected text in UTF-8"},
		{"tagged text", "a1" + name + "c0 61 61", "got a tagged value"},
		{"text for a blob", "a1" + zip + "61 61", "'zipFile': expected a byte string, got a text string"},
		{"untagged time", "a1" + when + "01",
			"'eventTime': expected a timestamp: tag 1 and epoch seconds, got an integer"},
		{"text time", "a1" + when + "c1 61 35", "'eventTime': expected a timestamp"},
		{"other tag", "a1" + when + "c2 01", "'eventTime': expected a timestamp"},
		{"time out of range", "a1" + when + "c1 1b 7fffffffffffffff", "years 1 to 9999"},
		{"text for a boolean", "a1 72 416363657074616e63655265717569726564 61 61",
			"'acceptanceRequired': expected a boolean, got a text string"},
		{"map for a list", "a1 67 46696c74657273 a0", "'filters': expected an array, got a map"},
		{"key not UTF-8", "a1 63 53444d a1 61 ff 01", "'sDM': expected keys in UTF-8, got other bytes"},
		{"text for a float", "a1 61 4e 61 31", "'n': expected a number, got a text string"},
		{"too large for a single", "a1 75 4c6174656e6379496e4d696c6c697365636f6e6473 fb 7e37e43c8800759c",
			"expected a number of 32 bits, got a larger one"},
		{"time not a number", "a1" + when + "c1 f9 7e00", "years 1 to 9999"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got *fault.Error // of a structure that has the member
			for _, v := range []shape{
				&ListLocationsInput{}, &CreateBuildInput{}, &CreateScriptInput{}, &Event{}, &AttributeValue{},
				&PlayerLatency{}, &CreateMatchmakingConfigurationInput{},
			} {
				if f := readBody(CBOR, unhex(t, c.body), v); f != nil {
					if got = f; f.Kind == fault.Serialization && strings.Contains(f.Message, c.want) {
						return
					}
				}
			}
			t.Errorf("got %v, want %q", got, c.want)
		})
	}
}

// TestMutations spoils encoded structures a little, in both protocols. Whatever
// comes of it, the readers must not panic.
func TestMutations(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	for name, empty := range shapes {
		v := empty()
		(&maker{Rand: rnd}).fill(v)
		for range 60 {
			text, binary := spoil(rnd, written(JSON, v)), spoil(rnd, written(CBOR, v))
			if f := readBody(JSON, text, empty()); f != nil && f.Kind != fault.Serialization {
				t.Errorf("%s: %v", name, f)
			}
			if f := readBody(CBOR, binary, empty()); f != nil && f.Kind != fault.Serialization {
				t.Errorf("%s: %v", name, f)
			}
		}
	}
}

// spoil changes, drops or doubles some bytes.
func spoil(rnd *rand.Rand, body []byte) []byte {
	for range 1 + rnd.IntN(3) {
		i := rnd.IntN(len(body) + 1)
		switch rnd.IntN(3) {
		case 0:
			body = append(body[:i:i], append([]byte{byte(rnd.Uint32())}, body[i:]...)...)
		case 1:
			body = append(body[:i:i], body[min(i+1, len(body)):]...)
		default:
			if i < len(body) {
				body[i] = byte(rnd.Uint32())
			}
		}
	}
	return body
}

// TestCBORHeads holds integers and lengths to their smallest form, which the other
// implementation writes as well.
func TestCBORHeads(t *testing.T) {
	for _, n := range []int64{
		0, 23, 24, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, -1, -24, -25, -256, -257,
		-65537, math.MinInt64,
	} {
		want, err := cbor.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendCBORInt(nil, n); string(got) != string(want) {
			t.Errorf("%d: %x, want %x", n, got, want)
		}
	}
}

// TestLargeStructure holds that more than 23 members get a head of two bytes.
func TestLargeStructure(t *testing.T) {
	v := new(FleetAttributes)
	(&maker{Rand: rand.New(rand.NewPCG(1, 1)), full: true}).fill(v)
	body := written(CBOR, v)
	if n := reflect.TypeFor[FleetAttributes]().NumField(); body[0] != 0xb8 || int(body[1]) != n {
		t.Errorf("%d members begin with %x", n, body[:2])
	}
	if err := cbor.Wellformed(body); err != nil {
		t.Error(err)
	}
}

// TestSecondsOf holds that every millisecond arrives, whether a client rounds or cuts.
func TestSecondsOf(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		ms := rnd.Int64N(8e12) - 4e12
		f := secondsOf(ms)
		got, ok := timeOf(f)
		if !ok || got.UnixMilli() != ms || int64(f*1e3) != ms {
			t.Fatalf("%d ms: %v s reads as %v, and cut as %d", ms, f, got, int64(f*1e3))
		}
	}
}

// TestCBORText holds that what is not UTF-8 is replaced: clients refuse it.
func TestCBORText(t *testing.T) {
	if got := string(appendCBORText(nil, "a\xffb")); got != "\x65a\uFFFDb" {
		t.Errorf("%q", got)
	}
}

// TestCBORTextIsChecked holds that text which is not UTF-8 is refused wherever it stands, by
// all shapes: also in members that they do not have, and that are null.
func TestCBORTextIsChecked(t *testing.T) {
	const unknown = "62 5a7a" // "Zz", which no shape has
	for name, body := range map[string]string{
		"value":            "a1" + unknown + "61 ff",
		"value in chunks":  "a1" + unknown + "7f 61 61 61 ff ff",
		"tagged value":     "a1" + unknown + "c0 61 ff",
		"element":          "a1" + unknown + "82 01 61 ff",
		"element of many":  "a1" + unknown + "9f 61 ff ff",
		"value in a map":   "a1" + unknown + "a1 61 61 61 ff",
		"key in a map":     "a1" + unknown + "a1 61 ff 01",
		"key of many":      "a1" + unknown + "bf 61 ff 01 ff",
		"name":             "a1 62 5aff 01",
		"name in chunks":   "a1 7f 61 5a 61 ff ff 01",
		"name of a null":   "a1 62 5aff f6",
		"surrogate":        "a1" + unknown + "63 eda080",
		"behind good text": "a2" + unknown + "61 61" + unknown + "62 c3 28",
	} {
		body := unhex(t, body)
		for shapeName, empty := range shapes {
			f := readBody(CBOR, body, empty())
			if f == nil || f.Kind != fault.Serialization || !strings.Contains(f.Message, "UTF-8") {
				t.Errorf("%s: %s: %v", shapeName, name, f)
			}
		}
	}
	good := unhex(t, "a3"+unknown+"63 e282ac"+unknown+"7f 62 e282 61 ac ff 63 e282ac f6")
	for shapeName, empty := range shapes {
		if f := readBody(CBOR, good, empty()); f != nil && strings.Contains(f.Message, "UTF-8") {
			t.Errorf("%s: %v", shapeName, f)
		}
	}
}

// Every float of 16 bits is read as the cbor library reads it.
func TestHalfFloats(t *testing.T) {
	for bits := range 1 << 16 {
		var want float64
		if err := cbor.Unmarshal([]byte{0xf9, byte(bits >> 8), byte(bits)}, &want); err != nil {
			t.Fatal(err)
		}
		got := halfFloat(uint16(bits))
		if math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%04x is %v, want %v", bits, got, want)
		}
	}
}
