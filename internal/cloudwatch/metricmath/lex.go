package metricmath

import "strings"

// A token is a part of an expression.
type token struct {
	kind     tokenKind
	text     string // of a text without quotes
	position int    // from 1
}

type tokenKind int

const (
	endToken    tokenKind = iota
	wordToken             // an identifier: letters, digits and _
	numberToken           // digits, with a fraction and an exponent
	textToken             // in quotes, ' or "
	signToken             // one character
)

// String is the token in messages.
func (t token) String() string {
	switch t.kind {
	case endToken:
		return "the end"
	case textToken:
		return "the text '" + t.text + "'"
	default:
		return "'" + t.text + "'"
	}
}

// lex splits an expression. The last token is an endToken.
func lex(text string) ([]token, *Error) {
	var tokens []token
	for i := 0; i < len(text); {
		c := text[i]
		t := token{kind: signToken, position: i + 1}
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case c == '\'' || c == '"':
			n := strings.IndexByte(text[i+1:], c)
			if n < 0 {
				return nil, errorAt(i+1, "the text has no closing %c", c)
			}
			t.kind, t.text = textToken, text[i+1:i+1+n]
			i += n + 2
		case isDigit(c) || c == '.':
			t.kind, t.text = numberToken, text[i:i+numberLength(text[i:])]
			i += len(t.text)
		case isWord(c):
			t.kind, t.text = wordToken, text[i:i+wordLength(text[i:])]
			i += len(t.text)
		case strings.IndexByte("+-*/^(),[]", c) >= 0:
			t.text = text[i : i+1]
			i++
		default:
			return nil, errorAt(i+1, "unexpected character %q", firstRune(text[i:]))
		}
		tokens = append(tokens, t)
	}
	return append(tokens, token{kind: endToken, position: len(text) + 1}), nil
}

func firstRune(text string) rune {
	for _, r := range text {
		return r
	}
	return 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func wordLength(text string) int {
	n := 0
	for n < len(text) && isWord(text[n]) {
		n++
	}
	return n
}

// numberLength returns the length of a number. strconv decides later whether it is one.
func numberLength(text string) int {
	n := 0
	for n < len(text) && (isDigit(text[n]) || text[n] == '.') {
		n++
	}
	if n < len(text) && (text[n] == 'e' || text[n] == 'E') {
		m := n + 1
		if m < len(text) && (text[m] == '+' || text[m] == '-') {
			m++
		}
		digits := m
		for m < len(text) && isDigit(text[m]) {
			m++
		}
		if m > digits {
			n = m
		}
	}
	return n
}
