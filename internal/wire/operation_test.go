package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestOperationsAreTheModels compares the table with the model, and the model's
// exceptions with the kinds of package fault.
func TestOperationsAreTheModels(t *testing.T) {
	text, err := os.ReadFile("model/gamelift.json")
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		Operations map[string]struct {
			Out    *string
			Errors []string
		}
		Shapes map[string]struct{ Exc bool }
	}
	var model struct {
		part
		Later   part
		Service struct{ Protocols []string }
	}
	if err := json.Unmarshal(text, &model); err != nil {
		t.Fatal(err)
	}
	if got := []string{CBOR.String(), JSON.String()}; !slices.Equal(got, model.Service.Protocols) {
		t.Errorf("protocols %v, want %v", got, model.Service.Protocols)
	}
	if len(Operations) != 120 || len(model.Operations) != 120 {
		t.Fatalf("%d operations, %d in the model", len(Operations), len(model.Operations))
	}
	for name, want := range model.Operations {
		if later, ok := model.Later.Operations[name]; ok {
			want = later
		}
		got, ok := Lookup(name)
		if !ok || got.Name != name || got.HasOutput != (want.Out != nil) ||
			!slices.Equal(got.Errors, slices.Sorted(slices.Values(want.Errors))) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		for _, e := range want.Errors {
			if !fault.Kind(e).Modelled() {
				t.Errorf("%s: package fault does not know %s", name, e)
			}
		}
	}
	exceptions := 0
	for name, s := range model.Shapes {
		if s.Exc != fault.Kind(name).Modelled() {
			t.Errorf("%s: an exception of the model: %t, of package fault: %t", name, s.Exc, !s.Exc)
		}
		if s.Exc {
			exceptions++
		}
	}
	if exceptions != 16 {
		t.Errorf("%d exceptions", exceptions)
	}
}

// TestLookup holds that names are case-sensitive and the table is sorted.
func TestLookup(t *testing.T) {
	for _, name := range []string{"", "createFleet", "CreateFleets", "ZZZ"} {
		if op, ok := Lookup(name); ok {
			t.Errorf("%q finds %s", name, op.Name)
		}
	}
	if op, ok := Lookup("ListFleets"); !ok || !op.Paginated || op != OpListFleets.OperationInfo {
		t.Errorf("ListFleets: %+v %t", op, ok)
	}
}

// TestModels holds which exceptions every client knows.
func TestModels(t *testing.T) {
	for kind, want := range map[fault.Kind]bool{
		fault.Conflict: true, fault.UnsupportedRegion: false, fault.Throttling: false,
	} {
		if got := OpCreateLocation.Models(kind); got != want {
			t.Errorf("%s: %t", kind, got)
		}
	}
}

// TestServe holds what a handler appends for each kind of output.
func TestServe(t *testing.T) {
	ctx := context.Background()
	cause := errors.New("cause")
	for _, c := range []struct {
		name       string
		h          Handler
		body       string
		json, cbor string
		want       error
	}{
		{"no output", OpDeleteFleet.HandleEmpty(func(context.Context, *DeleteFleetInput) error { return nil }),
			`{"FleetId":"fleet-1"}`, "", "", nil},
		{"empty output", OpDeleteLocation.HandleEmpty(func(context.Context, *DeleteLocationInput) error { return nil }),
			`{"LocationName":"custom-a"}`, "{}", "\xa0", nil},
		{"nil output", OpListFleets.Handle(func(context.Context, *ListFleetsInput) (*ListFleetsOutput, error) {
			return nil, nil
		}), ``, "{}", "\xa0", nil},
		{"output", OpListFleets.Handle(func(_ context.Context, in *ListFleetsInput) (*ListFleetsOutput, error) {
			return &ListFleetsOutput{FleetIds: []string{in.NextToken}}, nil
		}), `{"NextToken":"t"}`, `{"FleetIds":["t"]}`, "\xa1\x68FleetIds\x81\x61t", nil},
		{"error", OpListFleets.Handle(func(context.Context, *ListFleetsInput) (*ListFleetsOutput, error) {
			return nil, cause
		}), ``, "", "", cause},
	} {
		for p, want := range map[Protocol]string{JSON: c.json, CBOR: c.cbor} {
			body := []byte(c.body)
			if p == CBOR && len(body) > 0 {
				body = asCBOR(t, c.body)
			}
			out := []byte("before ")
			if err := c.h.Serve(ctx, p, body, &out); !errors.Is(err, c.want) {
				t.Errorf("%s %s: %v", c.name, p, err)
			}
			if got := string(bytes.TrimPrefix(out, []byte("before "))); got != want {
				t.Errorf("%s %s: %q, want %q", c.name, p, got, want)
			}
		}
	}
}

