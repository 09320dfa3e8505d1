package event

import (
	"encoding/binary"
	"reflect"
	"unsafe"
)

// The read functions take data and a position in it, and return the position after the item. After failed they read
// nothing more.
const failed = -1

// read decodes an item into the value at p, which is zero.
func (x *item) read(data []byte, at int, p unsafe.Pointer) int {
	switch x.op {
	case opText:
		b, at := readView(data, at, majorText)
		*(*string)(p) = string(b)
		return at
	case opOften:
		b, at := readView(data, at, majorText)
		*(*string)(p) = x.text(b)
		return at
	case opUint:
		v, at := readHead(data, at, majorUint)
		return x.setUint(p, v, v>>(8*x.size) == 0, at)
	case opInt:
		return x.readInt(data, at, p)
	case opStruct:
		return readStruct(data, at, x.fields, p)
	case opFixed:
		b, at := readView(data, at, majorBytes)
		if copy(unsafe.Slice((*byte)(p), x.size), b) != len(b) || len(b) != int(x.size) {
			return failed
		}
		return at
	case opBool:
		if uint(at) >= uint(len(data)) || data[at]|1 != cborTrue {
			return failed
		}
		*(*bool)(p) = data[at] == cborTrue
		return at + 1
	case opFloat:
		*(*float64)(p), at = readFloat(data, at)
		return at
	case opNumbers:
		*(*map[string]float64)(p), at = readNumbers(data, at)
		return at
	default:
		return x.readParts(data, at, p)
	}
}

// readStruct decodes a map into the struct at p. The keys must ascend, so no field can occur twice.
func readStruct(data []byte, at int, fields []field, p unsafe.Pointer) int {
	n, at := readHead(data, at, majorMap)
	i := 0
	for ; n > 0 && at >= 0; n-- {
		var key uint64
		if uint(at) < uint(len(data)) && data[at] <= oneByte {
			key, at = uint64(data[at]), at+1
		} else {
			key, at = readHead(data, at, majorUint)
		}
		for i < len(fields) && uint64(fields[i].key) < key {
			i++
		}
		if i == len(fields) || uint64(fields[i].key) != key {
			return failed
		}
		f := &fields[i]
		if v := unsafe.Add(p, f.offset); f.op == opText { // the most frequent op, without a call
			var b []byte
			b, at = readView(data, at, majorText)
			*(*string)(v) = string(b)
		} else {
			at = f.read(data, at, v)
		}
		i++
	}
	return at
}

func (x *item) readInt(data []byte, at int, p unsafe.Pointer) int {
	if uint(at) < uint(len(data)) && data[at]&0xe0 == majorInt {
		v, at := readHead(data, at, majorInt)
		return x.setUint(p, ^v, v>>(8*x.size-1) == 0, at)
	}
	v, at := readHead(data, at, majorUint)
	return x.setUint(p, v, v>>(8*x.size-1) == 0, at)
}

// setUint stores an integer. It returns at if the integer fits, and failed otherwise.
func (x *item) setUint(p unsafe.Pointer, v uint64, fits bool, at int) int {
	switch x.size {
	case 8:
		*(*uint64)(p) = v
	case 4:
		*(*uint32)(p) = uint32(v)
	case 2:
		*(*uint16)(p) = uint16(v)
	default:
		*(*uint8)(p) = uint8(v)
	}
	if !fits {
		return failed
	}
	return at
}

// text returns b as a string; a frequent value is not allocated.
func (x *item) text(b []byte) string {
	for _, s := range x.often {
		if string(b) == s {
			return s
		}
	}
	return string(b)
}

// readParts decodes a value of a type that can be nil; null is nil.
func (x *item) readParts(data []byte, at int, p unsafe.Pointer) int {
	if uint(at) < uint(len(data)) && data[at] == cborNull {
		return at + 1
	}
	switch x.op {
	case opBytes:
		b, at := readView(data, at, majorBytes)
		*(*[]byte)(p) = append([]byte{}, b...)
		return at
	case opPointer:
		target := reflect.New(x.memory).UnsafePointer()
		*(*unsafe.Pointer)(p) = target
		return x.elem.read(data, at, target)
	default:
		return x.readList(data, at, p)
	}
}

// readList decodes a list into the slice at p. Structs behind pointers share one allocation.
func (x *item) readList(data []byte, at int, p unsafe.Pointer) int {
	n, at := readCount(data, at, majorArray)
	if n == 0 || at < 0 {
		*(*[]struct{})(p) = []struct{}{} // not nil
		return at
	}
	var items unsafe.Pointer
	if n == 1 {
		items = reflect.New(x.memory.Elem()).UnsafePointer()
	} else {
		reflect.NewAt(x.memory, p).Elem().Grow(n)
		items = *(*unsafe.Pointer)(p)
	}
	*(*[]struct{})(p) = unsafe.Slice((*struct{})(items), n) // capacity n: an append reallocates
	if x.op == opPointers {
		targets := make([]unsafe.Pointer, n)
		for i := range targets {
			targets[i] = unsafe.Add(items, uintptr(i)*x.elem.size)
		}
		*(*[]unsafe.Pointer)(p) = targets
	}
	for i := uintptr(0); i < uintptr(n) && at >= 0; i++ {
		at = x.elem.read(data, at, unsafe.Add(items, i*x.elem.size))
	}
	return at
}

// readNumbers decodes a map. Unless its keys ascend, the library must decode it, which defines the meaning of repeated
// keys.
func readNumbers(data []byte, at int) (numbers map[string]float64, next int) {
	n, at := readCount(data, at, majorMap)
	numbers = make(map[string]float64, n)
	for last := ""; n > 0 && at >= 0; n-- {
		var name []byte
		name, at = readView(data, at, majorText)
		if len(numbers) > 0 && string(name) <= last {
			return nil, failed
		}
		last = string(name)
		numbers[last], at = readFloat(data, at)
	}
	return numbers, at
}

// readCount reads the length of a list or map. Each of its items takes at least a byte.
func readCount(data []byte, at int, major byte) (n, next int) {
	count, at := readHead(data, at, major)
	if at < 0 || count > uint64(len(data)-at) {
		return 0, failed
	}
	return int(count), at
}

// readView returns a part of data: a byte string or a text.
func readView(data []byte, at int, major byte) (b []byte, next int) {
	n, at := readHead(data, at, major)
	if at < 0 || n > uint64(len(data)-at) {
		return nil, failed
	}
	next = at + int(n)
	return data[at:next], next
}

// readHead reads the head of an item of the major type and returns its number.
func readHead(data []byte, at int, major byte) (n uint64, next int) {
	if uint(at) < uint(len(data)) {
		if n := data[at] ^ major; n <= oneByte {
			return uint64(n), at + 1
		}
	}
	return readLongHead(data, at, major)
}

func readLongHead(data []byte, at int, major byte) (n uint64, next int) {
	if uint(at) >= uint(len(data)) {
		return 0, failed
	}
	short := data[at] ^ major
	size := 1 << (short - 24)
	data = data[at+1:]
	switch {
	case short > 27 || len(data) < size:
		return 0, failed
	case size == 1:
		n = uint64(data[0])
	case size == 2:
		n = uint64(binary.BigEndian.Uint16(data))
	case size == 4:
		n = uint64(binary.BigEndian.Uint32(data))
	default:
		n = binary.BigEndian.Uint64(data)
	}
	return n, at + 1 + size
}
