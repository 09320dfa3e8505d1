package handshake

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-gg/muster/gamenet"
)

var hellos = []Hello{
	{version: version},
	{version: version, nonce: 0x0123456789abcdef, Ticket: "psess-1", Data: []byte("ada")},
	{version: version, Ticket: strings.Repeat("é", 127) + "x", Data: bytes.Repeat([]byte{0}, MaxData)},
}

func TestHello(t *testing.T) {
	for _, h := range hellos {
		p := helloPacket(h)
		if got, err := readHello(p, version); err != nil || got.Ticket != h.Ticket || got.nonce != h.nonce ||
			got.version != h.version || !bytes.Equal(got.Data, h.Data) {
			t.Errorf("%+v became %+v, %v", h, got, err)
		}
		if size := 4 + len(p.Payload); size > 785 {
			t.Errorf("a Hello has %d bytes", size)
		}
	}
	const want = "\x01\x07\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x02abcd"
	if got := string(appendHello(nil, Hello{version: 7, nonce: 2, Ticket: "ab", Data: []byte("cd")})); got != want {
		t.Errorf("a Hello is %q, want %q", got, want)
	}
}

func TestInvalidHello(t *testing.T) {
	const head = "\x01\x07\x00\x00\x00" + "12345678"
	for name, test := range map[string]struct {
		id      uint16
		payload string
		code    Code
	}{
		"another packet":               {1, head + "\x00", Invalid},
		"an id of servers":             {idWelcome, head + "\x00", Invalid},
		"no bytes":                     {idHello, "", Invalid},
		"no version":                   {idHello, "\x01\x07\x00\x00", Invalid},
		"another version":              {idHello, "\x01\x08\x00\x00\x00", VersionMismatch},
		"another version, unknown":     {idHello, "\x09\x08\x00\x00\x00" + strings.Repeat("x", 5000), VersionMismatch},
		"another format":               {idHello, "\x02\x07\x00\x00\x00" + "12345678\x00", VersionMismatch},
		"no ticket":                    {idHello, head, Invalid},
		"half a nonce":                 {idHello, head[:9], Invalid},
		"half a ticket":                {idHello, head + "\x03ab", Invalid},
		"a ticket that is not UTF-8":   {idHello, head + "\x01\xff", Invalid},
		"a ticket with a line feed":    {idHello, head + "\x02a\n", Invalid},
		"more data than allowed":       {idHello, head + "\x00" + strings.Repeat("x", MaxData+1), Invalid},
		"a ticket that takes the data": {idHello, head + "\xff" + strings.Repeat("x", 254), Invalid},
	} {
		_, err := readHello(gamenet.Packet{ID: test.id, Payload: []byte(test.payload)}, version)
		if err == nil || refusalFor(err).Code != test.code || (test.code == Invalid) != errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want %v", name, err, test.code)
		}
	}
}

func TestWelcome(t *testing.T) {
	for _, data := range []string{"", "map=harbour", strings.Repeat("x", MaxData)} {
		nonce, got, err := readWelcome(appendWelcome(nil, 5, []byte(data)))
		if nonce != 5 || string(got) != data || err != nil {
			t.Errorf("%q became %d, %q, %v", data, nonce, got, err)
		}
	}
	for _, payload := range []string{"", "1234567", "12345678" + strings.Repeat("x", MaxData+1)} {
		if _, _, err := readWelcome([]byte(payload)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: got %v", payload, err)
		}
	}
}

func TestRefusal(t *testing.T) {
	for code := range codes {
		want := &RefusedError{code, "no, " + code.String()}
		if got, err := readRefusal(appendRefusal(nil, want)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v became %v, %v", want, got, err)
		}
	}
	if got, err := readRefusal([]byte("\xeenew")); err != nil || got.Code != Other || got.Text != "new" {
		t.Errorf("a code of another time became %v, %v", got, err)
	}
	for _, payload := range []string{"", "\x01\xff", "\x01a\x1bb", "\x01" + strings.Repeat("x", maxText+1)} {
		if got, err := readRefusal([]byte(payload)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: got %v, %v", payload, got, err)
		}
	}
	if name := Code(99).String(); name != "Code(99)" {
		t.Errorf("an unknown code is %q", name)
	}
}

// TestRefusalText sends texts that may not go out as they are.
func TestRefusalText(t *testing.T) {
	long := strings.Repeat("é", 200)
	for text, want := range map[string]string{"a\x1b[31mb\xff\n": "a[31mb", long: long[:254]} {
		got, err := readRefusal(appendRefusal(nil, &RefusedError{Other, text}))
		if err != nil || got.Text != want {
			t.Errorf("%q became %v, %v", text, got, err)
		}
	}
}

func TestRefusalFor(t *testing.T) {
	inner := errors.New("the password of the database is 1234")
	for _, test := range []struct {
		err  error
		code Code
		text string
	}{
		{&RefusedError{Full, "the game is full"}, Full, "the game is full"},
		{errors.Join(inner, &RefusedError{TicketRefused, "not good"}), TicketRefused, "not good"},
		{inner, Other, "the server could not let you in"},
		{errors.Join(ErrInvalid), Invalid, "handshake: invalid packet"},
	} {
		if got := refusalFor(test.err); got.Code != test.code || got.Text != test.text {
			t.Errorf("%v: players hear %v %q", test.err, got.Code, got.Text)
		}
	}
}

// FuzzHello decodes anything. What is a Hello has these very bytes.
func FuzzHello(f *testing.F) {
	for _, h := range hellos {
		f.Add(idHello, appendHello(nil, h))
	}
	f.Add(idHello, []byte("\x02\x07\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, id uint16, payload []byte) {
		h, err := readHello(gamenet.Packet{ID: id, Payload: payload}, version)
		if err != nil {
			if r := refusalFor(err); r.Code != Invalid && r.Code != VersionMismatch {
				t.Errorf("got %v", err)
			}
			return
		}
		if again := appendHello(nil, h); id != idHello || !bytes.Equal(again, payload) {
			t.Errorf("%q is %+v, which is %q", payload, h, again)
		}
	})
}

// FuzzAnswer decodes anything as the answers of a server.
func FuzzAnswer(f *testing.F) {
	f.Add(appendWelcome(nil, 5, []byte("data")))
	f.Add(appendRefusal(nil, &RefusedError{Full, "full"}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		nonce, data, err := readWelcome(payload)
		if err == nil && !bytes.Equal(appendWelcome(nil, nonce, data), payload) {
			t.Errorf("%q is %d, %q", payload, nonce, data)
		}
		r, err := readRefusal(payload)
		if err == nil && (!r.Code.known() || string(appendRefusal(nil, r)[1:]) != string(payload[1:])) {
			t.Errorf("%q is %v", payload, r)
		}
		if (err != nil) != errors.Is(err, ErrInvalid) {
			t.Errorf("got %v", err)
		}
	})
}

func FuzzClean(f *testing.F) {
	f.Add("hello\x00")
	f.Add(strings.Repeat("é", 300))
	f.Fuzz(func(t *testing.T, text string) {
		if got := clean(text); len(got) > maxText || !plain(got) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
