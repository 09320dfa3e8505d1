package protocol

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/muster-gg/muster/gamenet/handshake"
)

// A decoder is FromPlayer or FromServer.
type decoder func(uint16, []byte) (Message, error)

var fromPlayer = []Message{
	Input{Sequence: 7, X: -127, Y: 127},
	Say{"hello, wörld"},
	Leave{},
	Probe{42},
}

var fromServer = []Message{
	Joined{Number: 3, Name: "ada"}, Joined{Number: 4},
	Left{3},
	Said{Number: 3, Text: "hello"},
	State{Tick: 9, Places: []Place{{1, -5000, 5000}, {2, 0, 1}}},
	State{Tick: 10, Places: []Place{}},
	State{Tick: 11, Places: make([]Place, MaxPlaces)},
	Notice{"be quiet"},
	Echo{42},
}

func TestRoundTrip(t *testing.T) {
	for _, test := range []struct {
		decode   decoder
		messages []Message
	}{{FromPlayer, fromPlayer}, {FromServer, fromServer}} {
		for _, m := range test.messages {
			payload := m.Append([]byte("before"))[len("before"):]
			if got, err := test.decode(m.ID(), payload); err != nil || !reflect.DeepEqual(got, m) {
				t.Errorf("%+v became %+v, %v", m, got, err)
			}
			if size := 4 + len(payload); size > MaxPacket {
				t.Errorf("%T has %d bytes", m, size)
			}
		}
	}
}

func TestBytes(t *testing.T) {
	for _, test := range []struct {
		message Message
		want    string
	}{
		{Input{Sequence: 258, X: 1, Y: -1}, "\x02\x01\x00\x00\x01\xff"},
		{State{Tick: 1, Places: []Place{{2, -2, 3}}}, "\x01\x00\x00\x00\x02\x00\x00\x00\xfe\xff\x03\x00"},
	} {
		if got := string(test.message.Append(nil)); got != test.want {
			t.Errorf("%+v is %q, want %q", test.message, got, test.want)
		}
	}
}

func TestInvalid(t *testing.T) {
	for _, test := range []struct {
		name    string
		decode  decoder
		id      uint16
		payload string
	}{
		{"no id of a player", FromPlayer, IDEcho, ""},
		{"no id of a server", FromServer, IDLeave, ""},
		{"a packet of the handshake", FromPlayer, handshake.FirstID, "\x01"},
		{"nothing where a number is", FromServer, IDLeft, "\x01\x00"},
		{"a text without its bytes", FromPlayer, IDSay, "\x05hi"},
		{"an empty text", FromPlayer, IDSay, "\x00"},
		{"a text that is too long", FromPlayer, IDSay, "\xc9" + strings.Repeat("x", 201)},
		{"a name that is too long", FromServer, IDJoined, "\x01\x00\x00\x00\x21" + strings.Repeat("x", 33)},
		{"no UTF-8", FromPlayer, IDSay, "\x01\xff"},
		{"a control character", FromPlayer, IDSay, "\x03a\x1bb"},
		{"bytes after the end", FromPlayer, IDLeave, "\x00"},
		{"half a place", FromServer, IDState, "\x01\x00\x00\x00\x02\x00\x00\x00"},
		{"too many places", FromServer, IDState, strings.Repeat("x", 4+8*(MaxPlaces+1))},
	} {
		if m, err := test.decode(test.id, []byte(test.payload)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %+v, %v", test.name, m, err)
		}
	}
}

// TestJoining sends the data of Hello and Welcome.
func TestJoining(t *testing.T) {
	for _, test := range []struct {
		join Join
		want string
	}{
		{Join{}, "\x00"}, {Join{"ada"}, "\x03ada"},
		{Join{strings.Repeat("x", MaxName)}, " " + strings.Repeat("x", MaxName)},
	} {
		data := test.join.Append(nil)
		if got, err := ReadJoin(data); string(data) != test.want || got != test.join || err != nil {
			t.Errorf("%+v is %q and became %+v, %v", test.join, data, got, err)
		}
	}
	want := Welcome{Number: 2, TickRate: 30}
	data := want.Append(nil)
	if got, err := ReadWelcome(data); string(data) != "\x02\x00\x00\x00\x1e\x00" || got != want || err != nil {
		t.Errorf("%+v is %q and became %+v, %v", want, data, got, err)
	}
	for _, data := range []string{"", "\x04ada", "\x03adam", "\x01\n", "\x21" + strings.Repeat("x", MaxName+1)} {
		if got, err := ReadJoin([]byte(data)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q became %+v, %v", data, got, err)
		}
	}
	for _, data := range []string{
		"", "\x02\x00\x00\x00\x1e", "\x00\x00\x00\x00\x1e\x00", "\x02\x00\x00\x00\x00\x00",
		"\x02\x00\x00\x00\x1e\x00\x00",
	} {
		if got, err := ReadWelcome([]byte(data)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q became %+v, %v", data, got, err)
		}
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "hello": "hello", "a\x1b[31mb": "a[31mb", "a\xffb\n": "ab", "123456789": "12345678",
		"1234567é": "1234567", "éééééé": "éééé",
	} {
		if got := Clean(text, 8); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzFromPlayer(f *testing.F) { fuzz(f, FromPlayer, fromPlayer) }

func FuzzFromServer(f *testing.F) { fuzz(f, FromServer, fromServer) }

// fuzz decodes anything. What is a message has these very bytes.
func fuzz(f *testing.F, decode decoder, seeds []Message) {
	for _, m := range seeds {
		f.Add(m.ID(), m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, id uint16, payload []byte) {
		m, err := decode(id, payload)
		if err != nil {
			if !errors.Is(err, ErrInvalid) || m != nil {
				t.Errorf("got %+v, %v", m, err)
			}
			return
		}
		again := m.Append(nil)
		if m.ID() != id || !bytes.Equal(again, payload) {
			t.Errorf("%q is %+v, which is %q", payload, m, again)
		}
	})
}

// FuzzJoining decodes anything as the data of Hello and Welcome.
func FuzzJoining(f *testing.F) {
	f.Add(Join{"ada"}.Append(nil))
	f.Add(Welcome{Number: 2, TickRate: 30}.Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := ReadJoin(data); err == nil && !bytes.Equal(m.Append(nil), data) {
			t.Errorf("%q is %+v", data, m)
		}
		if m, err := ReadWelcome(data); err == nil && !bytes.Equal(m.Append(nil), data) {
			t.Errorf("%q is %+v", data, m)
		}
	})
}

func FuzzClean(f *testing.F) {
	f.Add("hello\x00", uint8(3))
	f.Add("éé", uint8(3))
	f.Fuzz(func(t *testing.T, text string, most uint8) {
		got := Clean(text, int(most))
		if len(got) > int(most) || !valid(got) || !utf8.ValidString(got) {
			t.Errorf("Clean(%q, %d) = %q", text, most, got)
		}
	})
}
