package search

import "cmp"

// comparator is the sign between an operand and a value.
type comparator uint8

const (
	equal comparator = iota
	different
	less
	greater
	atMost
	atLeast
)

// comparators are the comparators' spellings.
var comparators = map[string]comparator{
	"=": equal, "<>": different, "<": less, ">": greater, "<=": atMost, ">=": atLeast,
}

// holds reports whether the comparator accepts the outcome of cmp.Compare.
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

// negated is the comparator that holds exactly where c does not.
func (c comparator) negated() comparator {
	return [...]comparator{equal: different, different: equal, less: atLeast, atLeast: less, greater: atMost, atMost: greater}[c]
}

// A condition compares one operand with one value.
type condition struct {
	operand    operand
	comparator comparator
	key        string // of a property
	text       string // the value of text operands
	number     int64  // the value of integers; booleans are 0 and 1
}

// match reports whether the condition holds for d. A property that d lacks
// equals nothing.
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

// nodeKind is the kind of a node.
type nodeKind uint8

const (
	leaf     nodeKind = iota // a condition
	both                     // left AND right
	either                   // left OR right
	negation                 // NOT left
)

// A node is one part of a parsed expression.
type node struct {
	kind        nodeKind
	left, right *node
	condition   condition
}

// A Filter is a compiled filter expression; it may be used by several
// goroutines at once. A nil or zero Filter matches everything.
type Filter struct {
	steps []step      // empty: everything matches
	start int16       // the first step
	must  []condition // hold for every doc that matches; the planner looks here
}

// A step tests one condition and says where to go on: to another step, or to
// one of the two ends. AND, OR and NOT are nothing but different ways to go on.
type step struct {
	condition
	yes, no int16
}

// The ends of a run through the steps.
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

// newFilter compiles an expression. Expressions are short enough (see
// maxExpression) for 16-bit steps.
func newFilter(root *node) *Filter {
	f := &Filter{}
	f.start = f.compile(root, matched, rejected)
	f.collect(root, false)
	return f
}

// compile adds the steps of n and returns the first of them.
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

// collect notes the conditions that hold wherever n holds (or, negated, does
// not hold): those that AND joins at the top, seen through NOT.
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
