package wire

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// asCBOR turns JSON into CBOR by another implementation.
func asCBOR(t *testing.T, text string) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	body, err := cbor.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// refuser answers every valid input of an operation with NotReadyException.
func refuser[I, O any](op Operation[I, O]) Handler { return op.Refuse(fault.NotReady, "valid") }

const (
	oneError  = "1 validation error detected: "
	twoErrors = "2 validation errors detected: "
	failed    = " failed to satisfy constraint: "
)

// validations are requests and what is wrong with them; "" is nothing.
var validations = []struct {
	name    string
	handler Handler
	body    string
	want    string
}{
	{"required", refuser(OpDeleteFleet), `{}`,
		oneError + "Value null at 'fleetId'" + failed + "Member must not be null"},
	{"null is absent", refuser(OpDeleteFleet), `{"FleetId":null}`,
		oneError + "Value null at 'fleetId'" + failed + "Member must not be null"},
	{"empty breaks pattern", refuser(OpDeleteFleet), `{"FleetId":""}`,
		twoErrors + "Value '' at 'fleetId'" + failed + "Member must have length greater than or equal to 1; " +
			"Value '' at 'fleetId'" + failed + "Member must satisfy regular expression pattern: " +
			rulePattern("FleetIdOrArn")},
	{"empty breaks minimum", refuser(OpTagResource), `{"ResourceARN":"","Tags":[]}`,
		oneError + "Value '' at 'resourceARN'" + failed + "Member must have length greater than or equal to 1"},
	{"path through a list", refuser(OpTagResource),
		`{"ResourceARN":"a","Tags":[{"Key":"k","Value":""},{"Key":"","Value":"v"}]}`,
		oneError + "Value '' at 'tags.2.member.key'" + failed + "Member must have length greater than or equal to 1"},
	{"null in a list", refuser(OpTagResource), `{"ResourceARN":"a","Tags":[null]}`,
		oneError + "Value null at 'tags.1.member'" + failed + "Member must not be null"},
	{"list too long", refuser(OpCreatePlayerSessions),
		`{"GameSessionId":"a","PlayerIds":[` + strings.Repeat(`"p",`, 25) + `"p"]}`,
		oneError + "Value '***' at 'playerIds'" + failed + "Member must have length less than or equal to 25"},
	{"required list empty", refuser(OpCreatePlayerSessions), `{"GameSessionId":"a","PlayerIds":[]}`,
		oneError + "Value '***' at 'playerIds'" + failed + "Member must have length greater than or equal to 1"},
	{"optional list empty", refuser(OpDescribeFleetAttributes), `{"FleetIds":[]}`, ""},
	{"sensitive element", refuser(OpCreatePlayerSessions),
		`{"GameSessionId":"a","PlayerIds":["` + strings.Repeat("x", 1025) + `"]}`,
		oneError + "Value '***' at 'playerIds.1.member'" + failed +
			"Member must have length less than or equal to 1024"},
	{"map value and key", refuser(OpCreatePlayerSessions),
		`{"GameSessionId":"a","PlayerIds":["p"],"PlayerDataMap":{"":"x","q":""}}`,
		twoErrors + "Value '***' at 'playerDataMap.q.value'" + failed +
			"Member must have length greater than or equal to 1; " +
			"Value '' at 'playerDataMap..key'" + failed + "Member must have length greater than or equal to 1"},
	{"range below", refuser(OpListLocations), `{"Limit":0}`,
		oneError + "Value '0' at 'limit'" + failed + "Member must have value greater than or equal to 1"},
	{"range above", refuser(OpListLocations), `{"Limit":201}`,
		oneError + "Value '201' at 'limit'" + failed + "Member must have value less than or equal to 200"},
	{"range holds", refuser(OpListLocations), `{"Limit":200}`, ""},
	{"enum", refuser(OpListLocations), `{"Filters":["AWS","MARS"]}`,
		oneError + "Value 'MARS' at 'filters.2.member'" + failed + "Member must satisfy enum value set: [AWS, CUSTOM]"},
	{"enum with hundreds of values", refuser(OpDescribeEC2InstanceLimits), `{"EC2InstanceType":"abacus"}`,
		oneError + "Value 'abacus' at 'eC2InstanceType'" + failed + "Member must satisfy enum value set: " +
			enumSet(rules["EC2InstanceType"].text.enum)},
	{"sensitive number", refuser(OpUpdateFleetPortSettings),
		`{"FleetId":"fleet-1","InboundPermissionAuthorizations":[{"FromPort":0,"ToPort":60001,"IpRange":"0.0.0.0/0",` +
			`"Protocol":"UDP"}]}`,
		twoErrors + "Value '***' at 'inboundPermissionAuthorizations.1.member.fromPort'" + failed +
			"Member must have value greater than or equal to 1; " +
			"Value '***' at 'inboundPermissionAuthorizations.1.member.toPort'" + failed +
			"Member must have value less than or equal to 60000"},
	{"characters, not bytes", refuser(OpCreateLocation),
		`{"LocationName":"custom-a","Tags":[{"Key":"` + strings.Repeat("é", 128) + `","Value":"` +
			strings.Repeat("😀", 256) + `"}]}`, ""},
	{"pattern and length", refuser(OpCreateLocation), `{"LocationName":"mars"}`,
		twoErrors + "Value 'mars' at 'locationName'" + failed + "Member must have length greater than or equal to 8; " +
			"Value 'mars' at 'locationName'" + failed +
			"Member must satisfy regular expression pattern: ^custom-[A-Za-z0-9\\-]+$"},
	{"long value is cut", refuser(OpCreateLocation), `{"LocationName":"custom-` + strings.Repeat("é", 60) + `"}`,
		twoErrors + "Value 'custom-" + strings.Repeat("é", 57) + "…' at 'locationName'" + failed +
			"Member must have length less than or equal to 64; " +
			"Value 'custom-" + strings.Repeat("é", 57) + "…' at 'locationName'" + failed +
			"Member must satisfy regular expression pattern: ^custom-[A-Za-z0-9\\-]+$"},
	{"structure inside", refuser(OpCreateFleet), `{"Name":"n","AnywhereConfiguration":{"Cost":"ten"}}`,
		oneError + "Value 'ten' at 'anywhereConfiguration.cost'" + failed +
			"Member must satisfy regular expression pattern: ^\\d{1,5}(?:\\.\\d{1,5})?$"},
	{"duplicates: the last wins", refuser(OpDeleteFleet), `{"FleetId":"fleet-1","FleetId":"x"}`,
		oneError + "Value 'x' at 'fleetId'" + failed + "Member must satisfy regular expression pattern: " +
			rulePattern("FleetIdOrArn")},
	{"unknown members", refuser(OpDeleteFleet), `{"Later":[{"a":[[]]},"}\"]",1.5,null],"FleetId":"fleet-1","Z":{}}`,
		""},
}

