package metricmath

import (
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/metrics"
)

// A Search is a parsed search expression:
//
//	{AWS/GameLift,FleetId} MetricName="ActiveGameSessions" NOT FleetId="fleet-1"
//
// The braces have the namespace and the exact set of names of dimensions. Terms are combined with AND (which may be
// left out), OR, NOT and parentheses. A term has a property (MetricName, Namespace, or the name of a dimension), or is
// about all of them. A text in double quotes must be equal, another one must be contained, in any case of letters.
type Search struct {
	schema []string // namespace and names of dimensions, sorted; nil: any
	root   condition
}

// A Subject is a metric that a search may find.
type Subject struct {
	Namespace string
	Account   string
	Series    metrics.Series
}

// Match reports whether the search finds a metric.
func (s *Search) Match(m *Subject) bool { return s.matchesSchema(m) && s.root(m) }

func (s *Search) matchesSchema(m *Subject) bool {
	if s.schema == nil {
		return true
	}
	if len(s.schema) != 1+len(m.Series.Dimensions) || s.schema[0] != m.Namespace {
		return false
	}
	for _, d := range m.Series.Dimensions {
		if _, ok := slices.BinarySearch(s.schema[1:], d.Name); !ok {
			return false
		}
	}
	return true
}

// A condition reports whether a metric is found.
type condition func(*Subject) bool

// ParseSearch parses a search expression. The error is an *Error.
func ParseSearch(text string) (*Search, error) {
	s, err := parseSearch(text, 0)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// parseSearch parses a search expression whose opening quote is at a position.
func parseSearch(text string, position int) (*Search, *Error) {
	p := &searchParser{text: text, offset: position + 1}
	s := &Search{root: func(*Subject) bool { return true }}
	if err := p.next(); err != nil {
		return nil, err
	}
	var err *Error
	if p.is("{") {
		if s.schema, err = p.schema(); err != nil {
			return nil, err
		}
	}
	if p.token.kind == endToken {
		if s.schema == nil {
			return nil, errorAt(p.offset, "SEARCH needs braces with a namespace, or a term")
		}
		return s, nil
	}
	if s.root, err = p.either(""); err != nil {
		return nil, err
	}
	if p.token.kind != endToken {
		return nil, errorAt(p.token.position, "unexpected %s in the search", p.token)
	}
	return s, nil
}

type searchParser struct {
	text   string
	offset int // of text in the expression, from 1
	read   int // bytes of text
	token  token
	depth  int
}

// searchSigns are the characters that end a word.
const searchSigns = "{}(),=\""

// next reads a token.
func (p *searchParser) next() *Error {
	for p.read < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.read]) >= 0 {
		p.read++
	}
	rest := p.text[p.read:]
	p.token = token{position: p.offset + p.read}
	switch {
	case rest == "":
	case rest[0] == '"':
		n := strings.IndexByte(rest[1:], '"')
		if n < 0 {
			return errorAt(p.token.position, `the search has a text without a closing "`)
		}
		p.token.kind, p.token.text = textToken, rest[1:1+n]
		p.read += n + 2
	case strings.IndexByte(searchSigns, rest[0]) >= 0:
		p.token.kind, p.token.text = signToken, rest[:1]
		p.read++
	default:
		n := strings.IndexAny(rest, searchSigns+" \t\r\n")
		if n < 0 {
			n = len(rest)
		}
		p.token.kind, p.token.text = wordToken, rest[:n]
		p.read += n
	}
	return nil
}

func (p *searchParser) is(sign string) bool { return p.token.kind == signToken && p.token.text == sign }

func (p *searchParser) isWord(word string) bool {
	return p.token.kind == wordToken && p.token.text == word
}

// expect consumes a sign.
func (p *searchParser) expect(sign string) *Error {
	if !p.is(sign) {
		return errorAt(p.token.position, "expected '%s' instead of %s in the search", sign, p.token)
	}
	return p.next()
}

