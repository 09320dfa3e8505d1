package region

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// filled makes values in which every field tells itself from the others.
var filled = eventtest.Format{Fill: func(n int) []any { return []any{fleet.PlayerSessionID{0: 1, 15: byte(n)}} }}

// exampleOf is a command with a value of one of the types of Commands in it.
func exampleOf(v any) Command {
	switch v := reflect.ValueOf(v).Elem().Interface().(type) {
	case RoomCommand:
		v.Command = fleet.Clear{}
		return v
	case CatalogCommand:
		return CatalogCommand{catalog.DeleteFleet{Fleet: "fleet-1"}}
	case PlacementCommand:
		return PlacementCommand{placement.Trim{Through: 1}}
	case MatchmakingCommand:
		return MatchmakingCommand{matchmaking.Trim{Through: 1}}
	case Command:
		return v
	case catalog.Command:
		return CatalogCommand{v}
	case fleet.Command:
		return RoomCommand{Room: roomID(1), Command: v, Open: true}
	case placement.Command:
		return PlacementCommand{v}
	case matchmaking.Command:
		return MatchmakingCommand{v}
	default:
		panic(fmt.Sprintf("%T is no command", v))
	}
}

// TestCommands holds the bytes of every command to its file.
func TestCommands(t *testing.T) {
	for number, kind := range Commands.Entries() {
		name := fmt.Sprintf("%03d_%s", number, kind.Elem())
		t.Run(name, func(t *testing.T) {
			c := exampleOf(filled.Filled(event.Entry{Type: reflect.Zero(kind).Interface()}))
			kept := golden(t, filepath.Join("commands", name), appendedCommand(t, c), c)
			for what, data := range map[string][]byte{"the file": kept, "later fields": withLaterFields(t, kept)} {
				if got, err := DecodeCommand(data); err != nil || !reflect.DeepEqual(got, c) {
					t.Errorf("%s: got %+v, %v, want %+v", what, got, err, c)
				}
			}
		})
	}
	goldenCount(t, "commands", len(Commands.Entries()))
}

// answers are what Handle may return, with a name each.
func answers() map[string]any {
	all := map[string]any{"nil": nil, "int": 7, "int_zero": 0, "bool": true, "bool_false": false}
	for _, kind := range Answers.Entries() {
		switch v := filled.Filled(event.Entry{Type: reflect.Zero(kind).Interface()}).(type) {
		case *refusal, *nothing, *number, *truth:
		case *fleet.TokenGrant:
			all[kind.Elem().String()] = *v
		case *fleet.Reservation:
			all[kind.Elem().String()] = *v
		default:
			all[kind.Elem().String()] = v
			all[kind.Elem().String()+"_nil"] = reflect.Zero(kind).Interface()
		}
	}
	return all
}

// refusals are errors that Handle may return, with a name each.
var refusals = map[string]error{
	"fault":            fault.New(fault.GameSessionFull, "The game session is full"),
	"fault_with_cause": fault.Internal(errors.New("the cause")),
	"error":            errors.New("shard 1 holds no catalog"),
}

// TestAnswers holds the bytes of every answer and refusal to its file.
func TestAnswers(t *testing.T) {
	for name, answer := range answers() {
		t.Run(name, func(t *testing.T) {
			kept := golden(t, filepath.Join("answers", name), appendedAnswer(t, answer, nil), answer)
			for what, data := range map[string][]byte{"the file": kept, "later fields": withLaterFields(t, kept)} {
				if got, refused, err := DecodeAnswer(data); err != nil || refused != nil ||
					!reflect.DeepEqual(got, answer) {
					t.Errorf("%s: got %+v, %v, %v, want %+v", what, got, refused, err, answer)
				}
			}
		})
	}
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			kept := golden(t, filepath.Join("answers", "refusal_"+name), appendedAnswer(t, nil, refusal),
				refusal.Error())
			for what, data := range map[string][]byte{"the file": kept, "later fields": withLaterFields(t, kept)} {
				answer, got, err := DecodeAnswer(data)
				if err != nil || answer != nil || !sameRefusal(got, refusal) {
					t.Errorf("%s: got %+v, %v, %v, want %v", what, answer, got, err, refusal)
				}
			}
		})
	}
	goldenCount(t, "answers", len(answers())+len(refusals))
}

// sameRefusal reports whether callers take two errors for the same.
func sameRefusal(a, b error) bool {
	f, ok := errors.AsType[*fault.Error](a)
	g, same := errors.AsType[*fault.Error](b)
	if !ok || !same {
		return ok == same && a.Error() == b.Error()
	}
	return f.Kind == g.Kind && f.Message == g.Message && f.Error() == g.Error()
}

func TestRefusalOfAWrappedFault(t *testing.T) {
	wrapped := fmt.Errorf("room 7: %w", fault.New(fault.NotFound, "Nothing there"))
	_, refused, err := DecodeAnswer(appendedAnswer(t, nil, wrapped))
	if err != nil || !fault.Is(refused, fault.NotFound) || fault.Of(refused).Message != "Nothing there" {
		t.Errorf("got %v, %v", refused, err)
	}
}

