package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

type pieceKind uint8

const (
	literal  pieceKind = iota
	anyRun             // "*"
	anyOne             // "?"
	variable           // "${…}"
)

// A piece is a part of a pattern. Adjacent literals are one piece, so a pattern begins with its longest literal prefix.
type piece struct {
	kind     pieceKind
	text     string  // the literal, or the key of the variable
	fallback *string // what replaces a variable whose key is missing; nil: nothing does
}

// A pattern is a text with wildcards and variables.
type pattern struct {
	pieces    []piece
	variables bool
}

// A lookup returns the values of a condition key. It may be nil: every key is missing.
type lookup func(key string) ([]string, bool)

func (l lookup) get(key string) []string {
	if l == nil {
		return nil
	}
	values, ok := l(key)
	if !ok {
		return nil
	}
	return values
}

// matches reports whether a text fits the pattern.
func (p *pattern) matches(s string, keys lookup) bool {
	pieces, ok := p.expand(keys)
	return ok && match(pieces, s)
}

// expand replaces the variables. ok is false if one has no value, or several. Without variables it copies nothing.
func (p *pattern) expand(keys lookup) (pieces []piece, ok bool) {
	if !p.variables {
		return p.pieces, true
	}
	pieces = make([]piece, len(p.pieces))
	for i, part := range p.pieces {
		if part.kind == variable {
			switch values := keys.get(part.text); {
			case len(values) == 1:
				part = piece{kind: literal, text: values[0]}
			case len(values) == 0 && part.fallback != nil:
				part = piece{kind: literal, text: *part.fallback}
			default:
				return nil, false
			}
		}
		pieces[i] = part
	}
	return pieces, true
}

// text is the text of a pattern without wildcards. ok is false if a variable has no value.
func (p *pattern) text(keys lookup) (s string, ok bool) {
	pieces, ok := p.expand(keys)
	if !ok {
		return "", false
	}
	if len(pieces) == 1 {
		return pieces[0].text, true
	}
	var b strings.Builder
	for i := range pieces {
		b.WriteString(pieces[i].text)
	}
	return b.String(), true
}

// match compares a text with pieces that have no variables. It never goes back further than to the last "*", so its
// time is at most the product of the two lengths.
func match(pieces []piece, s string) bool {
	i, star, rest := 0, -1, ""
	for {
		if i == len(pieces) {
			if s == "" {
				return true
			}
		} else {
			switch p := &pieces[i]; p.kind {
			case anyRun:
				if i++; i == len(pieces) {
					return true
				}
				star, rest = i, s
				continue
			case anyOne:
				if s != "" {
					s, i = s[runeSize(s):], i+1
					continue
				}
			default:
				if strings.HasPrefix(s, p.text) {
					s, i = s[len(p.text):], i+1
					continue
				}
			}
		}
		if star < 0 || rest == "" { // nothing is left that the last "*" could match
			return false
		}
		rest = rest[runeSize(rest):]
		s, i = rest, star
	}
}

func runeSize(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// parseGlob reads a pattern that has wildcards and no variables.
func parseGlob(text string) []piece {
	var pieces []piece
	for text != "" {
		i := strings.IndexAny(text, "*?")
		if i < 0 {
			i = len(text)
		}
		pieces = appendLiteral(pieces, text[:i])
		if text = text[i:]; text != "" {
			pieces = append(pieces, wildcard(text[0]))
			text = text[1:]
		}
	}
	return pieces
}

func wildcard(c byte) piece {
	if c == '*' {
		return piece{kind: anyRun}
	}
	return piece{kind: anyOne}
}

func appendLiteral(pieces []piece, text string) []piece {
	switch last := len(pieces) - 1; {
	case text == "":
	case last >= 0 && pieces[last].kind == literal:
		pieces[last].text += text
	default:
		pieces = append(pieces, piece{kind: literal, text: text})
	}
	return pieces
}

// pattern reads a text with wildcards, if wild, and with variables, if the document's version has them.
func (p *parser) pattern(element, text string, wild bool) (pattern, error) {
	var out pattern
	parse := func(plain string) {
		if wild {
			for _, part := range parseGlob(plain) {
				if part.kind == literal {
					out.pieces = appendLiteral(out.pieces, part.text)
				} else {
					out.pieces = append(out.pieces, part)
				}
			}
			return
		}
		out.pieces = appendLiteral(out.pieces, plain)
	}
	for p.variables {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return out, p.fail(element, `"${" in %q has no "}"`, text)
		}
		parse(before)
		part, err := p.variable(element, name)
		if err != nil {
			return out, err
		}
		if part.kind == literal {
			out.pieces = appendLiteral(out.pieces, part.text)
		} else {
			out.pieces, out.variables = append(out.pieces, part), true
		}
		text = after
	}
	parse(text)
	return out, nil
}

// variable reads what is between "${" and "}": a key, a key with a default, or one of the characters "*", "?" and "$".
func (p *parser) variable(element, text string) (piece, error) {
	if text == "*" || text == "?" || text == "$" {
		return piece{kind: literal, text: text}, nil
	}
	name, quoted, hasDefault := strings.Cut(text, ",")
	key, ok := p.key(strings.TrimSpace(name))
	if !ok {
		return piece{}, p.unknown(element, "there is no variable ${%s}", text)
	}
	out := piece{kind: variable, text: key}
	if hasDefault {
		quoted = strings.TrimSpace(quoted)
		if len(quoted) < 2 || quoted[0] != '\'' || quoted[len(quoted)-1] != '\'' {
			return piece{}, p.fail(element, "the default of ${%s} must be in single quotes", text)
		}
		out.fallback = new(quoted[1 : len(quoted)-1])
	}
	return out, nil
}

// fail is an error of the statement that is being read.
func (p *parser) fail(element, format string, args ...any) *SyntaxError {
	return &SyntaxError{
		Statement: p.number, Sid: p.sid, Element: element, Reason: fmt.Sprintf(format, args...),
	}
}

// unknown is an error that ParseLenient only lists.
func (p *parser) unknown(element, format string, args ...any) *SyntaxError {
	err := p.fail(element, format, args...)
	err.unknown = true
	return err
}