// TestEnumSet holds that a message lists a part of a long enumeration only.
func TestEnumSet(t *testing.T) {
	if got := enumSet(rules["EC2InstanceType"].text.enum); !strings.HasPrefix(got, "[t2.micro, t2.small, ") ||
		!strings.HasSuffix(got, ", …]") || len(got) > 600 {
		t.Error(got)
	}
}

// rulePattern is the pattern of the rule of a shape that the tests name.
func rulePattern(shape string) string { return rules[shape].text.pattern.source }

// TestValidation sends requests in both protocols and compares the whole message.
func TestValidation(t *testing.T) {
	for _, c := range validations {
		t.Run(c.name, func(t *testing.T) {
			for p, body := range map[Protocol][]byte{JSON: []byte(c.body), CBOR: asCBOR(t, c.body)} {
				var out []byte
				f := fault.Of(c.handler.Serve(context.Background(), p, body, &out))
				want := fault.New(fault.InvalidRequest, "%s", c.want)
				if c.want == "" {
					want = fault.New(fault.NotReady, "valid")
				}
				if f.Kind != want.Kind || f.Message != want.Message {
					t.Errorf("%s:\n got %v\nwant %v", p, f, want)
				}
				if out != nil {
					t.Errorf("%s: output %q", p, out)
				}
			}
		})
	}
}

// TestManyViolations holds that a message lists ten violations and counts all.
func TestManyViolations(t *testing.T) {
	body := []byte(`{"ResourceARN":"a","Tags":[` + strings.Repeat(`{},`, 100) + `{}]}`)
	_, err := OpTagResource.Decode(JSON, body)
	f := fault.Of(err)
	if !strings.HasPrefix(f.Message, "202 validation errors detected: ") ||
		!strings.HasSuffix(f.Message, "; and 192 more") {
		t.Error(f.Message)
	}
	if n := strings.Count(f.Message, "must not be null"); n != maxListed {
		t.Errorf("%d violations listed", n)
	}
}

// TestReaderIsClean holds that nothing of a request that failed is left for the next.
func TestReaderIsClean(t *testing.T) {
	for range 3 {
		for _, p := range []Protocol{JSON, CBOR} {
			bad, good := []byte(`{"ResourceARN":"a","Tags":[{"Key":7}]}`), []byte(`{"FleetId":"fleet-1"}`)
			if p == CBOR {
				bad, good = asCBOR(t, string(bad)), asCBOR(t, string(good))
			}
			if _, err := OpTagResource.Decode(p, bad); !fault.Is(err, fault.Serialization) {
				t.Fatal(err)
			}
			if _, err := OpDeleteFleet.Decode(p, good); err != nil {
				t.Fatal(err)
			}
		}
	}
}