func appendedCommand(t testing.TB, c Command) []byte {
	t.Helper()
	data, err := AppendCommand([]byte("x"), c)
	if err != nil || data[0] != 'x' {
		t.Fatalf("%+v: %x, %v", c, data, err)
	}
	return data[1:]
}

func appendedAnswer(t testing.TB, answer any, refused error) []byte {
	t.Helper()
	data, err := AppendAnswer([]byte("x"), answer, refused)
	if err != nil || data[0] != 'x' {
		t.Fatalf("%+v, %v: %x, %v", answer, refused, data, err)
	}
	return data[1:]
}

// golden compares data with a file and returns what the file holds, which may be
// older than the encoder.
func golden(t *testing.T, name string, data []byte, v any) (kept []byte) {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".txt")
	eventtest.Golden(t, path, fmt.Sprintf("%x\n%s\n", data, text))
	first, _, _ := strings.Cut(eventtest.ReadGolden(t, path), "\n")
	if kept, err = hex.DecodeString(first); err != nil {
		t.Fatal(err)
	}
	return kept
}

// goldenCount finds the files of types that are no more: their numbers must not be
// given again.
func goldenCount(t *testing.T, folder string, want int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(files) != want {
		t.Errorf("%d files in %s instead of %d, %v", len(files), folder, want, err)
	}
}

// withLaterFields is a command or an answer with a field more in each of its values.
func withLaterFields(t *testing.T, data []byte) (later []byte) {
	t.Helper()
	for len(data) > 0 {
		var value []cbor.RawMessage
		rest, err := cbor.UnmarshalFirst(data, &value)
		if err != nil {
			t.Fatal(err)
		}
		data = rest
		var fields map[int]cbor.RawMessage
		if err := cbor.Unmarshal(value[1], &fields); err != nil {
			t.Fatal(err)
		}
		if fields != nil {
			fields[9999] = []byte("\xa1\x64from\x81\x65later")
		}
		if value[1], err = cbor.Marshal(fields); err != nil {
			t.Fatal(err)
		}
		again, err := cbor.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		later = append(later, again...)
	}
	return later
}

// TestEveryCommandHasANumber: what decides or handles is a command. A change of a
// number must be on purpose.
func TestEveryCommandHasANumber(t *testing.T) {
	numbered := map[string]bool{}
	for number, kind := range Commands.Entries() {
		pkg := filepath.Base(kind.Elem().PkgPath())
		numbered[pkg+"."+kind.Elem().Name()] = true
		first := map[string]uint64{"catalog": 1, "fleet": 101, "region": 201, "placement": 301, "matchmaking": 401}[pkg]
		if first == 0 || number < first || number > first/100*100+99 {
			t.Errorf("%v has the number %d", kind, number)
		}
	}
	declared := map[string]bool{}
	for _, pkg := range []string{"catalog", "fleet", "placement", "matchmaking"} {
		addReceivers(t, declared, pkg, "decide")
	}
	addReceivers(t, declared, "region", "handle")
	if !maps.Equal(numbered, declared) {
		t.Errorf("numbered are\n%v, commands\n%v", slices.Sorted(maps.Keys(numbered)),
			slices.Sorted(maps.Keys(declared)))
	}
}

// addReceivers adds the types of a package that have a method.
func addReceivers(t *testing.T, types map[string]bool, pkg, method string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", pkg, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("package %s: %v", pkg, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == method {
				types[pkg+"."+f.Recv.List[0].Type.(*ast.Ident).Name] = true
			}
		}
	}
}

// TestCommandsRoundTrip draws commands and answers. What is read has the same bytes
// again: floating-point numbers that are none are not equal to themselves.
func TestCommandsRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, kind := range Commands.Entries() {
		for range 200 {
			data := appendedCommand(t, exampleOf(eventtest.Drawn(rng, kind.Elem())))
			c, err := DecodeCommand(data)
			if err != nil || !bytes.Equal(appendedCommand(t, c), data) {
				t.Fatalf("%v: %x is read as %+v, %v", kind, data, c, err)
			}
		}
	}
	for number, kind := range Answers.Entries() {
		for range 200 {
			if number == 1 { // a refusal has either a kind or no cause
				break
			}
			data, err := Answers.AppendValue(nil, eventtest.Drawn(rng, kind.Elem(), "ACTIVE"))
			if err != nil {
				t.Fatal(err)
			}
			answer, refused, err := DecodeAnswer(data)
			if err != nil {
				t.Fatalf("%v: %x: %v", kind, data, err)
			}
			if again := appendedAnswer(t, answer, refused); !bytes.Equal(again, data) {
				t.Fatalf("%v: %x is read as %+v, %v", kind, data, answer, refused)
			}
		}
	}
}

