package event

import (
	"encoding/binary"
	"math"
)

// A MapReader reads the fields of an event, for types that decode themselves
// because a restart reads many of them. It takes what a MapWriter writes and
// nothing else: at anything that is different, such as a field that is not known
// or not in its place, it fails for good, and the cbor library reads the event
// from its beginning. So there is one meaning of the bytes, and one set of errors.
type MapReader struct {
	data   []byte
	at     int // what is before it has been read
	failed bool
}

// ReadMap begins at data.
func ReadMap(data []byte) MapReader { return MapReader{data: data} }

// End returns what is behind that which was read; it is not ok when the cbor
// library has to read it, because something is different.
func (r *MapReader) End() (rest []byte, ok bool) { return r.data[r.at:], !r.failed }

// Fields calls field with the key of each field of a map, which reads the value.
func (r *MapReader) Fields(field func(key uint64)) {
	n := r.head(majorMap)
	for last := int64(-1); n > 0 && !r.failed; n-- {
		key := r.head(majorUint)
		if int64(key) <= last || key > maxFields { // a MapWriter does not write a field twice
			r.failed = true
			return
		}
		last = int64(key)
		field(key)
	}
}

// Fail says that a field is not known.
func (r *MapReader) Fail() { r.failed = true }

// Uint reads a number that is not above limit.
func (r *MapReader) Uint(limit uint64) uint64 {
	v := r.head(majorUint)
	if v > limit {
		r.failed = true
	}
	return v
}

// Int32 reads a number of 32 bits, which may be negative.
func (r *MapReader) Int32() int32 {
	v := r.Int()
	if v < math.MinInt32 || v > math.MaxInt32 {
		r.failed = true
	}
	return int32(v)
}

// Int reads a number that may be negative.
func (r *MapReader) Int() int64 {
	major := byte(majorUint)
	if r.at < len(r.data) && r.data[r.at]&0xe0 == majorInt {
		major = majorInt
	}
	v := r.head(major)
	if v > math.MaxInt64 {
		r.failed = true
	}
	if major == majorInt {
		return ^int64(v)
	}
	return int64(v)
}

// Time reads a moment.
func (r *MapReader) Time() Time { return Time(r.Int()) }

// True reads a boolean that is true.
func (r *MapReader) True() bool {
	if r.at == len(r.data) || r.data[r.at] != cborTrue {
		r.failed = true
		return false
	}
	r.at++
	return true
}

// Text reads a text.
func (r *MapReader) Text() string { return string(r.view(majorText)) }

// TextOf reads a text that is mostly one of a few, which then take no memory.
func TextOf[T ~string](r *MapReader, usual ...T) T {
	b := r.view(majorText)
	for _, s := range usual {
		if string(b) == string(s) {
			return s
		}
	}
	return T(b)
}

func (r *MapReader) text(s *string) { *s = r.Text() }

// Bytes reads bytes.
func (r *MapReader) Bytes() []byte { return append([]byte{}, r.view(majorBytes)...) }

// FixedBytes reads as many bytes as dst has room for.
func (r *MapReader) FixedBytes(dst []byte) {
	b := r.view(majorBytes)
	if copy(dst, b) != len(b) || len(b) != len(dst) {
		r.failed = true
	}
}

// Texts reads a list of texts.
func (r *MapReader) Texts() []string {
	return ReadList(r, r.text)
}

// ReadList reads a list of what read reads.
func ReadList[T any](r *MapReader, read func(v *T)) []T {
	if r.at < len(r.data) && r.data[r.at] == cborNull {
		r.at++
		return nil
	}
	n := r.head(majorArray)
	if n > r.left() { // an item is a byte or more
		r.failed = true
	}
	if r.failed {
		return nil
	}
	list := make([]T, n)
	for i := range list {
		if read(&list[i]); r.failed {
			return nil
		}
	}
	return list
}

// view reads bytes or a text without a copy.
func (r *MapReader) view(major byte) []byte {
	n := r.head(major)
	if n > r.left() {
		r.failed = true
	}
	if r.failed {
		return nil
	}
	from := r.at
	r.at += int(n)
	return r.data[from:r.at]
}

// left is the number of bytes that have not been read.
func (r *MapReader) left() uint64 { return uint64(len(r.data) - r.at) }

// head reads the head of an item of the major type: its number.
func (r *MapReader) head(major byte) uint64 {
	if r.at < len(r.data) && !r.failed {
		if n := r.data[r.at] ^ major; n <= oneByte { // as most are
			r.at++
			return uint64(n)
		}
	}
	n, rest, ok := readHead(r.data[r.at:], major)
	if !ok || r.failed {
		r.failed = true
		return 0
	}
	r.at = len(r.data) - len(rest)
	return n
}

// readHead reads the number of an item that has the major type.
func readHead(data []byte, major byte) (n uint64, rest []byte, ok bool) {
	if len(data) == 0 || data[0]&0xe0 != major {
		return 0, data, false
	}
	short := data[0] & 0x1f
	if short < 24 {
		return uint64(short), data[1:], true
	}
	size := 1 << (short - 24)
	if short > 27 || len(data) <= size {
		return 0, data, false
	}
	switch size {
	case 1:
		n = uint64(data[1])
	case 2:
		n = uint64(binary.BigEndian.Uint16(data[1:]))
	case 4:
		n = uint64(binary.BigEndian.Uint32(data[1:]))
	default:
		n = binary.BigEndian.Uint64(data[1:])
	}
	return n, data[1+size:], true
}
