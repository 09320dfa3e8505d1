package wire

import (
	"bytes"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestRecode: an input is in CBOR as a client sends it, and an output as the service does.
func TestRecode(t *testing.T) {
	in := &CreateFleetInput{Name: "é", Locations: []LocationConfiguration{{Location: "custom-a"}},
		AnywhereConfiguration: &AnywhereConfiguration{Cost: "0.1"}}
	got, err := OpCreateFleet.InputCBOR(OpCreateFleet.AppendInput(nil, JSON, in))
	if want := OpCreateFleet.AppendInput(nil, CBOR, in); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%x, %v, want %x", got, err, want)
	}
	out := &ListFleetsOutput{FleetIds: []string{"fleet-1"}, NextToken: "n"}
	got, err = OpListFleets.OutputCBOR(OpListFleets.Append(nil, JSON, out))
	if want := OpListFleets.Append(nil, CBOR, out); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%x, %v, want %x", got, err, want)
	}
	text, err := Diagnose(got)
	if want := `{"FleetIds": ["fleet-1"], "NextToken": "n"}`; err != nil || text != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	if got, err = OpDeleteFleet.OutputCBOR(nil); err != nil || len(got) != 0 {
		t.Errorf("no output: %x, %v", got, err)
	}
	for _, bad := range []string{"[", `{"Name": 1}`, "[]"} {
		if _, err := OpCreateFleet.InputCBOR([]byte(bad)); !fault.Is(err, fault.Serialization) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestRecodeSamples: the sample of each operation has a CBOR.
func TestRecodeSamples(t *testing.T) {
	for _, o := range Operations {
		body, err := o.InputCBOR(o.Sample())
		if err == nil {
			_, err = Diagnose(body)
		}
		if err != nil {
			t.Errorf("%s: %v", o.Name, err)
		}
	}
}
