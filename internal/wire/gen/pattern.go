package main

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// unicodeEscape is a UTF-16 code unit, or a surrogate pair, of a model pattern.
var unicodeEscape = regexp.MustCompile(
	`\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})`)

// goPattern is a pattern of the model, which has Java's syntax, as a full match in Go's. Java reads
// \uD800\uDC00-\uDBFF\uDFFF as one range of code points.
func goPattern(pattern string) string {
	return `^(?:` + unicodeEscape.ReplaceAllStringFunc(pattern, func(escape string) string {
		part := unicodeEscape.FindStringSubmatch(escape)
		if part[3] != "" {
			return `\x{` + part[3] + `}`
		}
		return fmt.Sprintf(`\x{%X}`, utf16.DecodeRune(codeUnit(part[1]), codeUnit(part[2])))
	}) + `)$`
}

// codeUnit reads four hexadecimal digits, which the caller has matched.
func codeUnit(hex string) rune {
	n, _ := strconv.ParseUint(hex, 16, 16)
	return rune(n)
}

// A simple pattern is a literal and then characters of one class.
type simple struct {
	prefix string
	some   bool // at least one character of the class
	class  [4]uint64
}

// simplify reports whether a pattern in Go's syntax is a simple one.
func simplify(expr string) (simple, bool) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return simple{}, false
	}
	parts := trim(flatten(re))
	var s simple
	for len(parts) > 1 && parts[0].Op == syntax.OpLiteral && parts[0].Flags&syntax.FoldCase == 0 {
		s.prefix += string(parts[0].Rune)
		parts = parts[1:]
	}
	if len(parts) != 1 || parts[0].Op != syntax.OpPlus && parts[0].Op != syntax.OpStar {
		return simple{}, false
	}
	s.some = parts[0].Op == syntax.OpPlus
	class := parts[0].Sub[0]
	if class.Op != syntax.OpCharClass {
		return simple{}, false
	}
	return s, s.table(class.Rune)
}

// flatten lists the parts of nested concatenations.
func flatten(re *syntax.Regexp) []*syntax.Regexp {
	if re.Op != syntax.OpConcat && re.Op != syntax.OpCapture {
		return []*syntax.Regexp{re}
	}
	var parts []*syntax.Regexp
	for _, sub := range re.Sub {
		parts = append(parts, flatten(sub)...)
	}
	return parts
}

// trim cuts off the anchors at both ends, which a full match implies.
func trim(parts []*syntax.Regexp) []*syntax.Regexp {
	for len(parts) > 0 && parts[0].Op == syntax.OpBeginText {
		parts = parts[1:]
	}
	for len(parts) > 0 && parts[len(parts)-1].Op == syntax.OpEndText {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// table fills the class from pairs of runes. It reports false when the class takes some of the characters beyond ASCII
// and not others: values are valid UTF-8, so bytes can tell apart all or nothing only.
func (s *simple) table(ranges []rune) bool {
	beyond := 0
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= min(ranges[i+1], unicode.MaxASCII); r++ {
			s.class[r>>6] |= 1 << (r & 63)
		}
		beyond += max(0, int(ranges[i+1])-max(int(ranges[i]), utf8.RuneSelf)+1)
	}
	if beyond == utf8.MaxRune-unicode.MaxASCII {
		s.class[2], s.class[3] = 1<<64-1, 1<<64-1
		return true
	}
	return beyond == 0
}

// patternSource is the Go expression for a pattern of the model.
func patternSource(pattern string) (string, error) {
	expr := goPattern(pattern)
	if _, err := regexp.Compile(expr); err != nil {
		return "", fmt.Errorf("pattern %s: %w", pattern, err)
	}
	if s, ok := simplify(expr); ok {
		return fmt.Sprintf("&pattern{source: %s, class: &[4]uint64{%#x, %#x, %#x, %#x}, prefix: %q, some: %t}",
			quote(pattern), s.class[0], s.class[1], s.class[2], s.class[3], s.prefix, s.some), nil
	}
	return fmt.Sprintf("&pattern{source: %s, expr: %s}", quote(pattern), quote(expr)), nil
}

// quote makes a raw string literal where that is possible.
func quote(s string) string {
	if strings.Contains(s, "`") {
		return strconv.Quote(s)
	}
	return "`" + s + "`"
}

// takesEmpty reports whether the empty string satisfies a string shape.
func takesEmpty(s *shape) bool {
	if len(s.Enum) > 0 || s.Min != nil && *s.Min > 0 {
		return false
	}
	return s.Pattern == "" || regexp.MustCompile(goPattern(s.Pattern)).MatchString("")
}
