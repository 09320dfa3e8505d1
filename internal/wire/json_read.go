package wire

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"

	"github.com/mailru/easyjson/jlexer"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A jsonReader reads the members of structures from a body that checkJSON has found well-formed.
type jsonReader struct {
	reader
	lex jlexer.Lexer
}

func (d *jsonReader) begin(body []byte) *fault.Error {
	if len(body) == 0 {
		body = emptyJSON
	}
	d.lex = jlexer.Lexer{Data: body}
	return checkJSON(body)
}

func (d *jsonReader) end() {
	d.clear()
	d.failure, d.name = nil, ""
	d.lex = jlexer.Lexer{}
}

// kind is the kind of the next token, which stays where it is.
func (d *jsonReader) kind() jlexer.TokenKind {
	d.lex.IsNull() // scans the token
	return d.lex.CurrentToken()
}

// got describes the next token for a message.
func (d *jsonReader) got() string {
	switch d.kind() {
	case jlexer.TokenString:
		return "a string"
	case jlexer.TokenNumber:
		return "a number"
	case jlexer.TokenBool:
		return "a boolean"
	case jlexer.TokenNull:
		return "null"
	case jlexer.TokenDelim:
		if d.lex.IsDelim('[') {
			return "an array"
		}
		return "an object"
	default:
		return "nothing"
	}
}

// wrong ends the reading at the next token.
func (d *jsonReader) wrong(name, want string) { d.fail(name, want, d.got()) }

// null consumes a null, if one is next.
func (d *jsonReader) null() bool {
	if !d.lex.IsNull() {
		return false
	}
	d.lex.Skip()
	return true
}

func (d *jsonReader) openObject() int {
	if len(d.path) == 0 && d.null() {
		return 0
	}
	return d.open('{', "an object")
}

func (d *jsonReader) openArray(usual int) (left, room int) { return d.open('[', "an array"), usual }

func (d *jsonReader) open(delim byte, want string) int {
	if d.kind() != jlexer.TokenDelim || !d.lex.IsDelim(delim) {
		d.wrong("", want)
		return 0
	}
	d.lex.Delim(delim)
	return -1
}

func (d *jsonReader) nextMember(left int) (int, bool) {
	for {
		var ok bool
		if left, ok = d.more(left, '}'); !ok {
			return left, false
		}
		d.name = d.lex.UnsafeFieldName(false)
		d.lex.WantColon()
		if !d.null() {
			return left, true
		}
	}
}

func (d *jsonReader) nextItem(left int) (int, bool) { return d.more(left, ']') }

// more reports whether something stands before the closing delimiter; otherwise it consumes that. left is 0 in an
// object or array that could not be opened, -1 at the beginning and -2 behind an element.
func (d *jsonReader) more(left int, end byte) (int, bool) {
	if left == 0 || d.failure != nil {
		return 0, false
	}
	if left == -2 {
		d.lex.WantComma()
	}
	if !d.lex.IsDelim(end) {
		return -2, true
	}
	d.lex.Delim(end)
	return 0, false
}

// skip passes over the value of an unknown member.
func (d *jsonReader) skip() { d.lex.SkipRecursive() }

func (d *jsonReader) text(name string, rule *textRule) string {
	if d.kind() != jlexer.TokenString {
		d.wrong(name, "a string")
		return ""
	}
	s := d.lex.String()
	d.judge(name, s, rule)
	return s
}

func (d *jsonReader) bool(name string) bool {
	if d.kind() != jlexer.TokenBool {
		d.wrong(name, "a boolean")
		return false
	}
	return d.lex.Bool()
}

func (d *jsonReader) int32(name string) int32 { return int32(d.integer(name, 32)) }

func (d *jsonReader) int64(name string) int64 { return d.integer(name, 64) }

// integer reads a whole number of so many bits. Some clients write whole numbers with a fraction or an exponent: 5.0 is
// 5.
func (d *jsonReader) integer(name string, bits int) int64 {
	if d.kind() != jlexer.TokenNumber {
		d.wrong(name, integerOf(bits))
		return 0
	}
	digits := d.lex.Raw()
	n, err := strconv.ParseInt(string(digits), 10, bits)
	if err == nil {
		return n
	}
	f, err := strconv.ParseFloat(string(digits), 64)
	if n, ok := wholeOf(f); err == nil && ok && fits(n, bits) {
		return n
	}
	d.fail(name, integerOf(bits), shorten(string(digits)))
	return 0
}

func (d *jsonReader) float32(name string) float32 { return float32(d.float(name, 32)) }

func (d *jsonReader) float64(name string) float64 { return d.float(name, 64) }

// float reads a number or one of the strings that stand for what JSON numbers cannot be. Source: Smithy specification,
// AWS JSON 1.1, "Shape serialization".
func (d *jsonReader) float(name string, bits int) float64 {
	switch d.kind() {
	case jlexer.TokenNumber:
		digits := d.lex.Raw()
		f, err := strconv.ParseFloat(string(digits), bits)
		if err != nil {
			d.fail(name, "a number of "+strconv.Itoa(bits)+" bits", shorten(string(digits)))
		}
		return f
	case jlexer.TokenString:
		switch s := d.lex.UnsafeString(); s {
		case "NaN":
			return math.NaN()
		case "Infinity":
			return math.Inf(1)
		case "-Infinity":
			return math.Inf(-1)
		}
		d.fail(name, "a number", "another string than NaN, Infinity or -Infinity")
	default:
		d.wrong(name, "a number")
	}
	return 0
}

// time reads epoch seconds.
func (d *jsonReader) time(name string) time.Time {
	if d.kind() != jlexer.TokenNumber {
		d.wrong(name, "a timestamp in epoch seconds")
		return time.Time{}
	}
	digits := d.lex.Raw()
	f, err := strconv.ParseFloat(string(digits), 64)
	t, ok := timeOf(f)
	if err != nil || !ok {
		d.fail(name, "a timestamp in epoch seconds", shorten(string(digits)))
	}
	return t
}

// blob reads base64.
func (d *jsonReader) blob(name string) []byte {
	if d.kind() != jlexer.TokenString {
		d.wrong(name, "base64 in a string")
		return nil
	}
	b, err := base64.StdEncoding.AppendDecode([]byte{}, d.lex.UnsafeBytes())
	if err != nil {
		d.fail(name, "base64", "another string")
	}
	return b
}
