package wire

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// Structures, lists and maps are written with a comma before every element; the
// first comma then becomes the opening bracket. That saves asking, for each
// element, whether it is the first.

// closeJSON turns what was appended since start into an object or an array.
func closeJSON(b []byte, start int, opening, closing byte) []byte {
	if len(b) == start {
		return append(b, opening, closing)
	}
	b[start] = opening
	return append(b, closing)
}

const hexDigits = "0123456789abcdef"

// plain holds the ASCII characters that stand for themselves in a string literal.
var plain = func() (set [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// appendJSONText appends a string literal. Bytes that are not UTF-8 become U+FFFD.
func appendJSONText(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0 // s[:done] is written
	for i := 0; i < len(s); {
		if i+8 <= len(s) && allPlain(s[i:i+8]) {
			i += 8
			continue
		}
		if plain[s[i]] {
			i++
			continue
		}
		if s[i] >= utf8.RuneSelf {
			if r, n := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		b = appendJSONEscape(append(b, s[done:i]...), s[i])
		i++
		done = i
	}
	return append(append(b, s[done:]...), '"')
}

// allPlain reports whether all 8 bytes of s are plain. It looks at them together:
// a subtraction sets the highest bit of the bytes that were too small, and a
// false alarm, which a borrow can raise, stands behind a true one.
func allPlain(s string) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	_ = s[7]
	w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	small := w - ones*' '
	quote := w ^ ones*'"' - ones
	backslash := w ^ ones*'\\' - ones
	return (w|small|quote|backslash)&high == 0
}

// appendJSONEscape appends a byte that cannot stand in a string literal as it is.
func appendJSONEscape(b []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(b, '\\', c)
	case c == '\n':
		return append(b, `\n`...)
	case c == '\r':
		return append(b, `\r`...)
	case c == '\t':
		return append(b, `\t`...)
	case c < ' ':
		return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	default:
		return utf8.AppendRune(b, utf8.RuneError)
	}
}

// appendJSONFloat appends the shortest number that reads as f in so many bits,
// and the strings that stand for what JSON numbers cannot be.
// Source: Smithy specification, AWS JSON 1.1, "Shape serialization".
func appendJSONFloat(b []byte, f float64, bits int) []byte {
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	case abs != 0 && (abs < 1e-6 || abs >= 1e21):
		return strconv.AppendFloat(b, f, 'e', -1, bits)
	default:
		return strconv.AppendFloat(b, f, 'f', -1, bits)
	}
}

// appendJSONTime appends epoch seconds, with three decimals unless t is on a
// whole second. What is smaller than a millisecond is cut off.
func appendJSONTime(b []byte, t time.Time) []byte {
	ms := t.UnixMilli()
	if ms < 0 {
		b = append(b, '-')
		ms = -ms
	}
	b = strconv.AppendInt(b, ms/1000, 10)
	if ms %= 1000; ms == 0 {
		return b
	}
	return append(b, '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
}

// appendJSONBlob appends base64.
func appendJSONBlob(b, blob []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), blob), '"')
}
