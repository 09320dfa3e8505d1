package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCheckJSON holds the scanner to what each text deserves.
func TestCheckJSON(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{}`, ""},
		{" [ 1 , -0.5e+3 , 0 , true , false , null , \"\\u00e9\\n\" ]\n", ""},
		{`{"a":{"b":[]},"c":""}`, ""},
		{``, "expected a value at byte 0"},
		{`{`, "expected a member name in double quotes at byte 1"},
		{`{"a"}`, "expected ':' at byte 4"},
		{`{"a":}`, "expected a value at byte 5"},
		{`{"a":1,}`, "expected a member name in double quotes at byte 7"},
		{`{"a":1]`, "expected ',' or '}' at byte 6"},
		{`[1}`, "expected ',' or ']' at byte 2"},
		{`[1,]`, "expected a value at byte 3"},
		{`[01]`, "expected ',' or ']' at byte 2"},
		{`[1.]`, "expected a digit at byte 3"},
		{`[-]`, "expected a digit at byte 2"},
		{`[1e]`, "expected a digit at byte 3"},
		{`[+1]`, "expected a value at byte 1"},
		{`[nul]`, "expected null at byte 4"},
		{"[\"a\nb\"]", "expected no control character in a string at byte 3"},
		{`["a`, "expected the end of a string at byte 3"},
		{`["\x"]`, "expected an escape sequence at byte 3"},
		{`["\u12g4"]`, "expected four hexadecimal digits at byte 6"},
		{`{} {}`, "expected the end of the body at byte 3"},
		{"{}\x00", "expected the end of the body at byte 2"},
		{"[\"\xff\"]", "not valid UTF-8"},
		{strings.Repeat("[", maxNesting) + strings.Repeat("]", maxNesting), ""},
		{strings.Repeat("[", maxNesting+1) + strings.Repeat("]", maxNesting+1), "nests deeper than 32 levels"},
		{"[0" + strings.Repeat(",0", maxElements-1) + "]", ""},
		{"[0" + strings.Repeat(",0", maxElements) + "]", "more than 16384 elements"},
		{strings.Repeat(`{"a":`, 100000), "nests deeper than 32 levels"},
	} {
		switch f := checkJSON([]byte(c.text)); {
		case f == nil && c.want != "":
			t.Errorf("%.40q passes, want %q", c.text, c.want)
		case f != nil && (c.want == "" || !strings.Contains(f.Message, c.want)):
			t.Errorf("%.40q: %v, want %q", c.text, f, c.want)
		}
	}
}

// FuzzCheckJSON compares the scanner with the standard library's.
func FuzzCheckJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[1,2.5e-3,"\u00e9",null,true,` +
		`{}]}`, `[`, `"\`, ` 0 `, `-1.`, "[\"\x7f\"]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		want := json.Valid(body) && utf8.Valid(body)
		got := checkJSON(body)
		if got != nil && want && !strings.Contains(got.Message, "nests deeper") &&
			!strings.Contains(got.Message, "elements") {
			t.Errorf("%q is valid: %v", body, got)
		}
		if got == nil && !want {
			t.Errorf("%q passes", body)
		}
	})
}
