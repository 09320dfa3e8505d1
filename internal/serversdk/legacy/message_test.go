package legacy

import (
	"encoding/hex"
	"math"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-gg/muster/internal/wire"
)

// double appends a field with a double.
func double(data []byte, number protowire.Number, value float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(data, number, protowire.Fixed64Type), math.Float64bits(value))
}

// within appends a field with a message.
func within(data []byte, number protowire.Number, inner []byte) []byte {
	return text(data, number, string(inner))
}

// TestMessagesOfTheSpecification reads bytes as the SDKs send them. The first is from the transcripts.
func TestMessagesOfTheSpecification(t *testing.T) {
	for _, tt := range []struct {
		hex, name string
		want      message
	}{
		{"040a0b2f746d702f67732e6c6f6710e13c", "ProcessReady", message{LogPaths: []string{"/tmp/gs.log"}, Port: 7777}},
		{"0a0b2f746d702f67732e6c6f6710e13c", "ProcessReady", message{LogPaths: []string{"/tmp/gs.log"}, Port: 7777}},
		{"10e13c1801", "ProcessReady", message{Port: 7777}}, // maxConcurrentGameSessions
		{"10ffffffffffffffffff01", "ProcessReady", message{Port: -1}},
		{"04", "ProcessEnding", message{}},
		{"", "ProcessEnding", message{}},
		{"04", "GetInstanceCertificate", message{}},
		{"040801", "ReportHealth", message{Healthy: true}},
		{"040800", "ReportHealth", message{}},
		{"04", "ReportHealth", message{}},
		{"0a0167", "GameSessionActivate", message{GameSession: "g"}},
		{"0a01671002180a", "GameSessionActivate", message{GameSession: "g"}}, // maxPlayers and port
		{"", "GameSessionActivate", message{}},
		{"0a0167", "GameSessionTerminate", message{GameSession: "g"}},
		{"0a0167120844454e595f414c4c", "UpdatePlayerSessionCreationPolicy",
			message{GameSession: "g", Policy: "DENY_ALL"}},
		{"0a0167120870736573732d6232", "AcceptPlayerSession", message{GameSession: "g", PlayerSession: "psess-b2"}},
		{"0a0167120870736573732d6232", "RemovePlayerSession", message{GameSession: "g", PlayerSession: "psess-b2"}},
		{"0a01671201701a01732206414354495645" + "2a016e300a", "DescribePlayerSessionsRequest",
			message{GameSession: "g", Player: "p", PlayerSession: "s", StatusFilter: "ACTIVE", NextToken: "n",
				Limit: 10}},
		{"0a01741201671a0163", "StopMatchmakingRequest",
			message{Ticket: "t", GameSession: "g", Configuration: "c"}},
		{"0a01741201671a016322030a0161", "BackfillMatchmakingRequest", message{Ticket: "t", GameSession: "g",
			Configuration: "c", Players: []wire.Player{{PlayerId: "a"}}}},
		{"0a01670a0168", "GameSessionActivate", message{GameSession: "h"}},     // the last one counts
		{"08010a0167", "GameSessionActivate", message{GameSession: "g"}},       // another type of field 1
		{"0a0167fa01026869", "GameSessionActivate", message{GameSession: "g"}}, // unknown field 31
		{"4b08014c0a0167", "GameSessionActivate", message{GameSession: "g"}},   // unknown group
		{"0d00000000" + "0801", "ReportHealth", message{Healthy: true}},        // fixed32
		{"0a0b" + "c3a4c3b6c3bce282ac21" + "21", "GameSessionActivate", message{GameSession: "äöü€!!"}},
	} {
		data, err := hex.DecodeString(tt.hex)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{tt.name, messagePrefix + tt.name} {
			short, got, err := parseRequest(name, attachment(data))
			if err != nil || short != tt.name || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s %s: got %s %+v, %v; want %+v", name, tt.hex, short, got, err, tt.want)
			}
		}
	}
}

