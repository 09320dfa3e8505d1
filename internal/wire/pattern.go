package wire

import (
	"regexp"
	"strings"
	"sync"
)

// A pattern is a regular expression of the model, matched against whole values. Most are a literal followed by
// characters of one class, which takes a table look-up for each byte; the others are compiled when they are first
// needed.
type pattern struct {
	source string // as in the model, for messages

	// A simple pattern: prefix, then bytes of class; some says that at least one must follow.
	class  *[4]uint64
	prefix string
	some   bool

	expr     string // the others: the same in Go's syntax
	once     sync.Once
	compiled *regexp.Regexp
}

// maxMatched is how many bytes an expression is tried on. The identifiers that have one are far shorter; a value of
// megabytes should not cost a second.
const maxMatched = 1 << 16

// match reports whether the whole of s matches.
func (p *pattern) match(s string) bool {
	if p.class == nil {
		return len(s) <= maxMatched && p.regexp().MatchString(s)
	}
	rest, ok := strings.CutPrefix(s, p.prefix)
	if !ok || p.some && rest == "" {
		return false
	}
	for i := range len(rest) {
		if p.class[rest[i]>>6]&(1<<(rest[i]&63)) == 0 {
			return false
		}
	}
	return true
}

// regexp compiles the expression once. The generator has compiled it before, so it cannot fail.
func (p *pattern) regexp() *regexp.Regexp {
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.expr) })
	return p.compiled
}
