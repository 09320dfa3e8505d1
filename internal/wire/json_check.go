package wire

import (
	"fmt"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// checkJSON reports why body is not one well-formed JSON value in UTF-8, with nothing but white space around it and
// within maxNesting and maxElements. The lexer that reads the value afterwards trusts that: by itself it lets pass
// mismatched brackets, numbers such as "01" or "1.", and control characters in strings. Source: RFC 8259.
func checkJSON(body []byte) *fault.Error {
	if !utf8.Valid(body) {
		return fault.New(fault.Serialization, "The request body is not valid UTF-8.")
	}
	s := jsonScanner{data: body}
	s.space()
	if s.value() {
		s.space()
		if s.pos == len(s.data) {
			return nil
		}
		s.reject("the end of the body")
	}
	if s.limit != "" {
		return fault.New(fault.Serialization, "The request body %s.", s.limit)
	}
	return fault.New(fault.Serialization, "The request body is not valid JSON: expected %s at byte %d.",
		s.expected, s.pos)
}

// A jsonScanner walks over JSON text. Its methods return false at the first mistake and leave pos there.
type jsonScanner struct {
	data     []byte
	pos      int
	depth    int
	expected string // what should have stood at pos
	limit    string // which limit is exceeded
}

// reject notes what was expected at pos.
func (s *jsonScanner) reject(expected string) bool {
	s.expected = expected
	return false
}

// peek returns the byte at pos; 0, which JSON allows nowhere, at the end.
func (s *jsonScanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *jsonScanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *jsonScanner) value() bool {
	switch c := s.peek(); {
	case c == '"':
		return s.text()
	case c == '{':
		return s.container('}', s.member)
	case c == '[':
		return s.container(']', s.value)
	case c == '-' || isDigit(c):
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	default:
		return s.reject("a value")
	}
}

// container walks over an object or an array, whose elements are comma-separated.
func (s *jsonScanner) container(end byte, element func() bool) bool {
	if s.depth++; s.depth > maxNesting {
		s.limit = fmt.Sprintf("nests deeper than %d levels", maxNesting)
		return false
	}
	s.pos++
	s.space()
	if s.peek() == end {
		s.pos++
		s.depth--
		return true
	}
	for n := 1; element(); n++ {
		if n > maxElements {
			s.limit = fmt.Sprintf("has an object or array of more than %d elements", maxElements)
			return false
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
			s.space()
		case end:
			s.pos++
			s.depth--
			return true
		default:
			return s.reject("',' or '" + string(rune(end)) + "'")
		}
	}
	return false
}

// member walks over a name, a colon and a value.
func (s *jsonScanner) member() bool {
	if s.peek() != '"' {
		return s.reject("a member name in double quotes")
	}
	if !s.text() {
		return false
	}
	s.space()
	if s.peek() != ':' {
		return s.reject("':'")
	}
	s.pos++
	s.space()
	return s.value()
}

func (s *jsonScanner) text() bool {
	for s.pos++; ; s.pos++ {
		s.pos += plainLen(s.data[s.pos:])
		if s.pos == len(s.data) {
			return s.reject("the end of a string")
		}
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return true
		case c < ' ':
			return s.reject("no control character in a string")
		case c == '\\':
			if !s.escape() {
				return false
			}
		}
	}
}

// escape walks over the part of an escape sequence that follows the backslash, but for its last byte.
func (s *jsonScanner) escape() bool {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			s.pos++
			if c := s.peek(); !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return s.reject("four hexadecimal digits")
			}
		}
		return true
	default:
		return s.reject("an escape sequence")
	}
}

func (s *jsonScanner) number() bool {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return false
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return false
		}
	}
	if s.peek()|0x20 == 'e' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		return s.digits()
	}
	return true
}

// digits walks over one digit or more.
func (s *jsonScanner) digits() bool {
	start := s.pos
	for isDigit(s.peek()) {
		s.pos++
	}
	return s.pos > start || s.reject("a digit")
}

// word walks over a literal name.
func (s *jsonScanner) word(w string) bool {
	for i := range len(w) {
		if s.peek() != w[i] {
			return s.reject(w)
		}
		s.pos++
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
