package ruleset

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of compound rules: the nesting of a statement, and the number of rules that it evaluates, including those of
// compound rules in it. The latter bounds the work for nested references.
const (
	maxNesting = 32
	maxWeight  = 1000
)

// operators are the operators of compound rules.
var operators = []string{"and", "or", "not", "xor"}

// compound reads the statement of a compound rule.
//
//	statement = operator "(" operand { "," operand } ")"
//	operand   = rule name | statement
//
// Source: FlexMatch guide, compound rule.
func (p *parser) compound(o object, r *Rule) {
	s := &statementParser{parser: p, path: o.at("statement"), text: p.required(o, "statement")}
	r.Statement = s.operand()
	if s.failed() {
		return
	}
	if s.next() != 0 {
		s.fail("expected the end, found %s", quote(s.text[s.at:]))
	}
	if r.Statement.Op == "" {
		s.at = 0
		s.fail("begin with %s and a parenthesis", either(operators))
	}
	p.weights = append(p.weights, s.weight)
}

type statementParser struct {
	parser *parser
	path   string
	text   string
	at     int // offset in bytes
	depth  int // open parentheses
	weight int
}

func (s *statementParser) failed() bool { return s.parser.err != nil }

func (s *statementParser) fail(format string, args ...any) {
	args = append([]any{utf8.RuneCountInString(s.text[:s.at]) + 1}, args...)
	s.parser.fail(s.path, "at character %d of the statement: "+format, args...)
}

// next skips spaces and returns the next character; 0 at the end.
func (s *statementParser) next() byte {
	s.at = len(s.text) - len(strings.TrimLeft(s.text[s.at:], " \t\r\n"))
	if s.at == len(s.text) {
		return 0
	}
	return s.text[s.at]
}

// operand reads a rule or a statement.
func (s *statementParser) operand() *Statement {
	s.next()
	n := strings.IndexAny(s.text[s.at:], "(),")
	if n < 0 {
		n = len(s.text) - s.at
	}
	word := strings.TrimRight(s.text[s.at:s.at+n], " \t\r\n")
	if s.at+n == len(s.text) || s.text[s.at+n] != '(' {
		return s.rule(word)
	}
	if !slices.Contains(operators, word) {
		s.fail("there is no operator %s: use %s", quote(word), either(operators))
		return nil
	}
	s.at += n + 1
	return s.statement(word)
}

// rule reads the name of a rule.
func (s *statementParser) rule(name string) *Statement {
	if name == "" {
		s.fail("expected the name of a rule")
		return nil
	}
	i, ok := s.parser.rules[name]
	if !ok {
		s.fail("there is no rule %s before this one", quote(name))
		return nil
	}
	r := &s.parser.set.Rules[i]
	switch r.Type {
	case BatchDistance, AbsoluteSort, DistanceSort:
		s.fail("the rule %s is of type %s, which a compound rule cannot have", quote(name), r.Type)
	}
	if s.weight += s.parser.weights[i]; s.weight > maxWeight {
		s.fail("more than %d rules are evaluated up to here: simplify the statement", maxWeight)
	}
	r.Operand = true
	s.at += len(name)
	return &Statement{Rule: i}
}

// statement reads the operands of an operator, after its parenthesis.
func (s *statementParser) statement(operator string) *Statement {
	if s.depth++; s.depth > maxNesting {
		s.fail("more than %d operators are nested here: simplify the statement", maxNesting)
		return nil
	}
	of := &Statement{Op: operator}
	for more := true; more; {
		of.Args = append(of.Args, s.operand())
		if s.failed() {
			return nil
		}
		if more = s.next() == ','; more {
			s.at++
		}
	}
	switch n := len(of.Args); {
	case s.next() != ')':
		s.fail(`expected "," or ")"`)
	case operator == "not" && n != 1:
		s.fail("not has one operand, not %d", n)
	case operator != "not" && n < 2:
		s.fail("%s has two operands or more, not one", operator)
	}
	s.at++
	s.depth--
	return of
}
