package wire

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"
)

// Structures, lists and maps are written with a comma before every element; the first comma then becomes the opening
// bracket. That saves asking, for each element, whether it is the first.

// appendJSON appends the structure at p.
func (s *structure) appendJSON(b []byte, p unsafe.Pointer) []byte {
	start := len(b)
	for i := range s.fields {
		f := &s.fields[i]
		if at := f.find(p); at != nil {
			b = f.json.append(b)
			if f.kind == kindText { // most are
				b = appendJSONText(b, *(*string)(at))
			} else {
				b = f.appendJSONValue(b, at)
			}
		}
	}
	return closeJSON(b, start, '{', '}')
}

// appendJSONValue appends the value at p.
func (v *value) appendJSONValue(b []byte, p unsafe.Pointer) []byte {
	switch v.kind {
	case kindText:
		return appendJSONText(b, *(*string)(p))
	case kindInt32:
		return strconv.AppendInt(b, int64(*(*int32)(p)), 10)
	case kindInt64:
		return strconv.AppendInt(b, *(*int64)(p), 10)
	case kindFloat32:
		return appendJSONFloat(b, float64(*(*float32)(p)), 32)
	case kindFloat64:
		return appendJSONFloat(b, *(*float64)(p), 64)
	case kindBool:
		return strconv.AppendBool(b, *(*bool)(p))
	case kindTime:
		return appendJSONTime(b, *(*time.Time)(p))
	case kindBlob:
		return appendJSONBlob(b, *(*[]byte)(p))
	case kindStruct:
		return v.structure.appendJSON(b, p)
	case kindPointer:
		return v.structure.appendJSON(b, *(*unsafe.Pointer)(p))
	case kindList:
		return v.appendJSONList(b, (*slice)(p))
	default:
		return v.appendJSONMap(b, *(*unsafe.Pointer)(p))
	}
}

func (v *value) appendJSONList(b []byte, list *slice) []byte {
	start := len(b)
	for i := range list.len {
		b = v.element.appendJSONValue(append(b, ','), list.at(i, v.element.width))
	}
	return closeJSON(b, start, '[', ']')
}

func (v *value) appendJSONMap(b []byte, m unsafe.Pointer) []byte {
	start := len(b)
	entries, size, value := v.entries.sorted(m)
	for i := range entries.len {
		at := entries.at(i, size)
		b = appendJSONText(append(b, ','), *(*string)(at))
		b = v.element.appendJSONValue(append(b, ':'), unsafe.Add(at, value))
	}
	return closeJSON(b, start, '{', '}')
}

// closeJSON turns what was appended since start into an object or an array.
func closeJSON(b []byte, start int, opening, closing byte) []byte {
	if len(b) == start {
		return append(b, opening, closing)
	}
	b[start] = opening
	return append(b, closing)
}

const hexDigits = "0123456789abcdef"

// appendJSONText appends a string literal. Bytes that are not UTF-8 become U+FFFD.
func appendJSONText(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0 // s[:done] is written
	for i := 0; ; {
		i += plainLen(s[i:])
		if i == len(s) {
			return append(append(b, s[done:]...), '"')
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

// appendJSONFloat appends the shortest number that reads as f in so many bits, and the strings that stand for what JSON
// numbers cannot be.
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

// appendJSONTime appends epoch seconds, with three decimals unless t is on a whole second. What is smaller than a
// millisecond is cut off.
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
