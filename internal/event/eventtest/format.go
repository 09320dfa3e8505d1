// Package eventtest holds the types of facts to what package event promises of them: bytes that were written once can
// be read for ever, and what is written and read is what the cbor library does by the same tags.
//
// [Golden] holds any other result of a test to a file in its testdata.
package eventtest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/muster-gg/muster/internal/event"
)

// A Format is the types of one package.
type Format struct {
	Set     *event.Set
	Entries []event.Entry

	// numbers: of the first event, the first record, and the last that there can be
	First, Records, Last uint64
	IsRecord             func(any) bool // whether snapshots contain a value
	// Values for fields of certain types that Filled would set otherwise; may be nil.
	Fill  func(n int) []any
	Words []string // that fields often contain
}

// Facts decodes all that data holds.
func Facts(t testing.TB, set *event.Set, data []byte) []event.Fact {
	t.Helper()
	var facts []event.Fact
	for len(data) > 0 {
		f, rest, err := set.Next(data)
		if err != nil {
			t.Fatal(err)
		}
		facts, data = append(facts, f), rest
	}
	return facts
}

// Filled is a value of an entry's type in which every field tells itself from the others, so that a golden file shows
// each of them.
func (f *Format) Filled(e event.Entry) any {
	n := 0
	v := reflect.New(reflect.TypeOf(e.Type).Elem())
	f.fill(v.Elem(), &n)
	return v.Interface()
}

// start is the moment that times in golden files count from.
var start = event.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

func (f *Format) fill(v reflect.Value, n *int) {
	*n++
	if f.special(v, *n) {
		return
	}
	switch {
	case v.Type() == reflect.TypeFor[event.Time]():
		v.SetInt(int64(start.Add(time.Duration(*n) * time.Second)))
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprint("text-", *n))
	case v.CanInt():
		v.SetInt(int64(*n))
	case v.CanUint():
		v.SetUint(uint64(*n))
	case v.CanFloat():
		v.SetFloat(float64(*n) + 0.1)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	default:
		f.fillParts(v, n)
	}
}

// special sets a value of a type that has a value of its own.
func (f *Format) special(v reflect.Value, n int) bool {
	if f.Fill == nil {
		return false
	}
	for _, value := range f.Fill(n) {
		if reflect.TypeOf(value) == v.Type() {
			v.Set(reflect.ValueOf(value))
			return true
		}
	}
	return false
}

func (f *Format) fillParts(v reflect.Value, n *int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), n)
	case reflect.Map: // of one entry: the library writes more in any order
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, n)
		f.fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0), n)
		f.fill(v.Index(1), n)
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), n)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				f.fill(v.Field(i), n)
			}
		}
	case reflect.Interface: // nil
	default:
		panic("no example of " + v.Type().String())
	}
}

// Test holds the types to their files in testdata/golden.
func (f *Format) Test(t *testing.T) {
	for _, e := range f.Entries {
		t.Run(f.Set.Name(e.Type), func(t *testing.T) {
			f.testWritten(t, e)
			f.testRead(t, e)
			f.testLaterField(t, e)
		})
	}
	t.Run("numbers", f.testNumbers)
}

func (f *Format) path(e event.Entry) string {
	return filepath.Join("testdata", "golden", fmt.Sprintf("%03d_%s.txt", e.Number, f.Set.Name(e.Type)))
}

// written are the bytes of a type's file, which may be older than the encoder.
func (f *Format) written(t *testing.T, e event.Entry) []byte {
	t.Helper()
	first, _, _ := strings.Cut(ReadGolden(t, f.path(e)), "\n")
	data, err := hex.DecodeString(first)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (f *Format) testWritten(t *testing.T, e event.Entry) {
	body := f.Filled(e)
	var buf bytes.Buffer
	if err := f.Set.Append(&buf, event.Fact{Room: 7, Body: body}); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	Golden(t, f.path(e), fmt.Sprintf("%x\n%s\n", buf.Bytes(), text))
}

func (f *Format) testRead(t *testing.T, e event.Entry) {
	got, rest, err := f.Set.Next(f.written(t, e))
	if want := (event.Fact{Room: 7, Body: f.Filled(e)}); err != nil || len(rest) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %d bytes left, %v, want %+v", got, len(rest), err, want)
	}
}

// testLaterField reads the type with a field that a later release might have added.
func (f *Format) testLaterField(t *testing.T, e event.Entry) {
	var fact []cbor.RawMessage
	if err := cbor.Unmarshal(f.written(t, e), &fact); err != nil {
		t.Fatal(err)
	}
	var fields map[int]cbor.RawMessage
	if err := cbor.Unmarshal(fact[2], &fields); err != nil {
		t.Fatal(err)
	}
	fields[9999] = []byte("\xa1\x64from\x81\x65later")
	var err error
	if fact[2], err = cbor.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	data, err := cbor.Marshal(fact)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := f.Set.Next(data)
	if want := f.Filled(e); err != nil || !reflect.DeepEqual(got.Body, want) {
		t.Errorf("with a later field: got %+v, %v, want %+v", got.Body, err, want)
	}
}

// testNumbers finds numbers out of place, and files of types that are no more: their numbers must not be given again.
func (f *Format) testNumbers(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(f.Entries) {
		t.Errorf("%d golden files for %d types", len(files), len(f.Entries))
	}
	for _, e := range f.Entries {
		if e.Number < f.First || e.Number > f.Last || f.IsRecord(f.Filled(e)) != (e.Number >= f.Records) {
			t.Errorf("%s has the number %d", f.Set.Name(e.Type), e.Number)
		}
	}
}
