package event

import (
	"encoding/binary"
	"math"
)

// The first bytes of floating-point numbers of 16, 32 and 64 bits. Source: RFC 8949, section 3.3.
const (
	cborFloat16 = 0xf9
	cborFloat32 = 0xfa
	cborFloat64 = 0xfb
)

func appendFloat(dst []byte, v float64) []byte {
	if half, ok := float16(v); ok {
		return binary.BigEndian.AppendUint16(append(dst, cborFloat16), half)
	}
	if single := float32(v); float64(single) == v {
		return binary.BigEndian.AppendUint32(append(dst, cborFloat32), math.Float32bits(single))
	}
	return binary.BigEndian.AppendUint64(append(dst, cborFloat64), math.Float64bits(v))
}

// float16 returns a number in 16 bits, if it is exact: a sign, five bits of the exponent and ten of the fraction. Every
// NaN becomes the one that the cbor library writes. Source: IEEE 754, binary16.
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
	case exponent >= -24 && exponent < -14: // subnormal
		shift := 42 - 14 - exponent
		whole := fraction | 1<<52
		return sign | uint16(whole>>shift), whole&(1<<shift-1) == 0
	default:
		return 0, false
	}
}

func readFloat(data []byte, at int) (v float64, next int) {
	if uint(at) >= uint(len(data)) {
		return 0, failed
	}
	number := data[at+1:]
	switch first := data[at]; {
	case first == cborFloat16 && len(number) >= 2:
		return fromFloat16(binary.BigEndian.Uint16(number)), at + 3
	case first == cborFloat32 && len(number) >= 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(number))), at + 5
	case first == cborFloat64 && len(number) >= 8:
		return math.Float64frombits(binary.BigEndian.Uint64(number)), at + 9
	}
	return 0, failed
}

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
