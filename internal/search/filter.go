package search

import "cmp"

type comparator uint8

const (
	equal comparator = iota
	different
	less
	greater
	atMost
	atLeast
)

var comparators = map[string]comparator{
	"=": equal, "<>": different, "<": less, ">": greater, "<=": atMost, ">=": atLeast,
}

// holds reports whether the comparator accepts a result of cmp.Compare.
func (c comparator) holds(order int) bool {
	switch c {
	case equal:
		return order == 0
	case different:
		return order != 0
	case less:
		return order < 0
	case greater:
		return order > 0
	case atMost:
		return order <= 0
	default:
		return order >= 0
	}
}

// negated returns the comparator that holds exactly where c does not.
func (c comparator) negated() comparator {
	return [...]comparator{equal: different, different: equal, less: atLeast, atLeast: less, greater: atMost,
		atMost: greater}[c]
}

type condition struct {
	operand    operand
	comparator comparator
	key        string // of a property
	text       string // the value of text operands
	number     int64  // the value of integers; booleans are 0 and 1
}

// match reports whether the condition holds for d. A missing property equals nothing.
func (c *condition) match(d *Doc) bool {
	var same bool
	switch c.operand {
	case id:
		same = d.hasID(c.text)
	case name:
		same = d.Name == c.text
	case property:
		value, ok := d.property(c.key)
		same = ok && value == c.text
	default:
		return c.comparator.holds(cmp.Compare(d.number(c.operand), c.number))
	}
	return same == (c.comparator == equal)
}

type nodeKind uint8

const (
	leaf     nodeKind = iota // a condition
	both                     // left AND right
	either                   // left OR right
	negation                 // NOT left
)

type node struct {
	kind        nodeKind
	left, right *node
	condition   condition
}

// A Filter is a compiled filter expression, safe for concurrent use. A nil or zero Filter matches everything.
type Filter struct {
	steps []step      // empty: everything matches
	start int16       // the first step
	must  []condition // hold for every matching doc; for the planner
}

// A step tests one condition and names the next step, or one of the two ends. That is enough for AND, OR and NOT.
type step struct {
	condition
	yes, no int16
}

// The ends of an evaluation.
const (
	matched  = -1
	rejected = -2
)

// Match reports whether d passes the filter. It allocates nothing.
func (f *Filter) Match(d *Doc) bool {
	if f == nil || len(f.steps) == 0 {
		return true
	}
	at := f.start
	for at >= 0 {
		s := &f.steps[at]
		if s.match(d) {
			at = s.yes
		} else {
			at = s.no
		}
	}
	return at == matched
}

// newFilter compiles an expression. maxExpression ensures that 16 bits suffice for steps.
func newFilter(root *node) *Filter {
	f := &Filter{}
	f.start = f.compile(root, matched, rejected)
	f.collect(root, false)
	return f
}

// compile adds the steps of n and returns the first.
func (f *Filter) compile(n *node, yes, no int16) int16 {
	switch n.kind {
	case both:
		return f.compile(n.left, f.compile(n.right, yes, no), no)
	case either:
		return f.compile(n.left, yes, f.compile(n.right, yes, no))
	case negation:
		return f.compile(n.left, no, yes)
	default:
		f.steps = append(f.steps, step{n.condition, yes, no})
		return int16(len(f.steps) - 1)
	}
}

// collect adds the conditions that hold wherever n holds (or, if negated, does not hold): those joined by AND at the
// top.
func (f *Filter) collect(n *node, negated bool) {
	switch {
	case n.kind == negation:
		f.collect(n.left, !negated)
	case n.kind == both && !negated, n.kind == either && negated:
		f.collect(n.left, negated)
		f.collect(n.right, negated)
	case n.kind == leaf:
		c := n.condition
		if negated {
			c.comparator = c.comparator.negated()
		}
		f.must = append(f.must, c)
	}
}
