package wire

import (
	"math/bits"
	"unicode/utf8"
)

// highBits are the highest bits of eight bytes, which text is looked at together.
const highBits = 0x8080808080808080

// word is the first 8 bytes of s as one number, the first of them lowest.
func word[T string | []byte](s T) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// plain holds the ASCII characters that stand for themselves in a string literal.
var plain = func() (set [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// plainLen is how many bytes at the beginning of s are plain.
func plainLen[T string | []byte](s T) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		if other := notPlain(word(s[i : i+8])); other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
	}
	for i < len(s) && plain[s[i]] {
		i++
	}
	return i
}

// notPlain is 0 if all 8 bytes of w are plain; else its lowest bit is in the first of them that is not. It looks at
// them together: a subtraction sets the highest bit of the bytes that were too small, and a false alarm, which a borrow
// can raise, is behind a true one.
func notPlain(w uint64) uint64 {
	const ones = 0x0101010101010101
	small := w - ones*' '
	quote := w ^ ones*'"' - ones
	backslash := w ^ ones*'\\' - ones
	return (w | small | quote | backslash) & highBits
}

// isUTF8 reports whether a text string is one. Most are ASCII.
func isUTF8(text []byte) bool { return isASCII(text) || utf8.Valid(text) }

// isASCII reports whether all bytes of s are ASCII.
func isASCII[T string | []byte](s T) bool {
	all := uint64(0)
	if len(s) < 8 {
		for i := range len(s) {
			all |= uint64(s[i])
		}
		return all < utf8.RuneSelf
	}
	for i := 8; i < len(s); i += 8 {
		all |= word(s[i-8 : i])
	}
	return (all|word(s[len(s)-8:]))&highBits == 0
}
