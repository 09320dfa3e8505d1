package event

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// sample has a field of each kind that the journals hold.
type sample struct {
	inner
	Text   string             `cbor:"2,keyasint,omitempty"`
	Count  int32              `cbor:"3,keyasint,omitempty"`
	At     Time               `cbor:"4,keyasint,omitempty"`
	Flag   bool               `cbor:"5,keyasint,omitempty"`
	List   []inner            `cbor:"6,keyasint,omitempty"`
	Maybe  *int32             `cbor:"7,keyasint,omitempty"`
	Bytes  []byte             `cbor:"8,keyasint,omitempty"`
	ID     [16]byte           `cbor:"9,keyasint"`
	Labels map[string]float64 `cbor:"10,keyasint,omitempty"`
}

type inner struct {
	Key string `cbor:"1,keyasint"`
}

type other struct {
	Number float64 `cbor:"1,keyasint"`
}

var samples = NewSet([]Entry{{Number: 1, Type: (*sample)(nil)}}, []Entry{{Number: 300, Type: (*other)(nil)}})

func encoded(t testing.TB, facts ...Fact) []byte {
	t.Helper()
	var buf bytes.Buffer
	for _, f := range facts {
		if err := samples.Append(&buf, f); err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

func someFacts() []Fact {
	zero := int32(0)
	return []Fact{
		{Room: 0, Body: &sample{}},
		{Room: 1<<32 - 1, Body: &sample{
			inner: inner{"k"}, Text: "ünï", Count: -5, At: At(time.UnixMilli(1772366400123)), Flag: true,
			List: []inner{{"a"}, {"b"}}, Maybe: &zero, Bytes: []byte{0, 1}, ID: [16]byte{1, 15: 2},
			Labels: map[string]float64{"x": 0.1},
		}},
		{Room: 7, Body: &other{Number: 0.1}},
	}
}

func TestRoundTrip(t *testing.T) {
	want := someFacts()
	rest := encoded(t, want...)
	for _, w := range want {
		var got Fact
		var err error
		if got, rest, err = samples.Next(rest); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, w) {
			t.Errorf("got %+v, want %+v", got.Body, w.Body)
		}
	}
	if len(rest) != 0 {
		t.Errorf("%d bytes are left", len(rest))
	}
}

// TestFormat shows the bytes that the package comment describes.
func TestFormat(t *testing.T) {
	got := fmt.Sprintf("%x", encoded(t, Fact{Room: 7, Body: &sample{inner: inner{"k"}, ID: [16]byte{15: 0xff}}}))
	// an array of three, type 1, room 7, a map of two: 1 "k", 9 a byte string of 16
	if want := "830107a201616b0950" + strings.Repeat("00", 15) + "ff"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if n := len(encoded(t, Fact{Room: 7, Body: &sample{}})); n > 24 {
		t.Errorf("an empty fact with an id of 16 bytes takes %d bytes", n)
	}
}

// TestAnyTextIsReadAgain: a peer may send text that is not UTF-8. It was
// accepted, so a replay must not stumble over it.
func TestAnyTextIsReadAgain(t *testing.T) {
	want := &sample{Text: "\xff\x00\xfe", inner: inner{"\x80"}}
	got, _, err := samples.Next(encoded(t, Fact{Body: want}))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Body, want) {
		t.Errorf("got %+v, want %+v", got.Body, want)
	}
}

func TestAppendRefusesUnknownTypes(t *testing.T) {
	for _, body := range []any{nil, sample{}, &inner{}, 3} {
		buf := bytes.NewBufferString("before")
		if err := samples.Append(buf, Fact{Body: body}); err == nil || buf.String() != "before" {
			t.Errorf("%T: error %v, buffer %q", body, err, buf)
		}
	}
}

