package wire

import (
	"encoding/binary"
	"math"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"
)

// appendCBOR appends the structure at p.
func (s *structure) appendCBOR(b []byte, p unsafe.Pointer) []byte {
	start, pairs := len(b), 0
	b = append(b, 0)
	for i := range s.fields {
		f := &s.fields[i]
		if at := f.find(p); at != nil {
			b = f.cbor.append(b)
			if f.kind == kindText { // most are
				b = appendCBORText(b, *(*string)(at))
			} else {
				b = f.appendCBORValue(b, at)
			}
			pairs++
		}
	}
	return closeCBORMap(b, start, pairs)
}

// appendCBORValue appends the value at p.
func (v *value) appendCBORValue(b []byte, p unsafe.Pointer) []byte {
	switch v.kind {
	case kindText:
		return appendCBORText(b, *(*string)(p))
	case kindInt32:
		return appendCBORInt(b, int64(*(*int32)(p)))
	case kindInt64:
		return appendCBORInt(b, *(*int64)(p))
	case kindFloat32:
		return appendCBORFloat32(b, *(*float32)(p))
	case kindFloat64:
		return appendCBORFloat(b, *(*float64)(p))
	case kindBool:
		return appendCBORBool(b, *(*bool)(p))
	case kindTime:
		return appendCBORTime(b, *(*time.Time)(p))
	case kindBlob:
		return appendCBORBlob(b, *(*[]byte)(p))
	case kindStruct:
		return v.structure.appendCBOR(b, p)
	case kindPointer:
		return v.structure.appendCBOR(b, *(*unsafe.Pointer)(p))
	case kindList:
		return v.appendCBORList(b, (*slice)(p))
	default:
		return v.appendCBORMap(b, *(*unsafe.Pointer)(p))
	}
}

func (v *value) appendCBORList(b []byte, list *slice) []byte {
	b = appendCBORHead(b, cborArray, uint64(list.len))
	for i := range list.len {
		b = v.element.appendCBORValue(b, list.at(i, v.element.width))
	}
	return b
}

func (v *value) appendCBORMap(b []byte, m unsafe.Pointer) []byte {
	entries, size, value := v.entries.sorted(m)
	b = appendCBORHead(b, cborMap, uint64(entries.len))
	for i := range entries.len {
		at := entries.at(i, size)
		b = v.element.appendCBORValue(appendCBORText(b, *(*string)(at)), unsafe.Add(at, value))
	}
	return b
}

// appendCBORHead appends the head of a data item: its major type and the smallest form of its argument.
func appendCBORHead(b []byte, major byte, arg uint64) []byte {
	switch {
	case arg < 24:
		return append(b, major|byte(arg))
	case arg <= math.MaxUint8:
		return append(b, major|24, byte(arg))
	case arg <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(arg))
	case arg <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(arg))
	default:
		return binary.BigEndian.AppendUint64(append(b, major|27), arg)
	}
}

// closeCBORMap puts the number of pairs into the head of a map; b[start] was left free for it. A head of two bytes,
// which only structures with more than 23 members can need, moves the pairs.
func closeCBORMap(b []byte, start, pairs int) []byte {
	if pairs < 24 {
		b[start] = cborMap | byte(pairs)
		return b
	}
	b = append(b, 0)
	copy(b[start+2:], b[start+1:])
	b[start], b[start+1] = cborMap|24, byte(pairs)
	return b
}

// appendCBORText appends a text string. Bytes that are not UTF-8 become U+FFFD.
func appendCBORText(b []byte, s string) []byte {
	if !isASCII(s) && !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return append(appendCBORHead(b, cborText, uint64(len(s))), s...)
}

// appendCBORBlob appends a byte string.
func appendCBORBlob(b, blob []byte) []byte {
	return append(appendCBORHead(b, cborBytes, uint64(len(blob))), blob...)
}

// appendCBORInt appends an integer in its smallest form.
func appendCBORInt(b []byte, n int64) []byte {
	if n < 0 {
		return appendCBORHead(b, cborNint, uint64(^n))
	}
	return appendCBORHead(b, cborUint, uint64(n))
}

func appendCBORBool(b []byte, v bool) []byte {
	if v {
		return append(b, cborTrue)
	}
	return append(b, cborFalse)
}

// appendCBORFloat appends a double; never a half, which not every client reads.
func appendCBORFloat(b []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, cborFloat64), math.Float64bits(f))
}

// appendCBORFloat32 appends a single.
func appendCBORFloat32(b []byte, f float32) []byte {
	return binary.BigEndian.AppendUint32(append(b, cborFloat32), math.Float32bits(f))
}

// appendCBORTime appends epoch seconds: an integer on a whole second, else a double with milliseconds. What is smaller
// is cut off.
func appendCBORTime(b []byte, t time.Time) []byte {
	b = append(b, cborEpoch)
	ms := t.UnixMilli()
	if ms%1000 == 0 {
		return appendCBORInt(b, ms/1000)
	}
	return appendCBORFloat(b, secondsOf(ms))
}

// secondsOf is the number of seconds that reads as ms milliseconds. Clients multiply by 1000 and cut the fraction off,
// so a quotient that was rounded towards zero would arrive a millisecond early; its neighbour does not.
func secondsOf(ms int64) float64 {
	f := float64(ms) / 1000
	if math.Abs(f*1000) < math.Abs(float64(ms)) {
		return math.Nextafter(f, math.Copysign(math.Inf(1), f))
	}
	return f
}