// schema parses {namespace,dimension,…}.
func (p *searchParser) schema() ([]string, *Error) {
	var names []string
	for {
		if err := p.next(); err != nil { // the brace or a comma
			return nil, err
		}
		if p.token.kind != wordToken && p.token.kind != textToken {
			return nil, errorAt(p.token.position, "expected a namespace or the name of a dimension instead of %s",
				p.token)
		}
		names = append(names, p.token.text)
		if err := p.next(); err != nil {
			return nil, err
		}
		if !p.is(",") {
			break
		}
	}
	for i := range names[1:] {
		names[1+i] = CanonicalDimension(names[1+i])
	}
	slices.Sort(names[1:])
	return names, p.expect("}")
}

// CanonicalDimension returns the name of a dimension as the service uses it: MetricGroup is also called MetricGroups.
func CanonicalDimension(name string) string {
	if name == "MetricGroups" {
		return "MetricGroup"
	}
	return name
}

// either parses terms with OR. property is that of the parentheses around them; "": none.
func (p *searchParser) either(property string) (condition, *Error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errorAt(p.token.position, "the search nests deeper than %d levels", maxDepth)
	}
	defer func() { p.depth-- }()
	var options []condition
	for {
		one, err := p.all(property)
		if err != nil {
			return nil, err
		}
		options = append(options, one)
		if !p.isWord("OR") {
			break
		}
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	return func(m *Subject) bool {
		return slices.ContainsFunc(options, func(c condition) bool { return c(m) })
	}, nil
}

// all parses terms with AND, or side by side.
func (p *searchParser) all(property string) (condition, *Error) {
	var parts []condition
	for {
		part, err := p.term(property)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		if p.isWord("AND") {
			if err := p.next(); err != nil {
				return nil, err
			}
			continue
		}
		if p.token.kind == endToken || p.is(")") || p.isWord("OR") {
			break
		}
	}
	return func(m *Subject) bool {
		return !slices.ContainsFunc(parts, func(c condition) bool { return !c(m) })
	}, nil
}

// term parses one term, with NOTs before it.
func (p *searchParser) term(property string) (condition, *Error) {
	not := false
	for p.isWord("NOT") {
		not = !not
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	c, err := p.positive(property)
	if err != nil || !not {
		return c, err
	}
	return func(m *Subject) bool { return !c(m) }, nil
}

func (p *searchParser) positive(property string) (condition, *Error) {
	if p.is("(") {
		if err := p.next(); err != nil {
			return nil, err
		}
		c, err := p.either(property)
		if err != nil {
			return nil, err
		}
		return c, p.expect(")")
	}
	t := p.token
	if t.kind != wordToken && t.kind != textToken || p.isWord("AND") || p.isWord("OR") {
		return nil, errorAt(t.position, "expected a term instead of %s in the search", t)
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if property != "" || !p.is("=") {
		return matching(property, t), nil
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if t.text == "" {
		return nil, errorAt(t.position, "a property of the search has no name")
	}
	return p.positive(t.text)
}

// matching returns the condition of a text.
func matching(property string, t token) condition {
	matches := func(value string) bool { return value == t.text }
	if t.kind == wordToken {
		wanted := strings.ToLower(t.text)
		matches = func(value string) bool { return strings.Contains(strings.ToLower(value), wanted) }
	}
	switch property = CanonicalDimension(property); property {
	case "":
		return func(m *Subject) bool {
			return matches(m.Namespace) || matches(m.Series.Metric) || anyDimension(m, matches)
		}
	case "MetricName":
		return func(m *Subject) bool { return matches(m.Series.Metric) }
	case "Namespace":
		return func(m *Subject) bool { return matches(m.Namespace) }
	case ":aws.AccountId":
		return func(m *Subject) bool { return matches(m.Account) }
	default:
		return func(m *Subject) bool {
			return slices.ContainsFunc(m.Series.Dimensions, func(d metrics.Dimension) bool {
				return d.Name == property && matches(d.Value)
			})
		}
	}
}

func anyDimension(m *Subject, matches func(string) bool) bool {
	return slices.ContainsFunc(m.Series.Dimensions, func(d metrics.Dimension) bool {
		return matches(d.Name) || matches(d.Value)
	})
}