func TestNextNamesUnknownTypes(t *testing.T) {
	newer := NewSet([]Entry{{Number: 2, Type: (*sample)(nil)}})
	var buf bytes.Buffer
	if err := newer.Append(&buf, Fact{Room: 1, Body: &sample{}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := samples.Next(buf.Bytes()); !errors.Is(err, ErrUnknown) ||
		!strings.Contains(err.Error(), "number 2") {
		t.Errorf("got %v", err)
	}
}

func TestNextRefusesEveryBeginning(t *testing.T) {
	for _, f := range someFacts() {
		data := encoded(t, f)
		for n := range len(data) {
			if got, _, err := samples.Next(data[:n]); err == nil || got.Body != nil {
				t.Errorf("%d of %d bytes are read as %+v, %v", n, len(data), got, err)
			}
		}
	}
}

func TestNextRefusesGarbage(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":             "",
		"array of two":        "\x82\x01\x07",
		"array of four":       "\x84\x01\x07\xa0\x00",
		"text for a number":   "\x83\x61a\x07\xa0",
		"negative number":     "\x83\x20\x07\xa0",
		"text for a room":     "\x83\x01\x61a\xa0",
		"room beyond 32 bits": "\x83\x01\x1b\x00\x00\x00\x01\x00\x00\x00\x00\xa0",
		"array for a body":    "\x83\x01\x07\x80",
		"wrong type of field": "\x83\x01\x07\xa1\x03\x61a",
		"number too large":    "\x83\x01\x07\xa1\x03\x1b\x00\x00\x00\x01\x00\x00\x00\x00",
		"endless array":       "\x83\x01\x07\xa1\x06\x9b\x7f\xff\xff\xff\xff\xff\xff\xff",
		"reserved byte":       "\x83\x01\x07\x1c",
	} {
		t.Run(name, func(t *testing.T) {
			if f, _, err := samples.Next([]byte(data)); err == nil || f.Body != nil {
				t.Errorf("read as %+v, %v", f, err)
			}
		})
	}
}

func TestNewSetRefusesMistakes(t *testing.T) {
	for name, entries := range map[string][]Entry{
		"number twice":  {{Number: 1, Type: (*sample)(nil)}, {Number: 1, Type: (*other)(nil)}},
		"type twice":    {{Number: 1, Type: (*sample)(nil)}, {Number: 2, Type: (*sample)(nil)}},
		"no pointer":    {{Number: 1, Type: sample{}}},
		"no struct":     {{Number: 1, Type: new(int)}},
		"pointer twice": {{Number: 1, Type: new(*sample)}},
		"one pointer": {{Number: 1, Type: (*struct {
			A *int `cbor:"1,keyasint"`
		})(nil)}},
		"no tag": {{Number: 1, Type: (*struct{ A, B int })(nil)}},
		"no number": {{Number: 1, Type: (*struct {
			A int `cbor:"a,keyasint"`
		})(nil)}},
		"text for a key": {{Number: 1, Type: (*struct {
			A int `cbor:"1"`
		})(nil)}},
		"number too large": {{Number: 1, Type: (*struct {
			A int `cbor:"256,keyasint"`
		})(nil)}},
		"key twice": {{Number: 1, Type: (*struct {
			A int `cbor:"1,keyasint"`
			B int `cbor:"1,keyasint"`
		})(nil)}},
		"no codec": {{Number: 1, Type: (*struct {
			A [3]int `cbor:"1,keyasint"`
		})(nil)}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("a set was made")
				}
			}()
			NewSet(entries)
		})
	}
}

func TestNamesAndEntries(t *testing.T) {
	if got := samples.Name(&sample{}) + " " + samples.Name(&other{}); got != "sample other" {
		t.Errorf("names are %s", got)
	}
	if got := samples.Name(&inner{}); got != "" {
		t.Errorf("a type outside the set is called %q", got)
	}
	want := map[uint64]reflect.Type{1: reflect.TypeFor[*sample](), 300: reflect.TypeFor[*other]()}
	if got := samples.Entries(); !reflect.DeepEqual(got, want) {
		t.Errorf("entries are %v", got)
	}
}

