package event

import (
	"encoding/binary"
	"slices"
)

// A MapWriter appends the fields of an event, for types that encode themselves
// because they are written often. The bytes are those that the cbor library
// makes of the `cbor:"N,keyasint"` tags: fields in the order of the struct, and
// each in its shortest form. A differential test holds them to that.
type MapWriter struct {
	buf    []byte
	head   int // where the map begins
	fields int
}

// maxFields is how many fields a MapWriter can write: their number and their keys
// are numbers of one byte.
const maxFields = 255

// oneByte is the largest number that stands in the first byte of an item.
const oneByte = 23

// The major types of CBOR, in the upper three bits of an item's first byte.
// Source: RFC 8949, section 3.1.
const (
	majorUint  = 0 << 5
	majorInt   = 1 << 5 // negative
	majorBytes = 2 << 5
	majorText  = 3 << 5
	majorArray = 4 << 5
	majorMap   = 5 << 5

	cborTrue = 0xf5
	cborNull = 0xf6
)

// WriteMap begins a map behind dst.
func WriteMap(dst []byte) MapWriter {
	return MapWriter{buf: append(dst, majorMap), head: len(dst)}
}

// End returns the bytes with the whole map.
func (w *MapWriter) End() []byte {
	if w.fields <= oneByte {
		w.buf[w.head] = majorMap | byte(w.fields)
		return w.buf
	}
	w.buf[w.head] = majorMap | oneByte + 1 // the number stands in the next byte
	return slices.Insert(w.buf, w.head+1, byte(w.fields))
}

func (w *MapWriter) key(n byte) {
	w.fields++
	w.buf = appendHead(w.buf, majorUint, uint64(n))
}

// Uint writes a number.
func (w *MapWriter) Uint(key byte, v uint64) {
	w.key(key)
	w.buf = appendHead(w.buf, majorUint, v)
}

// Int writes a number that may be negative.
func (w *MapWriter) Int(key byte, v int64) {
	w.key(key)
	if v < 0 {
		w.buf = appendHead(w.buf, majorInt, uint64(^v))
	} else {
		w.buf = appendHead(w.buf, majorUint, uint64(v))
	}
}

// OptUint writes a number that is not zero.
func (w *MapWriter) OptUint(key byte, v uint64) {
	if v != 0 {
		w.Uint(key, v)
	}
}

// OptInt writes a number that is not zero and may be negative.
func (w *MapWriter) OptInt(key byte, v int64) {
	if v != 0 {
		w.Int(key, v)
	}
}

// OptTrue writes a boolean that is true.
func (w *MapWriter) OptTrue(key byte, v bool) {
	if v {
		w.key(key)
		w.buf = append(w.buf, cborTrue)
	}
}

// Text writes a text.
func (w *MapWriter) Text(key byte, s string) {
	w.key(key)
	w.buf = append(appendHead(w.buf, majorText, uint64(len(s))), s...)
}

// OptText writes a text that is not empty.
func (w *MapWriter) OptText(key byte, s string) {
	if s != "" {
		w.Text(key, s)
	}
}

// Bytes writes bytes.
func (w *MapWriter) Bytes(key byte, b []byte) {
	w.key(key)
	w.buf = append(appendHead(w.buf, majorBytes, uint64(len(b))), b...)
}

// OptBytes writes bytes if there are any.
func (w *MapWriter) OptBytes(key byte, b []byte) {
	if len(b) > 0 {
		w.Bytes(key, b)
	}
}

// Texts writes a list of texts; nil is null.
func (w *MapWriter) Texts(key byte, texts []string) {
	WriteList(w, key, texts, appendText)
}

// OptTexts writes a list of texts if there are any.
func (w *MapWriter) OptTexts(key byte, texts []string) {
	WriteOptList(w, key, texts, appendText)
}

func appendText(dst []byte, s *string) []byte {
	return append(appendHead(dst, majorText, uint64(len(*s))), *s...)
}

// WriteItem writes what write appends.
func WriteItem[T any](w *MapWriter, key byte, v *T, write func(dst []byte, v *T) []byte) {
	w.key(key)
	w.buf = write(w.buf, v)
}

// WriteList writes a list of what write appends; nil is null.
func WriteList[T any](w *MapWriter, key byte, list []T, write func(dst []byte, v *T) []byte) {
	w.key(key)
	if list == nil {
		w.buf = append(w.buf, cborNull)
		return
	}
	w.buf = appendHead(w.buf, majorArray, uint64(len(list)))
	for i := range list {
		w.buf = write(w.buf, &list[i])
	}
}

// WriteOptList writes a list as WriteList does, if it holds anything.
func WriteOptList[T any](w *MapWriter, key byte, list []T, write func(dst []byte, v *T) []byte) {
	if len(list) > 0 {
		WriteList(w, key, list, write)
	}
}

// WriteNonNil writes a list as WriteList does, if it is not nil. An empty one is kept.
func WriteNonNil[T any](w *MapWriter, key byte, list []T, write func(dst []byte, v *T) []byte) {
	if list != nil {
		WriteList(w, key, list, write)
	}
}

// appendHead appends the head of an item: its major type and its number, which
// is a value or a length, in the shortest form.
func appendHead(dst []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n < 1<<8:
		return append(dst, major|24, byte(n))
	case n < 1<<16:
		return append(dst, major|25, byte(n>>8), byte(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, major|27), n)
	}
}
