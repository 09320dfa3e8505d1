package metricmath

import (
	"strconv"
	"strings"
)

// An Expression is a parsed expression. It is not changed by evaluation.
type Expression struct{ root node }

// A node is a part of an expression.
type node interface {
	eval(e *evaluation) (Value, error)
	// at returns where the part begins.
	at() int
}

type (
	numberNode struct {
		position int
		value    float64
	}
	textNode struct {
		position int
		text     string
	}
	// An idNode is the id of another query of the request.
	idNode struct {
		position int
		id       string
	}
	// An arrayNode is [a, b].
	arrayNode struct {
		position int
		elements []node
	}
	callNode struct {
		position int
		function *function
		args     []node
		search   *Search // of SEARCH
	}
	binaryNode struct {
		position    int // of the operator
		operator    byte
		left, right node
	}
)

func (n *numberNode) at() int { return n.position }
func (n *textNode) at() int   { return n.position }
func (n *idNode) at() int     { return n.position }
func (n *arrayNode) at() int  { return n.position }
func (n *callNode) at() int   { return n.position }
func (n *binaryNode) at() int { return n.left.at() }

// Parse parses an expression. The error is an *Error.
func Parse(text string) (*Expression, error) {
	if len(text) > MaxLength {
		return nil, errorAt(MaxLength+1, "the expression is longer than %d bytes", MaxLength)
	}
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	root, err := p.expression(0)
	if err != nil {
		return nil, err
	}
	if t := p.next(); t.kind != endToken {
		return nil, errorAt(t.position, "unexpected %s", t)
	}
	return &Expression{root}, nil
}

type parser struct {
	tokens []token
	depth  int
}

func (p *parser) peek() token { return p.tokens[0] }

// next consumes a token; the end stays.
func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != endToken {
		p.tokens = p.tokens[1:]
	}
	return t
}

// skip consumes a sign if it is next.
func (p *parser) skip(sign string) bool {
	if t := p.peek(); t.kind != signToken || t.text != sign {
		return false
	}
	p.next()
	return true
}

// strengths are how strongly operators bind.
var strengths = map[string]int{"+": 1, "-": 1, "*": 2, "/": 2, "^": 4}

// unary is how strongly a sign before an operand binds.
const unary = 3

// expression parses operands with operators that bind more strongly than given.
func (p *parser) expression(above int) (node, *Error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errorAt(p.peek().position, "the expression nests deeper than %d levels", maxDepth)
	}
	defer func() { p.depth-- }()
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	for length := 0; ; length++ {
		t := p.peek()
		strength := strengths[t.text]
		if t.kind != signToken || strength <= above {
			return left, nil
		}
		if length == maxDepth { // they nest to the left
			return nil, errorAt(t.position, "more than %d operators in a row: use parentheses or further queries",
				maxDepth)
		}
		p.next()
		right, err := p.expression(strength)
		if err != nil {
			return nil, err
		}
		left = &binaryNode{t.position, t.text[0], left, right}
	}
}

func (p *parser) operand() (node, *Error) {
	switch t := p.next(); {
	case t.kind == numberToken:
		value, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, errorAt(t.position, "'%s' is no number", t.text)
		}
		return &numberNode{t.position, value}, nil
	case t.kind == textToken:
		return &textNode{t.position, t.text}, nil
	case t.kind == wordToken && p.skip("("):
		return p.call(t)
	case t.kind == wordToken && (t.text == repeat || t.text == linear):
		return &textNode{t.position, t.text}, nil
	case t.kind == wordToken:
		if c := t.text[0]; c < 'a' || c > 'z' {
			return nil, errorAt(t.position, "'%s' is no id of a query: ids begin with a lowercase letter, and "+
				"functions need parentheses", t.text)
		}
		return &idNode{t.position, t.text}, nil
	case t.kind == signToken && t.text == "(":
		inner, err := p.expression(0)
		if err == nil && !p.skip(")") {
			err = errorAt(p.peek().position, "expected ')' instead of %s", p.peek())
		}
		return inner, err
	case t.kind == signToken && t.text == "[":
		elements, err := p.list("]")
		return &arrayNode{t.position, elements}, err
	case t.kind == signToken && t.text == "-":
		inner, err := p.expression(unary)
		return &binaryNode{t.position, '-', &numberNode{position: t.position}, inner}, err
	default:
		return nil, errorAt(t.position, "expected a number, an id or a function instead of %s", t)
	}
}

// list parses operands between commas, until the closing sign.
func (p *parser) list(closing string) (elements []node, err *Error) {
	if p.skip(closing) {
		return nil, nil
	}
	for {
		element, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		elements = append(elements, element)
		if p.skip(closing) {
			return elements, nil
		}
		if !p.skip(",") {
			return nil, errorAt(p.peek().position, "expected ',' or '%s' instead of %s", closing, p.peek())
		}
	}
}

func (p *parser) call(name token) (node, *Error) {
	f := functions[strings.ToUpper(name.text)]
	if f == nil {
		return nil, errorAt(name.position, "the function %.40s is not offered; there are %s", name.text, functionNames)
	}
	args, err := p.list(")")
	if err != nil {
		return nil, err
	}
	if len(args) < f.least || len(args) > f.most {
		return nil, errorAt(name.position, "the function %s takes %s", f.name, f.takes())
	}
	c := &callNode{position: name.position, function: f, args: args}
	if f.check != nil {
		return c, f.check(c)
	}
	return c, nil
}
