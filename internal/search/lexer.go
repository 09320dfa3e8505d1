package search

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxExpression is the maximum length of an expression in characters. Source: API reference, SearchGameSessions
// (FilterExpression, SortExpression).
const maxExpression = 1024

type tokenKind uint8

const (
	end       tokenKind = iota
	word                // an operand, a keyword, a number, a boolean
	quoted              // text in quotes; token.text is without quotes and escapes
	comparing           // a comparator
	opening             // (
	closing             // )
)

type token struct {
	kind tokenKind
	text string
	at   int // offset in bytes
}

// String returns the token for error messages.
func (t token) String() string {
	switch t.kind {
	case end:
		return "the end"
	case quoted:
		return fmt.Sprintf("the text %q", t.text)
	default:
		return fmt.Sprintf("%q", t.text)
	}
}

// A parser splits an expression into tokens. It looks one token ahead.
type parser struct {
	what  string // "filter" or "sort"
	input string
	at    int // offset after next
	next  token
	depth int // open parentheses and NOTs
}

func newParser(what, input string) (*parser, error) {
	p := &parser{what: what, input: input}
	if n := utf8.RuneCountInString(input); n > maxExpression {
		return nil, fault.New(fault.InvalidRequest,
			"Invalid %s expression: it has %d characters, the limit is %d.", what, n,
			maxExpression)
	}
	return p, p.advance()
}

// fail returns the exception for an error at t, with its position and what was expected.
func (p *parser) fail(t token, format string, args ...any) error {
	return p.failAt(t.at, format, args...)
}

func (p *parser) failAt(offset int, format string, args ...any) error {
	hint := fmt.Sprintf(format, args...)
	return fault.New(fault.InvalidRequest, "Invalid %s expression at character %d: %s.",
		p.what, p.position(offset), hint)
}

// position converts an offset to a character number, from 1.
func (p *parser) position(offset int) int { return utf8.RuneCountInString(p.input[:offset]) + 1 }

func (p *parser) take() (token, error) {
	t := p.next
	return t, p.advance()
}

// keyword reports whether the next token is the keyword, ignoring case.
func (p *parser) keyword(k string) bool {
	return p.next.kind == word && strings.EqualFold(p.next.text, k)
}

// breaks are the characters that end a word.
const breaks = " \t\r\n()'\"=<>!"

func (p *parser) advance() error {
	rest := strings.TrimLeft(p.input[p.at:], " \t\r\n")
	start := len(p.input) - len(rest)
	p.at = start
	if rest == "" {
		p.next = token{kind: end, at: start}
		return nil
	}
	switch rest[0] {
	case '(':
		p.accept(opening, 1)
	case ')':
		p.accept(closing, 1)
	case '\'', '"':
		return p.quoted()
	case '=', '<', '>', '!':
		return p.comparator(rest)
	default:
		n := strings.IndexAny(rest, breaks)
		if n < 0 {
			n = len(rest)
		}
		p.accept(word, n)
	}
	return nil
}

// accept makes the n bytes at p.at the next token.
func (p *parser) accept(kind tokenKind, n int) {
	p.next = token{kind: kind, text: p.input[p.at : p.at+n], at: p.at}
	p.at += n
}

func (p *parser) comparator(rest string) error {
	n := 1
	if len(rest) > 1 && strings.IndexByte("=<>", rest[1]) >= 0 {
		n = 2
	}
	if _, ok := comparators[rest[:n]]; !ok {
		return p.failAt(p.at, "unknown comparator %q: expected =, <>, <, >, <= or >=", rest[:n])
	}
	p.accept(comparing, n)
	return nil
}

// quoted reads text in single or double quotes and resolves its escapes.
func (p *parser) quoted() error {
	start, quote := p.at, p.input[p.at]
	var unescaped strings.Builder
	from := start + 1 // of the run that is not yet in unescaped
	for i := from; i < len(p.input); i++ {
		switch p.input[i] {
		case quote:
			unescaped.WriteString(p.input[from:i])
			p.next = token{kind: quoted, text: unescaped.String(), at: start}
			p.at = i + 1
			return nil
		case '\\':
			if i+1 == len(p.input) || !escapable(p.input[i+1]) {
				return p.failAt(i, "bad escape: expected a quote, a backslash or another punctuation mark behind the "+
					`backslash; write \\ for a backslash`)
			}
			unescaped.WriteString(p.input[from:i])
			from = i + 1
			i++
		}
	}
	return p.failAt(start, "the text that begins here has no closing %c", quote)
}

// escapable reports whether a backslash may escape c: the punctuation marks of ASCII and the space. Letters and digits
// are rejected, so that "\
// " is not the letter n.
func escapable(c byte) bool {
	return ' ' <= c && c <= '/' || ':' <= c && c <= '@' || '[' <= c && c <= '`' || '{' <= c && c <= '~'
}