// TestEmptyIsNotNil: an empty list may take away what nil leaves.
func TestEmptyIsNotNil(t *testing.T) {
	for _, kind := range Commands.Entries() {
		v := reflect.New(kind.Elem())
		lists := 0
		for i := range kind.Elem().NumField() {
			if f := v.Elem().Field(i); f.Kind() == reflect.Slice {
				f.Set(reflect.MakeSlice(f.Type(), 0, 0))
				lists++
			}
		}
		for _, p := range []any{v.Interface(), reflect.New(kind.Elem()).Interface()} {
			want := exampleOf(p)
			if got, err := DecodeCommand(appendedCommand(t, want)); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("with %d lists: got %+v, %v, want %+v", lists, got, err, want)
			}
		}
	}
}

func TestBytesThatAreNoCommand(t *testing.T) {
	whole := appendedCommand(t, register(roomID(1)))
	for name, data := range map[string][]byte{
		"nothing":            nil,
		"a text":             []byte("\x61a"),
		"no number":          []byte("\x82\x61a\xa0"),
		"null":               []byte("\x82\x18\xca\xf6"),
		"null room":          []byte("\x82\x18\xc9\xf6\x82\x18\x69\xa0"),
		"null asked":         []byte("\x82\x18\xc9\xa0\x82\x18\x69\xf6"),
		"asked alone":        []byte("\x82\x18\x69\xa0"),
		"of another part":    []byte("\x82\x18\xcb\xa0\x82\x18\x69\xa0"),
		"a part alone":       []byte("\x82\x18\xc9\xa0"),
		"cut short":          whole[:len(whole)-1],
		"more behind it":     append(slices.Clone(whole), 0),
		"not a map":          []byte("\x82\x18\xca\x05"),
		"a part in the part": []byte("\x82\x18\xc9\xa0\x82\x18\xc9\xa0"),
	} {
		if c, err := DecodeCommand(data); err == nil || c != nil || errors.Is(err, event.ErrUnknown) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	for name, data := range map[string]string{"unknown": "\x82\x19\x03\xe7\xa0",
		"unknown asked": "\x82\x18\xc9\xa0\x82\x19\x03\xe7\xa0"} {
		if c, err := DecodeCommand([]byte(data)); !errors.Is(err, event.ErrUnknown) || c != nil {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	if _, err := AppendCommand(nil, RoomCommand{}); err == nil {
		t.Error("a command that asks nothing is written")
	}
}

func TestBytesThatAreNoAnswer(t *testing.T) {
	for name, data := range map[string]string{
		"nothing": "", "a text": "\x61a", "null refusal": "\x82\x01\xf6", "null for nothing": "\x82\x02\xf6",
		"null number": "\x82\x03\xf6", "null truth": "\x82\x04\xf6",
		"null grant": "\x82\x18\x66\xf6", "null reservation": "\x82\x18\x69\xf6", "more behind it": "\x82\x02\xa0\x00",
		"cut short": "\x82\x02",
	} {
		if answer, refused, err := DecodeAnswer([]byte(data)); err == nil || answer != nil || refused != nil ||
			errors.Is(err, event.ErrUnknown) {
			t.Errorf("%s: %+v, %v, %v", name, answer, refused, err)
		}
	}
	if answer, refused, err := DecodeAnswer([]byte("\x82\x19\x03\xe7\xa0")); !errors.Is(err, event.ErrUnknown) ||
		answer != nil || refused != nil {
		t.Errorf("unknown: %+v, %v, %v", answer, refused, err)
	}
	if _, err := AppendAnswer(nil, "text", nil); err == nil {
		t.Error("an answer that nobody gives is written")
	}
}

// FuzzDecodeCommand: what can be read can be written and read again.
func FuzzDecodeCommand(f *testing.F) {
	for _, kind := range Commands.Entries() {
		f.Add(appendedCommand(f, exampleOf(filled.Filled(event.Entry{Type: reflect.Zero(kind).Interface()}))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := DecodeCommand(data)
		if err != nil {
			return
		}
		again := appendedCommand(t, c)
		c, err = DecodeCommand(again)
		if err != nil || !bytes.Equal(appendedCommand(t, c), again) {
			t.Fatalf("%x is read as %+v, %v", again, c, err)
		}
	})
}

// FuzzDecodeAnswer: what can be read can be written and read again.
func FuzzDecodeAnswer(f *testing.F) {
	for _, answer := range answers() {
		f.Add(appendedAnswer(f, answer, nil))
	}
	for _, refusal := range refusals {
		f.Add(appendedAnswer(f, nil, refusal))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		answer, refused, err := DecodeAnswer(data)
		if err != nil || listsNil(reflect.ValueOf(answer)) {
			return
		}
		again := appendedAnswer(t, answer, refused)
		answer, refused, err = DecodeAnswer(again)
		if err != nil || !bytes.Equal(appendedAnswer(t, answer, refused), again) {
			t.Fatalf("%x is read as %+v, %v, %v", again, answer, refused, err)
		}
	})
}

// listsNil reports whether a nil pointer stands in a list within v. Nobody writes such
// a list.
func listsNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && listsNil(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if listsNil(v.Field(i)) {
				return true
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if e := v.Index(i); e.Kind() == reflect.Pointer && e.IsNil() || listsNil(e) {
				return true
			}
		}
	}
	return false
}
