package event

import (
	"encoding/binary"
	"math"
)

// The first bytes of floating-point numbers of 16, 32 and 64 bits.
// Source: RFC 8949, section 3.3.
const (
	cborFloat16 = 0xf9
	cborFloat32 = 0xfa
	cborFloat64 = 0xfb
)

// Float writes a floating-point number, in the fewest bytes that hold it.
func (w *MapWriter) Float(key byte, v float64) {
	w.key(key)
	w.buf = appendFloat(w.buf, v)
}

// OptFloat writes a floating-point number that is not zero.
func (w *MapWriter) OptFloat(key byte, v float64) {
	if v != 0 {
		w.Float(key, v)
	}
}

func appendFloat(dst []byte, v float64) []byte {
	if half, ok := float16(v); ok {
		return binary.BigEndian.AppendUint16(append(dst, cborFloat16), half)
	}
	if single := float32(v); float64(single) == v {
		return binary.BigEndian.AppendUint32(append(dst, cborFloat32), math.Float32bits(single))
	}
	return binary.BigEndian.AppendUint64(append(dst, cborFloat64), math.Float64bits(v))
}

// float16 is a number in 16 bits, if they hold it: a sign, five bits of the exponent and
// ten of the fraction. All numbers that are none become the one of them that the cbor
// library writes. Source: IEEE 754, binary16.
func float16(v float64) (half uint16, ok bool) {
	all := math.Float64bits(v)
	sign, exponent, fraction := uint16(all>>48)&0x8000, int(all>>52&0x7ff)-1023, all&(1<<52-1)
	switch {
	case v != v:
		return 0x7e00, true
	case math.IsInf(v, 0):
		return sign | 0x7c00, true
	case v == 0:
		return sign, true
	case exponent >= -14 && exponent <= 15:
		return sign | uint16(exponent+15)<<10 | uint16(fraction>>42), fraction<<22 == 0
	case exponent >= -24 && exponent < -14: // with zeros in front instead of an exponent
		shift := 42 - 14 - exponent
		whole := fraction | 1<<52
		return sign | uint16(whole>>shift), whole&(1<<shift-1) == 0
	default:
		return 0, false
	}
}

// Float reads a floating-point number.
func (r *MapReader) Float() float64 {
	size, number := 0, func([]byte) float64 { return 0 }
	data := r.data[r.at:]
	switch {
	case len(data) == 0:
	case data[0] == cborFloat16:
		size, number = 2, func(b []byte) float64 { return fromFloat16(binary.BigEndian.Uint16(b)) }
	case data[0] == cborFloat32:
		size, number = 4, func(b []byte) float64 { return float64(math.Float32frombits(binary.BigEndian.Uint32(b))) }
	case data[0] == cborFloat64:
		size, number = 8, func(b []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(b)) }
	}
	if r.failed || size == 0 || len(data) <= size {
		r.failed = true
		return 0
	}
	r.at += 1 + size
	return number(data[1:])
}

// fromFloat16 is a number of 16 bits.
func fromFloat16(half uint16) float64 {
	exponent, fraction := int(half>>10&0x1f), float64(half&0x3ff)
	var v float64
	switch exponent {
	case 0:
		v = math.Ldexp(fraction, -24)
	case 0x1f:
		v = math.Inf(1)
		if fraction != 0 {
			return math.NaN()
		}
	default:
		v = math.Ldexp(1024+fraction, exponent-25)
	}
	if half&0x8000 != 0 {
		v = -v
	}
	return v
}
