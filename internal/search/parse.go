package search

import (
	"errors"
	"strconv"
	"strings"
)

// maxDepth is the maximum nesting of parentheses and NOTs.
const maxDepth = 64

// ParseFilter parses a filter expression; "" matches everything. The error is an InvalidRequestException with the
// position (from 1) and what was expected there.
func ParseFilter(expression string) (*Filter, error) {
	if expression == "" {
		return &Filter{}, nil
	}
	p, err := newParser("filter", expression)
	if err != nil {
		return nil, err
	}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	switch p.next.kind {
	case end:
		return newFilter(root), nil
	case closing:
		return nil, p.fail(p.next, `this ")" has no opening "("`)
	default:
		return nil, p.fail(p.next, "expected AND, OR or the end, found %s", p.next)
	}
}

// or = and { OR and }
func (p *parser) or() (*node, error) { return p.chain("OR", either, p.and) }

// and = not { AND not }
func (p *parser) and() (*node, error) { return p.chain("AND", both, p.not) }

// chain parses operands joined by a keyword, left-associative.
func (p *parser) chain(keyword string, join nodeKind, operand func() (*node, error)) (*node, error) {
	left, err := operand()
	for err == nil && p.keyword(keyword) {
		if err = p.advance(); err != nil {
			break
		}
		var right *node
		if right, err = operand(); err == nil {
			left = &node{kind: join, left: left, right: right}
		}
	}
	return left, err
}

// not = NOT not | primary
func (p *parser) not() (*node, error) {
	if p.keyword("NOT") {
		return p.deeper(func() (*node, error) {
			inner, err := p.not()
			return &node{kind: negation, left: inner}, err
		})
	}
	if p.next.kind != opening {
		return p.condition()
	}
	open := p.next
	return p.deeper(func() (*node, error) {
		inner, err := p.or()
		if err != nil {
			return nil, err
		}
		if p.next.kind == end {
			return nil, p.fail(p.next, `expected AND, OR or ")": the "(" at character %d is not closed`,
				p.position(open.at))
		}
		if p.next.kind != closing {
			return nil, p.fail(p.next, `expected AND, OR or ")", found %s`, p.next)
		}
		return inner, p.advance()
	})
}

// deeper skips the next token and parses what it opens.
func (p *parser) deeper(read func() (*node, error)) (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(p.next,
			"more than %d parentheses and NOTs are nested here: simplify the expression", maxDepth)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := read()
	p.depth--
	return n, err
}

// condition = operand comparator value
func (p *parser) condition() (*node, error) {
	subject := p.next
	o, key, err := p.operand(subject)
	if err != nil {
		return nil, err
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	sign, err := p.take()
	if err != nil {
		return nil, err
	}
	if sign.kind != comparing {
		return nil, p.fail(sign, "expected a comparator behind %s, found %s", subject, sign)
	}
	c := condition{operand: o, key: key, comparator: comparators[sign.text]}
	if o.valueType() != integer && c.comparator != equal && c.comparator != different {
		return nil, p.fail(sign, "%s takes the comparators = and <> only", subject)
	}
	value, err := p.take()
	if err != nil {
		return nil, err
	}
	if err := p.value(&c, subject, value); err != nil {
		return nil, err
	}
	return &node{kind: leaf, condition: c}, nil
}

// value parses the value of a condition into c.
func (p *parser) value(c *condition, subject, t token) error {
	switch c.operand.valueType() {
	case text:
		if t.kind != quoted {
			return p.fail(t, "%s takes text in quotes, such as 'Cup', found %s", subject, t)
		}
		c.text = t.text
	case boolean:
		if t.kind != word || !strings.EqualFold(t.text, "true") && !strings.EqualFold(t.text, "false") {
			return p.fail(t, "%s takes true or false, without quotes, found %s", subject, t)
		}
		if strings.EqualFold(t.text, "true") {
			c.number = 1
		}
	default:
		n, err := strconv.ParseInt(t.text, 10, 64)
		switch {
		case t.kind != word || err != nil && !errors.Is(err, strconv.ErrRange) || t.text[0] == '+':
			return p.fail(t, "%s takes a whole number, without quotes, found %s", subject, t)
		case err != nil:
			return p.fail(t, "%s is out of the range of 64-bit integers", t)
		}
		c.number = n
	}
	return nil
}