// TestPlayers reads attributes of all types, and latencies.
func TestPlayers(t *testing.T) {
	entryOf := func(key string, value []byte) []byte { return within(text(nil, 1, key), 2, value) }
	attributes := map[string][]byte{
		"clan":   text(varint(nil, 1, 1), 2, "red"),
		"none":   varint(nil, 1, 1),
		"elo":    double(varint(nil, 1, 2), 3, -12.5),
		"zero":   varint(nil, 1, 2),
		"modes":  text(text(varint(nil, 1, 3), 4, "ctf"), 4, "duel"),
		"empty":  varint(nil, 1, 3),
		"maps":   within(within(varint(nil, 1, 4), 5, double(text(nil, 1, "dust"), 2, 7)), 5, text(nil, 1, "inferno")),
		"nomaps": varint(nil, 1, 4),
		"odd":    varint(nil, 1, 9),
	}
	ada := text(text(nil, 1, "ada"), 3, "red")
	for key, value := range attributes {
		ada = within(ada, 2, entryOf(key, value))
	}
	ada = within(ada, 2, text(nil, 1, "absent"))
	for region, ms := range map[string]int{"us-west-2": 30, "eu-west-1": 2000} {
		ada = within(ada, 4, varint(text(nil, 1, region), 2, uint64(ms)))
	}
	ada = within(ada, 4, text(nil, 1, "local"))
	data := within(within(text(nil, 3, "c"), 4, ada), 4, text(nil, 1, "bob"))
	_, got, err := parseRequest("BackfillMatchmakingRequest", data)
	want := message{Configuration: "c", Players: []wire.Player{{
		PlayerId: "ada", Team: "red",
		PlayerAttributes: map[string]wire.AttributeValue{
			"clan": {S: "red"}, "none": {}, "elo": {N: wire.Some(-12.5)}, "zero": {N: wire.Some(0.0)},
			"modes": {SL: []string{"ctf", "duel"}}, "empty": {SL: []string{}},
			"maps": {SDM: map[string]float64{"dust": 7, "inferno": 0}}, "nomaps": {SDM: map[string]float64{}},
			"odd": {}, "absent": {},
		},
		LatencyInMs: map[string]int32{"us-west-2": 30, "eu-west-1": 2000, "local": 0},
	}, {PlayerId: "bob"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

// TestMalformedMessages rejects what is no protobuf message, and texts that are not UTF-8, at every depth.
func TestMalformedMessages(t *testing.T) {
	player := func(inner []byte) []byte { return within(nil, 4, inner) }
	whole := player(within(text(nil, 1, "ada"), 2, within(text(nil, 1, "elo"), 2, double(varint(nil, 1, 2), 3, 1))))
	for name, data := range map[string][]byte{
		"field 0":             {0x02, 1, 'x'},
		"unfinished tag":      {0x80},
		"end without a group": {0x0c},
		"group without end":   {0x4b, 0x08, 0x01},
		"type 7":              {0x0f},
		"length too large":    {0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 'x'},
		"endless varint":      {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"text":                text(nil, 1, "\xc3"),
		"player":              player(text(nil, 1, "\xff")),
		"team":                player(text(nil, 3, "\xed\xa0\x80")),
		"key of an attribute": player(within(nil, 2, text(nil, 1, "\xff"))),
		"attribute":           player(within(nil, 2, within(text(nil, 1, "a"), 2, text(nil, 2, "\xff")))),
		"list":                player(within(nil, 2, within(text(nil, 1, "a"), 2, text(nil, 4, "\xff")))),
		"map":                 player(within(nil, 2, within(nil, 2, within(nil, 5, text(nil, 1, "\xff"))))),
		"latency":             player(within(nil, 4, text(nil, 1, "\xff"))),
		"second attachment":   append([]byte{4}, text(nil, 1, "t")...),
	} {
		if _, got, err := parseRequest("BackfillMatchmakingRequest", data); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	for n := 1; n < len(whole); n++ { // a field of one element, cut anywhere
		if _, got, err := parseRequest("BackfillMatchmakingRequest", whole[:n]); err == nil {
			t.Errorf("%x: got %+v", whole[:n], got)
		}
	}
}

func TestAttachment(t *testing.T) {
	for in, want := range map[string]string{"": "", "\x04": "", "\x04\x08\x01": "\x08\x01", "\x08\x01": "\x08\x01",
		"\x04\x04": "\x04"} {
		if got := attachment([]byte(in)); string(got) != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
