package event

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"unsafe"
)

// oneByte is the largest number that is stored in the first byte of an item.
const oneByte = 23

// The major types of CBOR, in the upper three bits of an item's first byte. Source: RFC 8949, section 3.1.
const (
	majorUint  = 0 << 5
	majorInt   = 1 << 5 // negative
	majorBytes = 2 << 5
	majorText  = 3 << 5
	majorArray = 4 << 5
	majorMap   = 5 << 5

	cborFalse = 0xf4
	cborTrue  = 0xf5
	cborNull  = 0xf6
)

// append appends the bytes of the value at p.
func (x *item) append(dst []byte, p unsafe.Pointer) []byte {
	switch x.op {
	case opUint:
		return appendHead(dst, majorUint, x.bits(p))
	case opInt:
		return x.appendInt(dst, x.bits(p))
	case opText, opOften:
		return appendText(dst, *(*string)(p))
	case opStruct:
		return appendStruct(dst, x.fields, p)
	case opFixed:
		return append(appendHead(dst, majorBytes, uint64(x.size)), unsafe.Slice((*byte)(p), x.size)...)
	case opBool:
		if *(*bool)(p) {
			return append(dst, cborTrue)
		}
		return append(dst, cborFalse)
	case opFloat:
		return appendFloat(dst, *(*float64)(p))
	case opNumbers:
		return appendNumbers(dst, *(*map[string]float64)(p))
	default:
		return x.appendParts(dst, p)
	}
}

// appendParts appends a value of a type that can be nil; nil becomes null.
func (x *item) appendParts(dst []byte, p unsafe.Pointer) []byte {
	first := *(*unsafe.Pointer)(p) // also of a slice
	if first == nil {
		return append(dst, cborNull)
	}
	if x.op == opPointer {
		return x.elem.append(dst, first)
	}
	n := len(*(*[]struct{})(p))
	if x.op == opBytes {
		return append(appendHead(dst, majorBytes, uint64(n)), *(*[]byte)(p)...)
	}
	dst = appendHead(dst, majorArray, uint64(n))
	if x.op == opPointers {
		for _, target := range *(*[]unsafe.Pointer)(p) {
			if target == nil {
				dst = append(dst, cborNull)
			} else {
				dst = x.elem.append(dst, target)
			}
		}
		return dst
	}
	for i := range uintptr(n) {
		if v := unsafe.Add(first, i*x.elem.size); x.elem.op == opStruct {
			dst = appendStruct(dst, x.elem.fields, v)
		} else {
			dst = x.elem.append(dst, v)
		}
	}
	return dst
}

// appendStruct appends a map of the fields of the struct at p.
func appendStruct(dst []byte, fields []field, p unsafe.Pointer) []byte {
	head, n := len(dst), byte(0)
	dst = append(dst, majorMap)
	for i := range fields {
		f := &fields[i]
		v := unsafe.Add(p, f.offset)
		switch f.op { // the frequent ops, without a call
		case opText, opOften:
			s := *(*string)(v)
			if s == "" && f.omit != omitNever {
				continue
			}
			dst = appendText(appendHead(dst, majorUint, uint64(f.key)), s)
		case opUint:
			u := f.bits(v)
			if u == 0 && f.omit != omitNever {
				continue
			}
			dst = appendHead(appendHead(dst, majorUint, uint64(f.key)), majorUint, u)
		case opInt:
			u := f.bits(v)
			if u == 0 && f.omit != omitNever {
				continue
			}
			dst = f.appendInt(appendHead(dst, majorUint, uint64(f.key)), u)
		case opFixed:
			b := unsafe.Slice((*byte)(v), f.size)
			if f.omit != omitNever && !slices.ContainsFunc(b, func(b byte) bool { return b != 0 }) {
				continue
			}
			dst = append(appendHead(appendHead(dst, majorUint, uint64(f.key)), majorBytes, uint64(f.size)), b...)
		case opStruct:
			if f.omit != omitNever && f.zero(v, f.omit) {
				continue
			}
			dst = appendStruct(appendHead(dst, majorUint, uint64(f.key)), f.fields, v)
		default:
			if f.omit != omitNever && f.zero(v, f.omit) {
				continue
			}
			dst = f.append(appendHead(dst, majorUint, uint64(f.key)), v)
		}
		n++
	}
	if n <= oneByte {
		dst[head] = majorMap | n
		return dst
	}
	dst[head] = majorMap | oneByte + 1 // the number is stored in the next byte
	return slices.Insert(dst, head+1, n)
}

// zero reports whether the value at p is one that omit leaves out.
func (x *item) zero(p unsafe.Pointer, omit omit) bool {
	switch x.op {
	case opUint, opInt:
		return x.bits(p) == 0
	case opText, opOften:
		return *(*string)(p) == ""
	case opBool:
		return !*(*bool)(p)
	case opFloat:
		return *(*float64)(p) == 0
	case opFixed:
		return !slices.ContainsFunc(unsafe.Slice((*byte)(p), x.size), func(b byte) bool { return b != 0 })
	case opStruct:
		for i := range x.fields {
			if f := &x.fields[i]; !f.zero(unsafe.Add(p, f.offset), omit) {
				return false
			}
		}
		return true
	case opNumbers:
		m := *(*map[string]float64)(p)
		return m == nil || omit == omitEmpty && len(m) == 0
	case opPointer:
		return *(*unsafe.Pointer)(p) == nil
	default:
		list := *(*[]struct{})(p)
		return list == nil || omit == omitEmpty && len(list) == 0
	}
}

// bits returns an integer without extending its sign.
func (x *item) bits(p unsafe.Pointer) uint64 {
	switch x.size {
	case 8:
		return *(*uint64)(p)
	case 4:
		return uint64(*(*uint32)(p))
	case 2:
		return uint64(*(*uint16)(p))
	default:
		return uint64(*(*uint8)(p))
	}
}

func (x *item) appendInt(dst []byte, bits uint64) []byte {
	unused := 64 - 8*x.size
	if v := int64(bits<<unused) >> unused; v < 0 {
		return appendHead(dst, majorInt, uint64(^v))
	}
	return appendHead(dst, majorUint, bits)
}

func appendText(dst []byte, s string) []byte {
	return append(appendHead(dst, majorText, uint64(len(s))), s...)
}

// appendNumbers appends a map in the order of its keys. The library orders by length first; both are read.
func appendNumbers(dst []byte, numbers map[string]float64) []byte {
	if numbers == nil {
		return append(dst, cborNull)
	}
	dst = appendHead(dst, majorMap, uint64(len(numbers)))
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		dst = appendFloat(appendText(dst, name), numbers[name])
	}
	return dst
}

// appendHead appends the head of an item in the shortest form: its major type and its number, which is a value or a
// length.
func appendHead(dst []byte, major byte, n uint64) []byte {
	if n <= oneByte { // usually
		return append(dst, major|byte(n))
	}
	return appendLongHead(dst, major, n)
}

func appendLongHead(dst []byte, major byte, n uint64) []byte {
	switch {
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return append(dst, major|25, byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, major|27), n)
	}
}
