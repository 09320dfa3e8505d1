package fleet

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

// filled sets every field of a struct to a value that tells it from the others,
// so that a golden file shows each of them.
func filled(t reflect.Type) reflect.Value {
	n := 0
	v := reflect.New(t)
	fill(v.Elem(), &n)
	return v
}

func fill(v reflect.Value, n *int) {
	*n++
	switch {
	case v.Type() == reflect.TypeFor[event.Time]():
		v.SetInt(int64(start.Add(time.Duration(*n) * time.Second)))
	case v.Type() == reflect.TypeFor[PlayerSessionID]():
		v.Set(reflect.ValueOf(newPlayerSessionID(Address{Shard: 3, Room: 7}, 42, [8]byte{0: 1, 7: byte(*n)})))
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprint("text-", *n))
	case v.CanInt():
		v.SetInt(int64(*n))
	case v.CanUint():
		v.SetUint(uint64(*n))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), n)
			}
		}
	default:
		panic("no example of " + v.Type().String())
	}
}

func goldenPath(e event.Entry) string {
	return filepath.Join("testdata", "golden", fmt.Sprintf("%03d_%s.txt", e.Number, types.Name(e.Type)))
}

// TestGolden holds the bytes of every type to its file: what was written once
// must be read for ever.
func TestGolden(t *testing.T) {
	for _, e := range Events {
		t.Run(types.Name(e.Type), func(t *testing.T) {
			body := filled(reflect.TypeOf(e.Type).Elem()).Interface()
			var buf bytes.Buffer
			if err := types.Append(&buf, event.Fact{Room: 7, Body: body}); err != nil {
				t.Fatal(err)
			}
			text, err := json.MarshalIndent(body, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, goldenPath(e), fmt.Sprintf("%x\n%s\n", buf.Bytes(), text))
		})
	}
}

// TestGoldenDecodes reads the bytes of the files, not those of today's encoder.
func TestGoldenDecodes(t *testing.T) {
	for _, e := range Events {
		t.Run(types.Name(e.Type), func(t *testing.T) {
			f, rest, err := types.Next(goldenBytes(t, e))
			if err != nil || len(rest) > 0 || f.Room != 7 {
				t.Fatalf("got %+v, %d bytes left, %v", f, len(rest), err)
			}
			if want := filled(reflect.TypeOf(e.Type).Elem()).Interface(); !reflect.DeepEqual(f.Body, want) {
				t.Errorf("got %+v, want %+v", f.Body, want)
			}
		})
	}
}

// TestUnknownFieldsAreIgnored reads each type with a field that a later release
// might have added.
func TestUnknownFieldsAreIgnored(t *testing.T) {
	for _, e := range Events {
		t.Run(types.Name(e.Type), func(t *testing.T) {
			var fact []cbor.RawMessage
			if err := cbor.Unmarshal(goldenBytes(t, e), &fact); err != nil {
				t.Fatal(err)
			}
			var fields map[int]any
			if err := cbor.Unmarshal(fact[2], &fields); err != nil {
				t.Fatal(err)
			}
			fields[9999] = map[string]any{"from": []string{"a", "later", "release"}}
			var err error
			if fact[2], err = cbor.Marshal(fields); err != nil {
				t.Fatal(err)
			}
			data, err := cbor.Marshal(fact)
			if err != nil {
				t.Fatal(err)
			}
			f, _, err := types.Next(data)
			if err != nil {
				t.Fatal(err)
			}
			if want := filled(reflect.TypeOf(e.Type).Elem()).Interface(); !reflect.DeepEqual(f.Body, want) {
				t.Errorf("got %+v, want %+v", f.Body, want)
			}
		})
	}
}

func goldenBytes(t *testing.T, e event.Entry) []byte {
	t.Helper()
	text := readFile(t, goldenPath(e))
	first, _, _ := strings.Cut(text, "\n")
	data, err := hex.DecodeString(first)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestGoldenFilesAreOfTypes finds files of types that are no more: their
// numbers must not be given again.
func TestGoldenFilesAreOfTypes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(Events) {
		t.Errorf("%d golden files for %d types", len(files), len(Events))
	}
	for _, e := range Events {
		if kind := e.Number >= 150; e.Number < 101 || e.Number > 199 || kind != isRecord(e.Type) {
			t.Errorf("%s has the number %d", types.Name(e.Type), e.Number)
		}
	}
}

func isRecord(v any) bool {
	switch v.(type) {
	case *Header, *Compute, *Process, *GameSession, *Note:
		return true
	default:
		return false
	}
}

// TestZeroIsNotAbsent keeps values apart whose zero has a meaning.
func TestZeroIsNotAbsent(t *testing.T) {
	zero := int32(0)
	var buf bytes.Buffer
	if err := types.Append(&buf, event.Fact{Room: 7, Body: &GameSessionUpdated{Ordinal: 1, Maximum: &zero}}); err != nil {
		t.Fatal(err)
	}
	f := factsIn(t, buf.Bytes())[0]
	if got := f.Body.(*GameSessionUpdated).Maximum; got == nil || *got != 0 {
		t.Errorf("a maximum of 0 is read as %v", got)
	}
}
