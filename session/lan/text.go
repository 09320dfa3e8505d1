package lan

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is how many bytes of the names of a session and its owner are announced and found; the rest is cut off.
const MaxName = 128

// plain says whether a text is UTF-8 without control characters.
func plain(b []byte) bool {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) {
			return false
		}
		b = b[size:]
	}
	return true
}

// cleanName makes a name fit for a list of sessions: valid UTF-8 on one line, which does not turn the direction of what
// stands around it, of MaxName bytes at most.
func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.TrimSpace(s)
	if len(s) <= MaxName {
		return s
	}
	end := MaxName
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimSpace(s[:end])
}
