package legacy

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
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

// text and varint append a field.
func text(data []byte, number protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(data, number, protowire.BytesType), value)
}

func varint(data []byte, number protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(data, number, protowire.VarintType), value)
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
