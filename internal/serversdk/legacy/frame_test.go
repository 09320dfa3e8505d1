package legacy

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestParseFrame(t *testing.T) {
	const ready = messagePrefix + "ProcessReady"
	tests := []struct {
		text string
		want frame
		bad  bool
	}{
		{text: "2", want: frame{kind: pingFrame, data: []byte{}}},
		{text: "2probe", want: frame{kind: pingFrame, data: []byte("probe")}},
		{text: "3"}, {text: "6"}, {text: "44"},
		{text: "1", want: frame{kind: leaveFrame}},
		{text: "41", want: frame{kind: leaveFrame}},
		{text: "40", want: frame{kind: connectFrame}},
		{text: "40/,{}", want: frame{kind: connectFrame}},
		{text: `451-7["` + ready + `",{"_placeholder":true,"num":0}]`,
			want: frame{kind: requestFrame, id: 7, event: ready, attached: true}},
		{text: "451-0[\r\n  \"" + ready + "\",\r\n  {\r\n    \"_placeholder\": true,\r\n    \"num\": 0\r\n  }\r\n]",
			want: frame{kind: requestFrame, event: ready, attached: true}},
		{text: `451-/,3["a",{}]`, want: frame{kind: requestFrame, id: 3, event: "a", attached: true}},
		{text: `42["a"]`, want: frame{kind: requestFrame, id: -1, event: "a"}},
		{text: `430[true]`, want: frame{kind: ackFrame, accepted: true}},
		{text: `4312[false]`, want: frame{kind: ackFrame, id: 12}},
		{text: `435[]`, want: frame{kind: ackFrame, id: 5}},
		{text: `435["true"]`, want: frame{kind: ackFrame, id: 5}},
		{text: "", bad: true}, {text: "4", bad: true}, {text: "9", bad: true}, {text: "49", bad: true},
		{text: `452-1["a",{}]`, bad: true}, {text: `451["a"]`, bad: true}, {text: "42", bad: true},
		{text: `42{"a":1}`, bad: true}, {text: "42[]", bad: true}, {text: "42[1]", bad: true},
		{text: `42/other,["a"]`, bad: true}, {text: `421234567890123456["a"]`, bad: true},
	}
	for _, tt := range tests {
		got, err := parseFrame([]byte(tt.text))
		if (err != nil) != tt.bad || !tt.bad && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: got %+v, %v; want %+v", tt.text, got, err, tt.want)
		}
	}
}

func TestFramesOfTheService(t *testing.T) {
	c := Config{PingInterval: 25 * time.Second, PingTimeout: time.Minute}
	for got, want := range map[string]string{
		string(openFrame("id", &c)): `0{"sid":"id","upgrades":[],"pingInterval":25000,"pingTimeout":60000}`,
		string(ackOf(3, true, "")):  `433[true,""]`,
		string(ackOf(3, false, failureOf(fault.New(fault.NotFound, "x")))): `433[false,` +
			`"{\"status\":\"ERROR_400\",\"responseData\":\"\",\"errorMessage\":\"x\"}"]`,
		string(eventFrame(0, "StartGameSession", `{"a":1}`)): `420["StartGameSession","{\"a\":1}"]`,
		string(eventFrame(-1, "TerminateProcess", `{}`)):     `42["TerminateProcess","{}"]`,
		textOf(gameSessionOf(processes.CreateGameSessionPush{GameSessionID: "g", FleetID: "f", Port: 1})): `{` +
			`"gameSessionId":"g","fleetId":"f","maxPlayers":0,"joinable":true,"gameProperties":[],` +
			`"ipAddress":"","port":1}`,
		textOf(playerSessionsOf(processes.PlayerSessionPage{})): `{"nextToken":"","playerSessions":[]}`,
		string(envelope(push{message: "TerminateProcess", terminate: time.UnixMilli(1500)})): `{"innerMessage":` +
			`{"@type":"type.googleapis.com/` + messagePrefix + `TerminateProcess","terminationTime":1500}}`,
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := failureOf(errors.New("disk")); got !=
		`{"status":"ERROR_500","responseData":"","errorMessage":"`+fault.Of(errors.New("disk")).Message+`"}` {
		t.Errorf("got %s", got)
	}
}

// text and varint append a field.
func text(data []byte, number protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(data, number, protowire.BytesType), value)
}

func varint(data []byte, number protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(data, number, protowire.VarintType), value)
}

func TestParseRequest(t *testing.T) {
	attributes := text(nil, 1, "elo")
	attributes = text(attributes, 2, string(protowire.AppendFixed64(
		protowire.AppendTag(varint(nil, 1, 2), 3, protowire.Fixed64Type), 0x4059000000000000)))
	player := text(text(nil, 1, "ada"), 2, string(attributes))
	player = text(text(player, 3, "red"), 4, string(varint(text(nil, 1, "us-west-2"), 2, 30)))
	tests := []struct {
		name string
		data []byte
		want message
		bad  bool
	}{
		{"ProcessReady", varint(text(text(nil, 1, "a"), 1, "b"), 2, 7777),
			message{LogPaths: []string{"a", "b"}, Port: 7777}, false},
		{messagePrefix + "ReportHealth", varint(nil, 1, 1), message{Healthy: true}, false},
		{"ReportHealth", nil, message{}, false},
		{"ProcessEnding", varint(nil, 99, 1), message{}, false},
		{"AcceptPlayerSession", text(text(nil, 1, "g"), 2, "p"), message{GameSession: "g", PlayerSession: "p"}, false},
		{"DescribePlayerSessionsRequest", varint(text(nil, 4, "ACTIVE"), 6, 10),
			message{StatusFilter: "ACTIVE", Limit: 10}, false},
		{"BackfillMatchmakingRequest", text(text(nil, 1, "t"), 4, string(player)), message{Ticket: "t",
			Players: []wire.Player{{PlayerId: "ada", Team: "red", LatencyInMs: map[string]int32{"us-west-2": 30},
				PlayerAttributes: map[string]wire.AttributeValue{"elo": {N: wire.Some(100.0)}}}}}, false},
		{"GameSessionActivate", text(nil, 1, "\xff"), message{}, true},
		{"GameSessionActivate", []byte{0x0a, 9, 'x'}, message{}, true},
		{"Unheard", nil, message{}, true},
	}
	for _, tt := range tests {
		_, got, err := parseRequest(tt.name, tt.data)
		if (err != nil) != tt.bad || !tt.bad && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
}

// FuzzFrame reads any text frame.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{"2probe", "40", `451-7["a",{"_placeholder":true,"num":0}]`, `430[true,""]`, "41"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := parseFrame(data); err == nil && got.kind == requestFrame && got.id < -1 {
			t.Errorf("id %d", got.id)
		}
	})
}

// FuzzMessage reads any attachment as every message.
func FuzzMessage(f *testing.F) {
	f.Add(append([]byte{4}, varint(text(nil, 1, "/tmp/gs.log"), 2, 7777)...))
	f.Add(text(nil, 4, string(text(text(nil, 1, "ada"), 2, string(text(nil, 1, "elo"))))))
	f.Fuzz(func(_ *testing.T, data []byte) {
		for name := range schemas {
			_, _, _ = parseRequest(name, attachment(data))
		}
	})
}