// TestInputIsItsOwn holds that an input does not change with the body it was read from.
func TestInputIsItsOwn(t *testing.T) {
	const text = `{"GameSessionId":"a","PlayerIds":["p1","p2"],"PlayerDataMap":{"k1":"d"}}`
	for p, body := range map[Protocol][]byte{JSON: []byte(text), CBOR: asCBOR(t, text)} {
		in, err := OpCreatePlayerSessions.Decode(p, body)
		if err != nil {
			t.Fatal(err)
		}
		for i := range body {
			body[i] = '#'
		}
		if in.GameSessionId != "a" || in.PlayerIds[1] != "p2" || in.PlayerDataMap["k1"] != "d" {
			t.Errorf("%s: %+v", p, in)
		}
	}
}

// TestAppendError has other implementations read error bodies.
func TestAppendError(t *testing.T) {
	f := fault.New(fault.NotFound, "no \"fleet\"\n")
	for _, c := range []struct {
		p        Protocol
		modelled bool
		f        *fault.Error
		want     map[string]string
	}{
		{JSON, true, f, map[string]string{"__type": "NotFoundException", "Message": f.Message, "message": f.Message}},
		{JSON, false, f, map[string]string{"__type": "NotFoundException", "Message": f.Message, "message": f.Message}},
		{CBOR, true, f, map[string]string{"__type": "com.amazonaws.gamelift#NotFoundException", "Message": f.Message,
			"message": f.Message}},
		{CBOR, false, f, map[string]string{"__type": "NotFoundException", "Message": f.Message, "message": f.Message}},
		{JSON, true, &fault.Error{Kind: fault.Conflict},
			map[string]string{"__type": "ConflictException", "Message": "ConflictException",
				"message": "ConflictException"}},
	} {
		read := json.Unmarshal
		if c.p == CBOR {
			read = cbor.Unmarshal
		}
		var got map[string]string
		if err := read(AppendError(nil, c.p, c.f, c.modelled), &got); err != nil {
			t.Fatal(err)
		}
		if len(got) != 3 || got["__type"] != c.want["__type"] || got["Message"] != c.want["Message"] ||
			got["message"] != c.want["message"] {
			t.Errorf("%s %t: %v, want %v", c.p, c.modelled, got, c.want)
		}
	}
}

// TestOpt holds the difference between absent and zero.
func TestOpt(t *testing.T) {
	var absent Opt[int32]
	if v, ok := absent.Get(); v != 0 || ok || absent.IsSet() || absent.Or(7) != 7 {
		t.Error("the zero Opt is present")
	}
	zero := Some(int32(0))
	if v, ok := zero.Get(); v != 0 || !ok || !zero.IsSet() || zero.Or(7) != 0 {
		t.Error("a present zero is absent")
	}
}

// TestEnums holds that a rule tells the values of an enumeration from others.
func TestEnums(t *testing.T) {
	for value, want := range map[FleetStatus]int{FleetStatusActive: 0, "": 1, "active": 1} {
		var c checker
		c.checkText("", string(value), rules["FleetStatus"].text)
		if c.count != want {
			t.Errorf("%q: %q", value, c.texts)
		}
	}
}