func TestTime(t *testing.T) {
	moment := time.Date(2026, 3, 1, 12, 0, 0, 987_654_321, time.FixedZone("", 3600))
	at := At(moment)
	if got, want := at.Time(), moment.Truncate(time.Millisecond).UTC(); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := at.Add(90 * time.Second).Sub(at); got != 90*time.Second {
		t.Errorf("90 seconds later is %v later", got)
	}
	if got := at.Add(-time.Hour).Sub(at); got != -time.Hour {
		t.Errorf("an hour earlier is %v later", got)
	}
	if !Time(0).Time().IsZero() {
		t.Error("zero is not the zero time")
	}
}

// FuzzNext reads any bytes without a panic, and writes again what it could read.
func FuzzNext(f *testing.F) {
	for _, fact := range someFacts() {
		f.Add(encoded(f, fact))
	}
	f.Add([]byte("\x83\x18\x64\x07\xa0"))
	f.Add([]byte("\x83\x01\x07\xa1\x06\x9b\x00\x00\x00\x00\x00\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fact, rest, err := samples.Next(data)
		if err != nil {
			return
		}
		if !bytes.HasSuffix(data, rest) {
			t.Fatal("the rest is not the end of the data")
		}
		again, rest, err := samples.Next(encoded(t, fact))
		if err != nil || len(rest) > 0 {
			t.Fatalf("what was written again cannot be read: %v, %d bytes left", err, len(rest))
		}
		if !bytes.Equal(encoded(t, again), encoded(t, fact)) {
			t.Fatalf("%+v became %+v", fact.Body, again.Body)
		}
	})
}

// TestManyFields writes a map whose number of fields takes a byte of its own.
func TestManyFields(t *testing.T) {
	var fields []reflect.StructField
	for i := range maxFields {
		tag := reflect.StructTag(fmt.Sprintf(`cbor:"%d,keyasint,omitempty"`, i))
		fields = append(fields, reflect.StructField{Name: fmt.Sprint("F", i), Type: reflect.TypeFor[uint16](),
			Tag: tag})
	}
	kind := reflect.StructOf(fields)
	codec := NewCodec(kind)
	for n := range maxFields {
		v := reflect.New(kind)
		for i := range n {
			v.Elem().Field(maxFields - 1 - i).SetUint(uint64(i + 1))
		}
		data := codec.Append(nil, v.Interface())
		if want, err := library.Marshal(v.Interface()); err != nil || !bytes.Equal(data, want) {
			t.Fatalf("%d fields are written as %x, by the library as %x, %v", n, data, want, err)
		}
		got := reflect.New(kind)
		if rest, ok := codec.Read(data, got.Interface()); !ok || len(rest) > 0 || !got.Elem().Equal(v.Elem()) {
			t.Fatalf("%d fields are read as %v", n, got)
		}
	}
}

// TestOften: a text that a field often holds takes no memory.
func TestOften(t *testing.T) {
	type shown struct {
		Status string `cbor:"1,keyasint" often:"ACTIVE|ENDED"`
	}
	codec := NewCodec(reflect.TypeFor[shown]())
	for status, want := range map[string]float64{"ACTIVE": 0, "ENDED": 0, "ACTIV": 1, "": 0} {
		data, v := codec.Append(nil, shown{status}), new(shown)
		allocs := testing.AllocsPerRun(10, func() {
			if _, ok := codec.Read(data, v); !ok || v.Status != status {
				t.Errorf("%q is read as %q", status, v.Status)
			}
		})
		if allocs != want {
			t.Errorf("%q takes %v pieces of memory", status, allocs)
		}
	}
}

// TestListsShareNothing: an append to a list that was read changes no other.
func TestListsShareNothing(t *testing.T) {
	want := &sample{List: []inner{{"a"}, {"b"}, {"c"}}}
	got, _, err := samples.Next(encoded(t, Fact{Body: want}))
	if list := got.Body.(*sample).List; err != nil || cap(list) != len(list) {
		t.Errorf("a list of %d has room for %d, %v", len(list), cap(list), err)
	}
}
